import { lineThrough, variesBatchAlone } from '../level-line.ts';
import type { LevelPoint, LevelRange } from '../types.ts';
import type { Assessment } from './goal.ts';
import { chooseLevel, type LevelOutcome, nextLevel } from './levels.ts';

/** The outcome at one load. */
export interface LoadOutcome extends Assessment {
  readonly level: LevelPoint;
}

export interface LoadSearch {
  readonly range: LevelRange;
  /** The largest request that the config takes, in samples. */
  readonly largestRequest: number;
  /** A load that is likely near the best one. */
  readonly hint?: LevelPoint;
}

export type NextLoad =
  | { readonly kind: 'measure'; readonly level: LevelPoint }
  | { readonly kind: 'done'; readonly reason: string };

/**
 * `nextLevel` if the study may vary the client batch too. Batches alone are searched like levels.
 * With both, the batches are searched the same way, and each represents the best of a search
 * through the concurrencies. That search begins with as many samples in flight as were best at the
 * previous batch.
 */
export function nextLoad(outcomes: readonly LoadOutcome[], { range, largestRequest, hint }: LoadSearch): NextLoad {
  const batches: LevelRange | null = range.batch
    ? { mode: 'concurrency', low: range.batch.low, high: Math.min(range.batch.high, largestRequest) }
    : null;
  const start = { value: hint?.value ?? range.low, ...(batches && { batch: hint?.batch ?? batches.low }) };
  if (!batches || variesBatchAlone(range)) {
    const line = lineThrough(variesBatchAlone(range) ? { ...start, value: range.low } : start, range);
    const next = nextLevel(positions(outcomes, line.toPosition), {
      range: batches ?? range,
      ...(hint && { hint: line.toPosition({ ...start, ...(batches && { value: range.low }) }) ?? range.low }),
    });
    return next.kind === 'done' ? next : { kind: 'measure', level: line.levelAt(next.level) };
  }
  return nextPair(outcomes, range, batches, start);
}

function nextPair(
  outcomes: readonly LoadOutcome[],
  range: LevelRange,
  batches: LevelRange,
  start: LevelPoint,
): NextLoad {
  const byBatch = Map.groupBy(outcomes, ({ level }) => level.batch ?? batches.low);
  const latest = outcomes.at(-1)?.level.batch;
  const best = [...byBatch].map(([batch, outcomes]) => ({ batch, outcome: findBest(outcomes) }));
  const samples = best.find(({ batch }) => batch === latest)?.outcome;
  const searchAt = (batch: number): NextLoad => {
    const before = samples ? (samples.level.value * (samples.level.batch ?? 1)) / batch : start.value;
    const outcomes = positions(byBatch.get(batch) ?? [], ({ value }) => value);
    const next = nextLevel(outcomes, { range, hint: Math.max(range.low, Math.round(before)) });
    return next.kind === 'done' ? next : { kind: 'measure', level: { value: next.level, batch } };
  };
  const here = latest === undefined ? null : searchAt(latest);
  if (here?.kind === 'measure') return here;
  const next = nextLevel(
    best.map(({ batch, outcome }) => ({ ...outcome, level: batch })),
    { range: batches, ...(start.batch !== undefined && { hint: start.batch }) },
  );
  return next.kind === 'done' ? next : searchAt(next.level);
}

/**
 * Returns the outcome that represents a batch: the one that its concurrency search would choose.
 */
function findBest(outcomes: readonly LoadOutcome[]): LoadOutcome {
  const index = chooseLevel(positions(outcomes, ({ value }) => value)) ?? 0;
  return outcomes[index] as LoadOutcome;
}

const positions = (
  outcomes: readonly LoadOutcome[],
  toPosition: (level: LevelPoint) => number | null,
): LevelOutcome[] =>
  outcomes.flatMap((each) => {
    const level = toPosition(each.level);
    return level === null ? [] : [{ ...each, level }];
  });
