import { summarizeLatencies } from '#profiler/latency-summary.ts';
import type { Measurement } from '#profiler/measurement.ts';
import { believingPosterior, type Hypothesis, type NoisyReading, type Normal } from '#stats/gaussian-process.ts';
import { type Interval, timesInterval } from '#stats/interval.ts';
import { DEVIATIONS_AT_95_PERCENT } from '#stats/normal.ts';
import { relativeHalfWidth } from '#stats/precision.ts';
import { isTokenRate, readTokenFigure, type TokensRead } from './continuous/token-figures.ts';
import { readGoodput } from './goodput.ts';
import type { Choice } from './modelled-config.ts';
import { type ModelPart, WHOLE } from './parts.ts';
import { createKernel, type Place, SETTING_DISTANCES } from './places.ts';
import type { MeasuredChoice, ServiceModel } from './service-model.ts';
import { type FigureName, figureNamed, isTokenFigure, type PlainFigureName, simulatedFigure } from './simulated.ts';

/**
 * A figure as a logarithm, or a weighted sum of such. `shared` is the signed part of its standard
 * deviation that is due to uncertain execution times: where they are shorter than predicted,
 * throughput is higher and latency is lower at once.
 */
export interface LogFigure extends Normal {
  readonly shared: number;
}

/**
 * Predicts one of a service model's figures, corrected; null if the choice cannot serve such
 * requests.
 */
export type PredictFigure = (choice: Choice, level: number) => LogFigure | null;

/** Options of the residual correction. */
export interface CorrectionOptions {
  /** The longest queue delay of all choices to predict later, in microseconds. */
  readonly longestDelayUs: number;
  readonly without?: { has(part: ModelPart | CorrectionPart): boolean } | undefined;
  /** Points being measured elsewhere: the figures are less uncertain near them. */
  readonly pending?: readonly PendingPoint[] | undefined;
}

/** A choice that is being measured at a level; its figures are not known yet. */
export interface PendingPoint {
  readonly choice: Choice;
  readonly level: number;
}

/**
 * The parts of the correction that a benchmark can leave out, each with the effect of leaving it
 * out.
 */
export const correctionParts = {
  correction: 'simulated figures are uncertain, and never corrected',
  adaptive: 'the usual kernel of the residuals, however large they were',
  'shared-uncertainty': 'throughput and latency are uncorrelated',
} as const satisfies Readonly<Record<string, string>>;

type CorrectionPart = keyof typeof correctionParts;
type WithoutParts = NonNullable<CorrectionOptions['without']>;

/**
 * Corrects a simulated figure by its residuals: Gaussian-process regression of the logarithm of
 * measured over simulated, over instances, batch, queue delay, level and settings (Rasmussen and
 * Williams, 2006, algorithm 2.1).
 */
export function correctedFigure(
  name: FigureName,
  serviceModel: ServiceModel,
  measured: readonly MeasuredChoice[],
  { longestDelayUs, without = WHOLE, pending = [] }: CorrectionOptions,
): PredictFigure {
  const { figure, front } = figureNamed(name) as NonNullable<ReturnType<typeof figureNamed>>;
  const place = (choice: Choice, level: number): Place =>
    serviceModel.placeInUse?.(choice, level, longestDelayUs) ?? serviceModel.place(choice, level, longestDelayUs);
  const readings = measured.flatMap(({ choice, measurements }) =>
    measurements.flatMap((measurement): NoisyReading<Place>[] => {
      const simulated = serviceModel.predict(choice, measurement.level.value);
      const predicted = simulated && simulatedFigure(simulated, name);
      const ownRead = front === null ? measurement : frontIn(measurement, front);
      if (!predicted || !ownRead || measurement.client.bound) return [];
      const read = readFigure(figure, ownRead);
      if (!read || !(read.value > 0) || !Number.isFinite(read.value)) return [];
      const at = place(choice, measurement.level.value);
      return [{ place: at, value: Math.log(read.value / predicted), noiseVariance: computeNoise(figure, read) ** 2 }];
    }),
  );
  const hypotheses = correctionsWith(isRate(figure) ? 'rate' : 'latency', without);
  const noiseVariance = (isRate(figure) ? MIN_NOISE.throughput : MIN_NOISE.latency) ** 2;
  const toCome = pending.map(({ choice, level }) => ({ place: place(choice, level), noiseVariance }));
  const correction = believingPosterior(without.has('correction') ? [] : readings, hypotheses, toCome);
  const settled = new Set(pending.map(({ choice }) => choice.settingsKey));
  return (choice, level) => {
    const simulated = serviceModel.predict(choice, level);
    const predicted = simulated && simulatedFigure(simulated, name);
    if (!predicted) return null;
    const { mean, sd } = correction(place(choice, level));
    const uncertainty =
      serviceModel.uncertainty(choice, level, front) * (settled.has(choice.settingsKey) ? LEFT_UNCERTAIN : 1);
    const shared = isRate(figure) ? -uncertainty : uncertainty;
    return {
      mean: Math.log(predicted) + mean,
      sd: Math.hypot(sd, uncertainty),
      shared: without.has('shared-uncertainty') ? 0 : shared,
    };
  };
}

