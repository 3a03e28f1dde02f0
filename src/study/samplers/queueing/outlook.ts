import type { Measurement } from '../../../profiler/measurement.ts';
import {
  type Hypothesis,
  type Normal,
  type Posterior,
  posteriorOf,
  type Reading,
} from '../../../stats/gaussian-process.ts';
import { DEVIATIONS_AT_95_PERCENT } from '../../../stats/normal.ts';
import { relativeHalfWidth } from '../../../stats/precision.ts';
import { constraintsOf } from '../../goal.ts';
import { metricNamed, readMetric } from '../../metrics.ts';
import type { Foreseen, Goal } from '../../types.ts';
import type { Choice } from './choices.ts';
import { kernelOf, type Place, placeOf, TRAIT_DISTANCES } from './features.ts';
import { gpuNeeds } from './gpu-needs.ts';
import { NOTHING, type Without } from './mechanisms.ts';
import type { Foretold, Measured, Physics } from './physics.ts';
import { chanceOfKeeping, expectedGain, type Figure, type Limit, weighted } from './shared-doubt.ts';

/** What is expected of a choice at a level; null where nothing can be served. */
export interface Outlook {
  /** As `Assessment.cost`: a weighted mean of logarithms, lower is better. */
  readonly cost: Normal;
  /** The chance that every constraint is met, with all uncertainty this many times as large. */
  met(inflation: number): number;
  /** By how much it betters a cost on average, within every constraint; likewise. */
  gain(best: number, inflation: number): number;
}

export interface Forecast {
  outlook(choice: Choice, level: number): Outlook | null;
  /** The likeliest figures, whatever the goal; null where nothing can be served. */
  foreseen(choice: Choice, level: number): Foreseen | null;
  placeOf(choice: Choice, level: number): Place;
}

/** Physics corrected by what was measured; metrics that physics does not know are learned from the measurements alone. */
export function forecastOf(
  physics: Physics,
  measured: readonly Measured[],
  goal: Goal,
  longestDelayUs: number,
  without: Without = NOTHING,
): Forecast {
  const place = (choice: Choice, level: number): Place => placeOf(choice, level, longestDelayUs);
  const constraints = constraintsOf(goal).filter(({ metric }) => metric !== 'error-rate');
  const names = new Set([...goal.objectives.map(({ metric }) => metric), ...constraints.map(({ metric }) => metric)]);
  const models = new Map<string, MetricModel>();
  const modelFor = (name: string): MetricModel => {
    const model = models.get(name) ?? knownAt(modelOf(name, physics, measured, place, without));
    models.set(name, model);
    return model;
  };
  const total = goal.objectives.reduce((sum, { weight }) => sum + weight, 0);

  const look = (choice: Choice, level: number): Outlook | null => {
    const at = new Map<string, Figure>();
    for (const name of names) {
      const figure = modelFor(name)(choice, level);
      if (figure === null) return null;
      at.set(name, figure);
    }
    const cost = weighted(
      goal.objectives.map(({ metric, weight }) => {
        const sign = metricNamed(metric).better === 'higher' ? -1 : 1;
        return { figure: at.get(metric) as Figure, weight: (sign * weight) / total };
      }),
    );
    const limits = constraints.map(
      ({ metric, relation, value }): Limit => ({ figure: at.get(metric) as Figure, value: Math.log(value), relation }),
    );
    return {
      cost,
      met: (inflation) => chanceOfKeeping(limits, inflation),
      gain: (best, inflation) => expectedGain(cost, limits, best, inflation),
    };
  };
  return {
    placeOf: place,
    foreseen(choice, level) {
      const [throughput, latency] = ['throughput', 'latency'].map((name) => modelFor(name)(choice, level));
      return throughput && latency
        ? { throughput: Math.exp(throughput.mean), latencyMs: Math.exp(latency.mean) }
        : null;
    },
    outlook: look,
  };
}

/** A metric's logarithm at a choice and level. */
type MetricModel = (choice: Choice, level: number) => Figure | null;

