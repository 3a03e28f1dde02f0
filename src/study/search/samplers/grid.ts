import { canonicalJson, type Json } from '#base/json.ts';
import type { CandidateShape } from '#space/types.ts';
import type { FailureKind, Goal, History, LevelRange, Sampler, Trial } from '../../types.ts';
import { nextInSweep } from './grid-sweep.ts';
import { perHistory } from './per-history.ts';
import { type SpaceView, untried } from './space-view.ts';

/** Options of the grid sampler. */
export interface GridOptions {
  readonly goal: Goal;
  readonly levels: LevelRange;
  /** False: no walk through batch sizes ends early. */
  readonly earlyExits?: boolean;
}

/** Failures that are the config's own, not the study's. */
const refused: readonly FailureKind[] = [
  ...(['invalid-config', 'config-mismatch', 'no-gpu', 'out-of-memory'] as const),
  ...(['init-failed', 'load-timeout', 'requests-failed'] as const),
];

/**
 * Tries every candidate once, in the space's order, each at doubling levels: Model Analyzer's brute
 * search with its early exits. A walk through rising batch sizes ends where the last one failed or
 * did not raise the best throughput of the walk; a sweep through the levels as `nextInSweep` says.
 * The number of instances has no exit. Two differences: the order is the space's, in which
 * instances vary fastest, so walks advance in parallel; and candidates that are known to fail are
 * left out.
 */
export function gridSampler(space: SpaceView, { goal, levels, earlyExits = true }: GridOptions): Sampler {
  return {
    ask(history) {
      let isLeftOut = false;
      for (const assignment of space.assignments()) {
        const candidate = untried(space, assignment, history);
        if (!candidate) continue;
        if (!earlyExits || !walkHasEnded(candidate.shape, history))
          return { kind: 'trial', assignment, levels: { kind: 'search' } };
        isLeftOut = true;
      }
      const rest = isLeftOut ? ', but for batch sizes beyond those that raised the throughput' : '';
      return { kind: 'stop', reason: `every candidate of the search space was tried${rest}` };
    },
    // Model Analyzer's sweep knows one kind of level; client batches are left to the level search.
    ...(!levels.batch && { level: ({ trials }, running) => nextInSweep(running, trials, goal, levels) }),
  };
}

/**
 * True when a smaller batch size of the same walk failed, or had no more throughput than the best
 * below it.
 */
function walkHasEnded(shape: CandidateShape, { trials }: History): boolean {
  const walk = (byWalk(trials).get(formatWalk(shape)) ?? [])
    .filter((trial) => isEarlierInWalk(trial.candidate.shape, shape))
    .sort((a, b) => findBatch(a.candidate.shape) - findBatch(b.candidate.shape));
  let best = 0;
  for (const trial of walk) {
    if (trial.failure && refused.includes(trial.failure.kind)) return true;
    if (trial.failure || trial.measurements.length === 0) continue;
    const throughput = bestThroughput(trial);
    if (throughput <= best) return true;
    best = throughput;
  }
  return false;
}

/** Returns what all candidates of a walk have in common, as text. */
function formatWalk({ rest, groups }: CandidateShape): string {
  return `${rest} ${canonicalJson(groups as unknown as Json)}`;
}

const byWalk = perHistory((trials) => Map.groupBy(trials, ({ candidate }) => formatWalk(candidate.shape)));

/**
 * True if both configs belong to one walk, which varies the batch size alone, and `earlier` has the
 * smaller one. Without batching the batcher's settings do not count.
 */
function isEarlierInWalk(earlier: CandidateShape, shape: CandidateShape): boolean {
  if (findBatch(earlier) >= findBatch(shape)) return false;
  return findBatch(earlier) <= 1 || earlier.batching === shape.batching;
}

const bestThroughput = ({ measurements }: Trial): number =>
  Math.max(...measurements.filter(({ client }) => !client.bound).map(({ throughput }) => throughput.value));

const findBatch = ({ policy }: CandidateShape): number => policy.maxBatchSize;
