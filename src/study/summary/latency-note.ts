import { formatMs } from '#base/format.ts';
import { lookUp } from '#base/look-up.ts';
import { partsOfName } from '../goal/metrics/of-model.ts';
import type { StudyStarted } from '../records/records.ts';
import type { Goal } from '../types.ts';
import type { PointParts } from './point-schema.ts';

/** The first words of the metrics whose limit, or improvement, keeps latency down. */
const LATENCIES = ['latency', 'ttft', 'itl', 'tpot', 'goodput', 'bad-share'];

type Studied = Pick<StudyStarted, 'model' | 'spec' | 'topology'>;

/** The part of a point of the summary that has its latencies. */
interface LatencyPoint extends Pick<PointParts, 'fronts'> {
  readonly trial: number;
  readonly budgetLatencyMs: { readonly percentile: number; readonly value: number | null };
}

/**
 * Returns the models whose clients may get any latency for more throughput: those with requests of
 * their own that no limit is on, in a study of co-located models, or one whose load levels the user
 * did not bound.
 */
export function unlimitedModels({ model, spec, topology }: Studied, goal: Goal): readonly string[] {
  const fronts = topology?.fronts.map((front) => front.model) ?? [model];
  const { concurrency, requestRate, values } = spec.levels;
  const isBounded = (concurrency ?? requestRate ?? values ?? spec.workloads) !== undefined;
  if (goal.budget || goal.goodput || (fronts.length === 1 && isBounded)) return [];
  const limited = [...goal.constraints.filter(({ relation }) => relation === '<='), ...goal.objectives]
    .map(({ metric }) => partsOfName(metric))
    .filter(({ base }) => LATENCIES.some((name) => base === name || base.startsWith(`${name}-`)));
  if (limited.some((each) => each.model === undefined)) return [];
  return fronts.filter((front) => !limited.some((each) => each.model === front));
}

/**
 * Returns the warning before a search that may take throughput at any latency; null where a limit
 * keeps it from that.
 */
export function latencyWarning(started: Studied, goal: Goal): string | null {
  const models = unlimitedModels(started, goal);
  if (models.length === 0) return null;
  const of = started.topology && started.topology.fronts.length > 1 ? ` for ${models.join(', ')}` : '';
  return `no latency limit${of}: the search takes throughput at any latency (${optionFor(models, started)})`;
}

const optionFor = (models: readonly string[], { topology }: Studied): string =>
  topology && topology.fronts.length > 1
    ? `--latency-budget ${models.map((model) => `${model}=MS`).join(',')}`
    : '--latency-budget MS';

/**
 * Returns what happened to the latency that no limit was on; null where there was a limit, or the
 * original config stays.
 */
export function latencyNote(
  started: Studied,
  goal: Goal,
  best: LatencyPoint | null,
  baseline: LatencyPoint | null,
): string | null {
  const models = unlimitedModels(started, goal);
  if (models.length === 0 || !best || !baseline || best.trial === baseline.trial) return null;
  const { percentile } = best.budgetLatencyMs;
  const went = models.flatMap((model) => {
    const [before, after] = [findLatency(baseline, model), findLatency(best, model)];
    if (before === null || after === null) return [];
    const of = best.fronts ? ` of ${model}` : '';
    return [`p${percentile}${of} ${wentText(before, after)}`];
  });
  return went.length === 0 ? null : `${went.join('; ')}: the goal has no latency limit (${optionFor(models, started)})`;
}

/** Latencies within this ratio of each other are about the same. */
const ABOUT = 1.05;

const wentText = (before: number, after: number): string =>
  Math.max(after / before, before / after) < ABOUT
    ? `stayed at ${formatMs(after)}`
    : `went from ${formatMs(before)} to ${formatMs(after)}`;

const findLatency = ({ fronts, budgetLatencyMs }: LatencyPoint, model: string): number | null =>
  fronts ? (lookUp(fronts, model)?.budgetLatencyMs ?? null) : budgetLatencyMs.value;
