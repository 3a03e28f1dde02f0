import { allFailures } from '#loadgen/failure-tally.ts';
import type { LoadLevel } from '#loadgen/types.ts';
import type { Interval } from '#stats/interval.ts';
import type { RobustRule } from '#workload/robust-rule.ts';
import type { LatencySummary } from '../figure-schemas.ts';
import type { FrontMeasurement, OpenLoopFigures, WorkloadMeasurement } from '../measurement.ts';
import { mergedServer } from './merged-server.ts';
import { robustInterval, robustRate, robustSummary, robustTime } from './robust-interval.ts';

/** Figures that exist both for all requests and for each front. */
type SeenFigures = Omit<FrontMeasurement, 'model'> & Pick<WorkloadMeasurement, 'goodput'>;

/** The figures under one workload; `perLevel`: its rate relative to the level of the study. */
export interface SeenUnder extends Pick<WorkloadMeasurement, 'weight'> {
  readonly perLevel: number;
  readonly seen: SeenFigures;
}

const NOTHING: Interval = { value: 0, low: 0, high: 0 };

/** Returns the figures over all workloads, combined by the rule; see `robustMeasurement`. */
export function robustSeen(rule: RobustRule, level: LoadLevel, parts: readonly SeenUnder[]): SeenFigures {
  const times = (of: (seen: SeenFigures) => number): number =>
    robustTime(
      rule,
      parts.map(({ weight, seen }) => ({ weight, of: of(seen) })),
    );
  const seen = parts.map((part) => part.seen);
  const [first] = seen as [SeenFigures];
  const servesAll = seen.every(({ throughput }) => throughput.value > 0);
  const hasGoodput = seen.every(({ goodput }) => goodput !== undefined);
  const durationMs = computeSum(seen, (each) => each.durationMs);
  const openLoop = robustOpenLoop(rule, parts, durationMs);
  return {
    level,
    throughput: servesAll ? rateIn(rule, parts, ({ throughput }) => throughput) : NOTHING,
    ...(hasGoodput && { goodput: servesAll ? rateIn(rule, parts, ({ goodput = NOTHING }) => goodput) : NOTHING }),
    latencyMs: summaryIn(rule, parts, ({ latencyMs }) => latencyMs),
    budgetLatencyMs: {
      percentile: first.budgetLatencyMs.percentile,
      ...robustInterval(
        rule,
        'lower',
        parts.map(({ weight, seen: { budgetLatencyMs } }) => ({ weight, of: budgetLatencyMs })),
      ),
    },
    stable: seen.every(({ stable }) => stable),
    durationMs,
    requests: computeSum(seen, ({ requests }) => requests),
    sendRate: overTime(seen, durationMs, ({ sendRate }) => sendRate),
    failures: allFailures(seen.map((each) => each.failures)),
    errorRate: times(({ errorRate }) => errorRate),
    ...mergedServer(rule, parts),
    ...sumField(seen, 'foreignRequests'),
    ...(openLoop && { openLoop }),
  };
}

const rateIn = (rule: RobustRule, parts: readonly SeenUnder[], of: (seen: SeenFigures) => Interval): Interval =>
  robustRate(
    rule,
    parts.map(({ weight, perLevel, seen }) => ({ weight, perLevel, of: of(seen) })),
  );

const summaryIn = (
  rule: RobustRule,
  parts: readonly SeenUnder[],
  of: (seen: SeenFigures) => LatencySummary,
): LatencySummary =>
  robustSummary(
    rule,
    parts.map(({ weight, seen }) => ({ weight, of: of(seen) })),
  );

function robustOpenLoop(
  rule: RobustRule,
  parts: readonly SeenUnder[],
  durationMs: number,
): OpenLoopFigures | undefined {
  const paced = parts.flatMap(({ seen: { openLoop } }) => openLoop ?? []);
  if (paced.length < parts.length) return undefined;
  const seen = parts.map((part) => part.seen);
  return {
    scheduledLatencyMs: summaryIn(rule, parts, ({ openLoop }) => (openLoop as OpenLoopFigures).scheduledLatencyMs),
    lateSends: computeSum(paced, ({ lateSends }) => lateSends),
    droppedSends: computeSum(paced, ({ droppedSends }) => droppedSends),
    sendLatenessP50Us: Math.max(...paced.map(({ sendLatenessP50Us }) => sendLatenessP50Us)),
    achievedRate: overTime(seen, durationMs, ({ openLoop }) => openLoop?.achievedRate ?? 0),
  };
}

/** Returns the mean over the whole counted time. */
const overTime = (seen: readonly SeenFigures[], durationMs: number, of: (each: SeenFigures) => number): number =>
  durationMs > 0 ? computeSum(seen, (each) => of(each) * each.durationMs) / durationMs : 0;

const computeSum = <T>(all: readonly T[], of: (each: T) => number): number =>
  all.reduce((total, each) => total + of(each), 0);

/** Returns the sum of a count; absent if no part has it. */
export function sumField<K extends string>(
  parts: readonly { readonly [F in K]?: number | undefined }[],
  field: K,
): { readonly [F in K]?: number } {
  const known = parts.flatMap((each) => each[field] ?? []);
  return known.length === 0 ? {} : ({ [field]: computeSum(known, (count) => count) } as { readonly [F in K]?: number });
}
