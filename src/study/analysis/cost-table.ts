import type { Measurement } from '#profiler/measurement.ts';
import type { Candidate } from '#space/types.ts';
import { usableRate } from '#stats/replicas.ts';
import { isFeasible } from '../goal/goal.ts';
import { toMetrics } from '../goal/metrics/registry.ts';
import type { CostTerms } from '../records/goal-schema.ts';
import type { StudyState } from '../records/state.ts';
import type { Goal, Trial } from '../types.ts';
import { type WhatIf, whatIf } from './what-if.ts';

/**
 * A config, the rate that one server serves with it within the goal, and the cost of such a server.
 */
export interface CostRow {
  readonly trial: Trial | null;
  /** The config's settings as a person reads them; null if a trial measured the config. */
  readonly predicted: string | null;
  /**
   * The rate in infer/s that counts for one server, at the chance and with the headroom of the
   * terms.
   */
  readonly usable: number;
  /** infer/s, measured or predicted. */
  readonly throughput: number;
  /** The price of an hour of one server. */
  readonly perHour: number;
  readonly gpus: number | null;
}

/**
 * Returns the most that each config serves within the goal. Measured configs count by their
 * measurement with the highest throughput. Unmeasured ones come from the performance model, the
 * cheapest per inference. Empty without prices, and if rates are by model.
 */
export function listCostRows(state: StudyState): readonly CostRow[] {
  const { goal, trials, finals } = state;
  const { cost } = goal;
  if (!cost || typeof cost.forRate === 'object') return [];
  const ofOne: Goal = { ...goal, cost: { ...cost, forRate: undefined } as CostTerms };
  const metrics = toMetrics(ofOne);
  const byConfig = [...Map.groupBy(trials, ({ candidate }) => candidate.fingerprint).values()];
  const measured = byConfig.flatMap((trials): CostRow[] => {
    const numbers = new Set(trials.map(({ number }) => number));
    const readings = [
      ...trials.flatMap(({ measurements }) => measurements),
      ...finals.filter(({ trial }) => numbers.has(trial)).map(({ measurement }) => measurement),
    ];
    const [first] = trials;
    if (!first) return [];
    const { candidate } = first;
    const best = highestWithin(readings, candidate, { ...goal, constraints: goal.constraints.filter(isOfOneServer) });
    const perHour = best && metrics.read('cost-per-hour', best, candidate);
    if (!best || perHour === undefined) return [];
    return [
      {
        trial: first,
        predicted: null,
        perHour,
        throughput: best.throughput.value,
        usable: usableRate(best.throughput, cost),
        gpus: metrics.read('gpus', best, candidate) ?? null,
      },
    ];
  });
  return [...measured, ...predictedRows(state, ofOne, measured)];
}

/** Replicas, and what they cost, depend on the rate. */
const isOfOneServer = ({ metric }: Goal['constraints'][number]): boolean =>
  metric !== 'replicas' && metric !== 'cost-per-hour';

function highestWithin(readings: readonly Measurement[], candidate: Candidate, goal: Goal): Measurement | undefined {
  const met = readings.filter((each) => isFeasible(each, candidate, goal));
  return met.toSorted((a, b) => b.throughput.value - a.throughput.value)[0];
}

/** The most predicted configs to show, the cheapest per inference first. */
const MAX_PREDICTED = 8;

/**
 * Returns configs of the what-if analysis that no trial measured, at their highest level within the
 * latency budget.
 */
function predictedRows(state: StudyState, goal: Goal, measured: readonly CostRow[]): readonly CostRow[] {
  const { cost, budget } = goal;
  const outlook = measured.length > 0 ? whatIf(state) : { reason: '' };
  if (!cost || 'reason' in outlook) return [];
  const device = state.trials.flatMap(({ measurements }) => measurements).find(({ device: each }) => each.gpus)?.device;
  const { follows } = toMetrics(goal).named('cost-per-hour');
  const gpus = toMetrics(goal).named('gpus').follows;
  const rows = outlook.configs.flatMap(({ trial, candidate, cells, settings }): CostRow[] => {
    if (trial !== null) return [];
    const within = cells.filter((cell) => cell !== null && (!budget || cell.latencyMs <= budget.latencyMs));
    const throughput = Math.max(0, ...within.map((cell) => cell?.throughput ?? 0));
    const perHour = follows?.of([], candidate, device ?? {});
    if (throughput === 0 || perHour === undefined) return [];
    const words = settingsWords(outlook, settings);
    const usable = throughput * (1 - cost.headroom);
    return [
      {
        trial: null,
        predicted: words,
        usable,
        throughput,
        perHour,
        gpus: gpus?.of([], candidate, device ?? {}) ?? null,
      },
    ];
  });
  return rows.toSorted((a, b) => a.perHour / a.usable - b.perHour / b.usable).slice(0, MAX_PREDICTED);
}

const settingsWords = ({ parameters }: WhatIf, settings: readonly number[]): string =>
  parameters.map(({ name, values }, index) => `${name}=${values[settings[index] ?? 0]}`).join(' ');