/** The model, which works out each of its answers once. */
function knownAt(model: MetricModel): MetricModel {
  const known = new Map<string, Figure | null>();
  return (choice, level) => {
    const key = `${choice.candidate.fingerprint} ${level}`;
    const earlier = known.get(key);
    if (earlier !== undefined) return earlier;
    const normal = model(choice, level);
    known.set(key, normal);
    return normal;
  };
}

type PlaceOf = (choice: Choice, level: number) => Place;

function modelOf(
  name: string,
  physics: Physics,
  measured: readonly Measured[],
  place: PlaceOf,
  without: Without,
): MetricModel {
  if (name === 'instances') return ({ policy }) => exactly(policy.instances);
  if (name === 'max-batch-size') return ({ policy }) => exactly(Math.max(1, policy.maxBatchSize));
  if (name === 'gpu-memory') return memoryNeeded(measured);
  const foretold = foretoldNames.has(name) ? (name as keyof Foretold) : null;
  return foretold ? corrected(foretold, physics, measured, place, without) : learned(name, measured, place);
}

const foretoldNames: ReadonlySet<string> = new Set([
  'throughput',
  'latency',
  'latency-avg',
  'latency-p50',
  'latency-p90',
  'latency-p95',
  'latency-p99',
]);

/** Neighbouring integers differ; the width only keeps the arithmetic finite. */
const exactly = (value: number): Figure => ({ mean: Math.log(value), sd: 1e-6, shared: 0 });

/** No need is below this part of its deviation, so that it has a logarithm. */
const LEAST_NEED = 0.5;

function memoryNeeded(measured: readonly Measured[]): MetricModel {
  const needs = gpuNeeds(measured);
  return (choice) => {
    if (needs === null) return UNKNOWN;
    const { mean, sd } = needs.mib(choice);
    const need = Math.max(mean, LEAST_NEED * sd);
    return { mean: Math.log(need), sd: sd / need, shared: 0 };
  };
}

/** Of a metric that was never read: anything. */
const UNKNOWN: Figure = { mean: 0, sd: 5, shared: 0 };

function corrected(
  name: keyof Foretold,
  physics: Physics,
  measured: readonly Measured[],
  place: PlaceOf,
  without: Without,
): MetricModel {
  const placeWithBatch = (choice: Choice, level: number): Place => ({
    ...place(choice, level),
    batchDoublings: Math.log2(physics.meanBatch(choice, level)),
  });
  const readings = measured.flatMap(({ choice, measurements }) =>
    measurements.flatMap((measurement): Reading<Place>[] => {
      const foretold = physics.foretell(choice, measurement.level.value);
      const value = readMetric(name, measurement, choice.candidate);
      if (!foretold || !value || measurement.client.bound) return [];
      const at = placeWithBatch(choice, measurement.level.value);
      return [{ place: at, value: Math.log(value / foretold[name]), noiseVariance: noiseOf(name, measurement) ** 2 }];
    }),
  );
  const hypotheses = correctionsWith(name === 'throughput' ? 'rate' : 'latency', without);
  const correction = posteriorOf(without.has('correction') ? [] : readings, hypotheses);
  return (choice, level) => {
    const foretold = physics.foretell(choice, level);
    if (!foretold) return null;
    const { mean, sd } = correction(placeWithBatch(choice, level));
    const doubt = physics.doubt(choice, level);
    const shared = metricNamed(name).better === 'higher' ? -doubt : doubt;
    return {
      mean: Math.log(foretold[name]) + mean,
      sd: Math.hypot(sd, doubt),
      shared: without.has('shared-doubt') ? 0 : shared,
    };
  };
}

/** Beside what the interval says: no two runs are quite alike. */
const LEAST_NOISE = { throughput: 0.02, latency: 0.04 };

function noiseOf(name: keyof Foretold, { throughput, budgetLatencyMs }: Measurement): number {
  const [interval, least] =
    name === 'throughput' ? [throughput, LEAST_NOISE.throughput] : [budgetLatencyMs, LEAST_NOISE.latency];
  const width = relativeHalfWidth(interval) / DEVIATIONS_AT_95_PERCENT;
  return Math.hypot(least, Number.isFinite(width) ? Math.min(0.5, width) : 0.5);
}

