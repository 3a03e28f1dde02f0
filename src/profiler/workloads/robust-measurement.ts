import type { LoadLevel } from '#loadgen/types.ts';
import type { RobustRule } from '#workload/robust-rule.ts';
import type { FrontMeasurement, Measurement, WorkloadMeasurement } from '../measurement.ts';
import { mergedSurroundings } from './merged-surroundings.ts';
import { robustInterval, robustTime } from './robust-interval.ts';
import { robustSeen, type SeenUnder, sumField } from './robust-seen.ts';
import { robustTokens } from './robust-tokens.ts';

/**
 * Returns one measurement for all workloads of a study at one of its levels. The rule applies to
 * each figure separately: latencies and the error rate are figures where lower is better;
 * throughput and goodput are shares of what the workload asks for, times the level. The server's
 * counts are added up. Nothing counts as served unless it was served under every workload. Needs at
 * least one part.
 */
export function robustMeasurement(
  rule: RobustRule,
  level: LoadLevel,
  parts: readonly WorkloadMeasurement[],
): Measurement {
  const under = parts.map(
    (part): SeenUnder => ({ weight: part.weight, perLevel: part.level.value / level.value, seen: part }),
  );
  const windowPercentilesMs = windowRange(rule, parts);
  const fronts = robustFronts(rule, parts);
  const replies = parts.flatMap(({ weight, requests, tokens }, index) =>
    tokens ? [{ weight, requests, tokens, perLevel: under[index]?.perLevel ?? 1 }] : [],
  );
  return {
    ...robustSeen(rule, level, under),
    ...combinePercentiles(rule, parts),
    ...(windowPercentilesMs && { windowPercentilesMs }),
    windows: Math.min(...parts.map(({ windows }) => windows)),
    ...(parts.some(({ tooManyErrors }) => tooManyErrors) && { tooManyErrors: true as const }),
    ...sumField(parts, 'responses'),
    ...sumField(parts, 'sequences'),
    ...sumField(parts, 'coldWindows'),
    ...sumField(parts, 'voidWindows'),
    ...foreignModels(parts),
    ...(fronts && { fronts }),
    ...(replies.length === parts.length && { tokens: robustTokens(rule, replies) }),
    ...mergedSurroundings(parts),
    workloads: parts,
  };
}

function combinePercentiles(
  rule: RobustRule,
  parts: readonly WorkloadMeasurement[],
): Pick<Measurement, 'latencyPercentilesMs'> {
  const requestedLatencyPercentilesMs = parts[0]?.latencyPercentilesMs;
  if (!requestedLatencyPercentilesMs) return {};
  const figure = (name: string): number =>
    robustTime(
      rule,
      parts.map(({ weight, latencyPercentilesMs }) => ({ weight, of: latencyPercentilesMs?.[name] ?? Number.NaN })),
    );
  return {
    latencyPercentilesMs: Object.fromEntries(
      Object.keys(requestedLatencyPercentilesMs).map((name) => [name, figure(name)]),
    ),
  };
}

function windowRange(rule: RobustRule, parts: readonly WorkloadMeasurement[]): Measurement['windowPercentilesMs'] {
  const ranges = parts.flatMap(({ weight, windowPercentilesMs: range }) =>
    range ? [{ weight, of: { value: range.high, ...range } }] : [],
  );
  if (ranges.length < parts.length) return undefined;
  const { low, high } = robustInterval(rule, 'lower', ranges);
  return { low, high };
}

function foreignModels(parts: readonly WorkloadMeasurement[]): Pick<Measurement, 'foreignByModel'> {
  const counts = new Map<string, number>();
  for (const { foreignByModel = {} } of parts)
    for (const [model, count] of Object.entries(foreignByModel)) counts.set(model, (counts.get(model) ?? 0) + count);
  return counts.size > 0 ? { foreignByModel: Object.fromEntries(counts) } : {};
}

/** Each front has its part of the level under every workload. */
const robustFronts = (
  rule: RobustRule,
  [first, ...others]: readonly WorkloadMeasurement[],
): readonly FrontMeasurement[] | undefined =>
  first?.fronts?.map(({ model, level }) => {
    const under = [first, ...others].flatMap(({ weight, fronts = [] }): SeenUnder[] => {
      const seen = fronts.find((front) => front.model === model);
      return seen ? [{ weight, perLevel: seen.level.value / level.value, seen }] : [];
    });
    return { model, ...robustSeen(rule, level, under) };
  });