/**
 * The share of the uncertainty of execution times that remains when one more candidate with the
 * same settings has been measured.
 */
const LEFT_UNCERTAIN = 0.5;

/**
 * Returns a measurement's figures of the requests to one model; the measurement's own if the model
 * is the only front.
 */
const frontIn = (measurement: Measurement, front: string): Read | undefined =>
  measurement.fronts ? measurement.fronts.find(({ model }) => model === front) : measurement;

/** The part of a measurement that figures are read from. */
type Read = Pick<Measurement, 'throughput' | 'goodput' | 'budgetLatencyMs' | 'latencyMs' | 'openLoop'> & TokensRead;

/** True if a figure is a rate; otherwise it is a time. */
const isRate = (figure: PlainFigureName): boolean =>
  figure === 'throughput' || figure === 'goodput' || isTokenRate(figure);

/**
 * Returns a measured figure with its interval; a percentile without one has the interval of the
 * budgeted percentile, which is about as wide.
 */
function readFigure(figure: PlainFigureName, measurement: Read): Interval | undefined {
  if (isTokenFigure(figure)) return readTokenFigure(figure, measurement);
  if (figure === 'throughput') return measurement.throughput;
  if (figure === 'goodput') return readGoodput(measurement);
  const { value, low, high } = measurement.budgetLatencyMs;
  if (figure === 'latency') return { value, low, high };
  return timesInterval({ value, low, high }, summarizeLatencies(measurement)[latencyFields[figure]] / value);
}

const latencyFields = {
  'latency-avg': 'avg',
  'latency-p50': 'p50',
  'latency-p90': 'p90',
  'latency-p95': 'p95',
  'latency-p99': 'p99',
} as const;

/**
 * The noise of a reading besides its own interval, as a standard deviation of logarithms: no two
 * runs are alike.
 */
export const MIN_NOISE = { throughput: 0.02, latency: 0.04 };

function computeNoise(figure: PlainFigureName, interval: Interval): number {
  const least = isRate(figure) ? MIN_NOISE.throughput : MIN_NOISE.latency;
  const width = relativeHalfWidth(interval) / DEVIATIONS_AT_95_PERCENT;
  return Math.hypot(least, Number.isFinite(width) ? Math.min(0.5, width) : 0.5);
}

/**
 * Builds the hypotheses of the residual's kernel. `smooths`: standard deviations of the smooth
 * part, with a log-normal prior around `usual`; `others`: further scales, the less usual ones later
 * in their lists.
 */
export const listHypotheses = (
  smooths: readonly number[],
  usual: number,
  others: { readonly common: number; readonly locals: readonly number[] },
): [Hypothesis<Place>, ...Hypothesis<Place>[]] =>
  smooths.flatMap((smooth) =>
    others.locals.flatMap((local, steps) =>
      SETTING_DISTANCES.map((settingDistance) => ({
        kernel: createKernel({ smooth, common: others.common, local, settingDistance }),
        logPrior: -0.5 * (Math.log(smooth / usual) / 0.7) ** 2 - steps * SMOOTHER_THAN_USUAL,
      })),
    ),
  ) as [Hypothesis<Place>, ...Hypothesis<Place>[]];

/** The log prior odds against each step towards a smaller local part. */
const SMOOTHER_THAN_USUAL = 1.5;

const RATES = {
  smooths: [0.04, 0.08, 0.15, 0.3, 0.5],
  usual: 0.12,
  common: 0.12,
  locals: [0.05, 0.02, 0.008],
};
const LATENCIES = { smooths: [0.1, 0.2, 0.4, 0.7], usual: 0.25, common: 0.3, locals: [0.1] };

const known = new Map<string, [Hypothesis<Place>, ...Hypothesis<Place>[]]>();

function correctionsWith(of: 'rate' | 'latency', without: WithoutParts): [Hypothesis<Place>, ...Hypothesis<Place>[]] {
  const isAdaptive = !without.has('adaptive');
  const key = `${of} ${isAdaptive}`;
  const { smooths, usual, locals, common } = of === 'rate' ? RATES : LATENCIES;
  const hypotheses =
    known.get(key) ??
    listHypotheses(isAdaptive ? smooths : [usual], usual, {
      common,
      locals: isAdaptive ? locals : locals.slice(0, 1),
    });
  known.set(key, hypotheses);
  return hypotheses;
}