/** How far physics may be off, as a logarithm: likely a little, perhaps by half. Less usual kinds of miss come later in their lists. */
const hypothesesOf = (
  smooths: readonly number[],
  usual: number,
  others: { readonly common: number; readonly locals: readonly number[]; readonly perDoublings: readonly number[] },
): [Hypothesis<Place>, ...Hypothesis<Place>[]] =>
  others.perDoublings.flatMap((perDoubling, trends) =>
    smooths.flatMap((smooth) =>
      others.locals.flatMap((local, steps) =>
        TRAIT_DISTANCES.map((traitDistance) => ({
          kernel: kernelOf({ smooth, common: others.common, local, traitDistance, perDoubling }),
          logPrior:
            -0.5 * (Math.log(smooth / usual) / 0.7) ** 2 - steps * SMOOTHER_THAN_USUAL - trends * TREND_OVER_BATCHES,
        })),
      ),
    ),
  ) as [Hypothesis<Place>, ...Hypothesis<Place>[]];

/** That neighbours differ less than usual must be seen before it is believed: a logarithm of odds. */
const SMOOTHER_THAN_USUAL = 1.5;
/** Likewise, that a miss grows with the batch: what stalls an execution stalls all that is in it, and more of the slowest in a hundred. */
const TREND_OVER_BATCHES = 0.7;

const RATES = {
  smooths: [0.04, 0.08, 0.15, 0.3, 0.5],
  usual: 0.12,
  common: 0.12,
  locals: [0.05, 0.02, 0.008],
  perDoublings: [0],
};
const LATENCIES = { smooths: [0.1, 0.2, 0.4, 0.7], usual: 0.25, common: 0.3, locals: [0.1], perDoublings: [0, 0.15] };

const known = new Map<string, [Hypothesis<Place>, ...Hypothesis<Place>[]]>();

function correctionsWith(of: 'rate' | 'latency', without: Without): [Hypothesis<Place>, ...Hypothesis<Place>[]] {
  const [isAdaptive, hasTrend] = [!without.has('adaptive'), !without.has('trend')];
  const key = `${of} ${isAdaptive} ${hasTrend}`;
  const { smooths, usual, locals, perDoublings, common } = of === 'rate' ? RATES : LATENCIES;
  const hypotheses =
    known.get(key) ??
    hypothesesOf(isAdaptive ? smooths : [usual], usual, {
      common,
      locals: isAdaptive ? locals : locals.slice(0, 1),
      perDoublings: hasTrend ? perDoublings : [0],
    });
  known.set(key, hypotheses);
  return hypotheses;
}

const learnedHypotheses = hypothesesOf([0.1, 0.3, 0.6], 0.3, { common: 0.5, locals: [0.05], perDoublings: [0] });

/** A metric of which nothing is known but its readings: about their mean, and like its neighbours. */
function learned(name: string, measured: readonly Measured[], place: PlaceOf): MetricModel {
  const readings = measured.flatMap(({ choice, measurements }) =>
    measurements.flatMap((measurement): Reading<Place>[] => {
      const value = readMetric(name, measurement, choice.candidate);
      const at = place(choice, measurement.level.value);
      return value !== undefined && value > 0 ? [{ place: at, value: Math.log(value), noiseVariance: 0.02 ** 2 }] : [];
    }),
  );
  if (readings.length === 0) return () => UNKNOWN;
  const mean = readings.reduce((sum, { value }) => sum + value, 0) / readings.length;
  const centred = readings.map((reading) => ({ ...reading, value: reading.value - mean }));
  const posterior: Posterior<Place> = posteriorOf(centred, learnedHypotheses);
  return (choice, level) => {
    const normal = posterior(place(choice, level));
    return { mean: normal.mean + mean, sd: normal.sd, shared: 0 };
  };
}
