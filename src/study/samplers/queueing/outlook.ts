import { correctedFigure, type Figure, hypothesesOf, type PredictFigure } from '../../../perfmodel/correction.ts';
import { gpuMemoryNeed } from '../../../perfmodel/gpu-memory-need.ts';
import type { Choice } from '../../../perfmodel/modelled-config.ts';
import { type Place, placeOf } from '../../../perfmodel/places.ts';
import type { Measured, Simulated, Simulator } from '../../../perfmodel/simulator.ts';
import { type Normal, type Posterior, posteriorOf, type Reading } from '../../../stats/gaussian-process.ts';
import { constraintsOf } from '../../goal.ts';
import { metricNamed, readMetric } from '../../metrics.ts';
import type { Foreseen, Goal } from '../../types.ts';
import { NOTHING, type Without } from './mechanisms.ts';
import { chanceOfKeeping, expectedGain, type Limit, weighted } from './shared-uncertainty.ts';

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

/** The simulator corrected by what was measured; metrics that it does not know are learned from the measurements alone. */
export function forecastOf(
  simulator: Simulator,
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
    const model = models.get(name) ?? knownAt(modelOf(name, simulator, measured, { place, longestDelayUs, without }));
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
type MetricModel = PredictFigure;

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

interface Correction {
  readonly place: PlaceOf;
  readonly longestDelayUs: number;
  readonly without: Without;
}

function modelOf(
  name: string,
  simulator: Simulator,
  measured: readonly Measured[],
  { place, longestDelayUs, without }: Correction,
): MetricModel {
  if (name === 'instances') return ({ policy }) => exactly(policy.instances);
  if (name === 'max-batch-size') return ({ policy }) => exactly(Math.max(1, policy.maxBatchSize));
  if (name === 'gpu-memory') return memoryNeeded(measured);
  const predicted = predictedNames.has(name) ? (name as keyof Simulated) : null;
  return predicted
    ? correctedFigure(predicted, simulator, measured, { longestDelayUs, without })
    : learned(name, measured, place);
}

const predictedNames: ReadonlySet<string> = new Set([
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
  const needs = gpuMemoryNeed(measured);
  return (choice) => {
    if (needs === null) return UNKNOWN;
    const { mean, sd } = needs.mib(choice);
    const need = Math.max(mean, LEAST_NEED * sd);
    return { mean: Math.log(need), sd: sd / need, shared: 0 };
  };
}

/** Of a metric that was never read: anything. */
const UNKNOWN: Figure = { mean: 0, sd: 5, shared: 0 };

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
