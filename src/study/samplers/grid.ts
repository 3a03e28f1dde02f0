import { canonicalJson } from '../../base/json.ts';
import type { ModelConfig } from '../../triton/model-config.ts';
import type { FailureKind, Goal, History, LevelRange, Sampler, Trial } from '../types.ts';
import { nextInSweep } from './grid-sweep.ts';
import { perHistory } from './per-history.ts';
import { type SpaceView, untried } from './space-view.ts';

export interface GridOptions {
  readonly goal: Goal;
  readonly levels: LevelRange;
  /** False: no walk through batch sizes ends before its last. */
  readonly earlyExits?: boolean;
}

/** What the server itself has said no to. */
const refused: readonly FailureKind[] = [
  ...(['invalid-config', 'config-mismatch', 'no-gpu', 'out-of-memory'] as const),
  ...(['init-failed', 'load-timeout', 'requests-failed'] as const),
];

/**
 * Every candidate once, in the space's order, each at doubling levels: Model Analyzer's brute search, with its early exits. A walk through
 * rising batch sizes ends, as there, where the last one failed or did not raise the best throughput of the walk; a sweep through the levels
 * as `nextInSweep` says. The number of instances has no exit, as there. Ours: the order is the space's, in which instances vary fastest,
 * so that walks go on side by side; candidates that must fail because another did are left out.
 */
export function gridSampler(space: SpaceView, { goal, levels, earlyExits = true }: GridOptions): Sampler {
  return {
    ask(history) {
      let isLeftOut = false;
      for (const assignment of space.assignments()) {
        const candidate = untried(space, assignment, history);
        if (!candidate) continue;
        if (!earlyExits || !walkHasEnded(candidate.config, history))
          return { kind: 'trial', assignment, levels: { kind: 'search' } };
        isLeftOut = true;
      }
      const rest = isLeftOut ? ', but for batch sizes beyond those that raised the throughput' : '';
      return { kind: 'stop', reason: `every candidate of the search space was tried${rest}` };
    },
    level: ({ trials }, running) => nextInSweep(running, trials, goal, levels),
  };
}

/** True when a smaller batch size of the same walk failed, or had no more throughput than the best below it. */
function walkHasEnded(config: ModelConfig, { trials }: History): boolean {
  const walk = (byWalk(trials).get(walkOf(config)) ?? [])
    .filter((trial) => isEarlierInWalk(trial.candidate.config, config))
    .sort((a, b) => batchOf(a.candidate.config) - batchOf(b.candidate.config));
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

/** What all candidates of a walk have in common, as a text. */
function walkOf({ max_batch_size: _, dynamic_batching: __, ...rest }: ModelConfig): string {
  return canonicalJson(rest);
}

const byWalk = perHistory((trials) => Map.groupBy(trials, ({ candidate }) => walkOf(candidate.config)));

/** One walk: candidates alike in all but the batch size. With batches of one there is nothing to say of how batches are formed. */
function isEarlierInWalk(earlier: ModelConfig, config: ModelConfig): boolean {
  if (batchOf(earlier) >= batchOf(config)) return false;
  const [forming, wanted] = [earlier.dynamic_batching ?? null, config.dynamic_batching ?? null];
  return batchOf(earlier) <= 1 || canonicalJson(forming) === canonicalJson(wanted);
}

const bestThroughput = ({ measurements }: Trial): number =>
  Math.max(...measurements.filter(({ client }) => !client.bound).map(({ throughput }) => throughput.value));

const batchOf = (config: ModelConfig): number => config.max_batch_size ?? 0;
