import { median } from 'simple-statistics';
import { bestByRound, bestWithin, type ClientReading, computeMedian } from './readings.ts';
import type { Side } from './truth-judge.ts';
import type { Study } from './truth-study.ts';
import type { Subject } from './truth-subjects.ts';

/**
 * A study beside what the neutral client found of its recommendation; undefined: it recommends
 * nothing that could be measured.
 */
export interface Found {
  readonly subject: Subject;
  readonly study: Study;
  /** Minutes from the end of the study to the middle of the second look. */
  readonly minutesLater: number;
  readonly best: BestFound | undefined;
  readonly gain: GainFound | undefined;
}

interface BestFound {
  /** By the neutral client, at the recommended level. */
  readonly reading: ClientReading;
  /** Our client's over the neutral one's, in turn; medians over the rounds. */
  readonly inTurn: ClientRatio;
  /** The summary's over the neutral client's, minutes apart. */
  readonly claimed: ClientRatio;
  /**
   * The most that the config serves within the budget, of the medians, and where; undefined where
   * it keeps it nowhere.
   */
  readonly worth: (ClientReading & { readonly level: number }) | undefined;
  /** That is the highest level that was measured: it may be worth more. */
  readonly isWorthOpen: boolean;
  /**
   * The recommended level's throughput over that; and of each round over the round's own, as the
   * median.
   */
  readonly share: number | undefined;
  readonly shareByRound: number | undefined;
  /** By the median of the rounds, and in how many of them. */
  readonly keepsBudget: boolean;
  readonly roundsKept: number;
  readonly rounds: number;
}

interface ClientRatio {
  readonly throughput: number;
  readonly p99: number;
}

interface GainFound {
  readonly claimed: { readonly value: number; readonly low: number; readonly high: number };
  /** Best over baseline, each at its own level, within a round; the median of the rounds. */
  readonly again: number;
  readonly holds: boolean;
}

/** What is asked of the recommendation of one study. */
export function found(
  subject: Subject,
  study: Study,
  best: Side | undefined,
  baseline: { readonly side: Side; readonly level: number } | undefined,
  judgedMs: number,
): Found {
  return {
    subject,
    study,
    minutesLater: (judgedMs - study.endedMs) / 60e3,
    best: best && bestFound(best, study, subject.budgetMs),
    gain: best && baseline && gainFound(best, baseline, study),
  };
}

function bestFound(side: Side, { summary }: Study, budgetMs: number): BestFound {
  const readings = side.neutral.get(side.recommended) ?? [];
  const reading = computeMedian(readings);
  const levels = [...side.neutral].map(([level, each]) => ({ level, ...computeMedian(each) }));
  const worth = bestWithin(levels, budgetMs);
  const byRound = bestByRound(side.neutral, budgetMs);
  const shares = readings.flatMap(({ throughput }, round) => (byRound[round] ? throughput / byRound[round] : []));
  return {
    reading,
    inTurn: {
      throughput: median(readings.map((each, round) => (side.ours[round]?.throughput ?? Number.NaN) / each.throughput)),
      p99: median(readings.map((each, round) => (side.ours[round]?.p99Ms ?? Number.NaN) / each.p99Ms)),
    },
    claimed: {
      throughput: (summary.best?.throughput.value ?? Number.NaN) / reading.throughput,
      p99: (summary.best?.latencyMs.p99 ?? Number.NaN) / reading.p99Ms,
    },
    worth,
    isWorthOpen: worth !== undefined && worth.level === Math.max(...side.levels),
    share: worth && reading.throughput / worth.throughput,
    shareByRound: shares.length === 0 ? undefined : median(shares),
    keepsBudget: reading.p99Ms <= budgetMs,
    roundsKept: readings.filter(({ p99Ms }) => p99Ms <= budgetMs).length,
    rounds: readings.length,
  };
}

function gainFound(
  best: Side,
  baseline: { readonly side: Side; readonly level: number },
  { summary }: Study,
): GainFound | undefined {
  const { ratio, low, high } = summary.gain ?? { ratio: null, low: null, high: null };
  if (ratio === null || low === null || high === null) return undefined;
  const before = baseline.side.neutral.get(baseline.level) ?? [];
  const after = best.neutral.get(best.recommended) ?? [];
  const again = median(after.map(({ throughput }, round) => throughput / (before[round]?.throughput ?? Number.NaN)));
  return { claimed: { value: ratio, low, high }, again, holds: low <= again && again <= high };
}
