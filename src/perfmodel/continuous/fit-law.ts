import type { SequenceLengths } from '../../queueing/continuous/lengths.ts';
import type { StepParts } from '../../queueing/continuous/step-law.ts';
import type { Normal } from '../../stats/gaussian-process.ts';
import { leastSquares, type ResidualBlock, type Summand, sumOf } from '../../stats/least-squares.ts';
import type { Choice } from '../modelled-config.ts';
import { simulatedFigure } from '../simulated.ts';
import { observedLengths, type TokenObservation } from './observed-traffic.ts';
import { effectsOf, type SettingEffect, settingsOfPolicy } from './setting-effects.ts';
import { simulateEngine } from './simulate-engine.ts';
import { tokenFiguresOf } from './simulated-tokens.ts';
import {
  type EngineLaw,
  factorOfPart,
  type LawFactors,
  lawFigures,
  lawOf,
  lawPriors,
  type RoughFigures,
  settingParts,
} from './step-law-parameters.ts';
import { readTokenFigure, type TokenFigureName } from './token-figures.ts';

/** The laws of an engine by its settings, fitted to measurements. */
export interface FittedLaw {
  readonly lengths: SequenceLengths;
  lawOf(choice: Choice): EngineLaw;
  /** The standard deviation of the logarithm of a time with these shares of the law's parts. */
  uncertainty(choice: Choice, shares: StepParts): number;
}

/** The figures that a law is fitted to. Each has the standard deviation of its logarithm that the form of the law leaves, whatever the noise. */
const FITTED: readonly (readonly [figure: TokenFigureName | 'latency-avg', sd: number])[] = [
  ['output-token-throughput', 0.04],
  ['tpot-avg', 0.04],
  ['itl-p50', 0.06],
  ['itl-p99', 0.15],
  ['ttft-p50', 0.08],
  ['ttft-p99', 0.15],
  ['latency-avg', 0.04],
];
/** The residual of a figure that is impossible by the law, in standard deviations. */
const IMPOSSIBLE = 10;
/** The most measurements that a law is fitted to: the first, and others spread evenly over the levels. */
const MOST_OBSERVATIONS = 14;
const REQUESTS = 60;
/** The change of a parameter for measuring slopes: smaller ones drown in the jumps of a simulation. */
const STEP = 0.1;
const MOST_CHANGE = 1.2;
const ITERATIONS = 6;
const PERCENTILE = 99;

/** Fits the law of an engine's steps. `observations`: at least one; `all`: every choice to predict later. */
export function fitLaw(
  observations: readonly TokenObservation[],
  all: readonly Choice[],
  { seed }: { readonly seed: number },
): FittedLaw {
  const lengths = observedLengths(observations);
  const used = evenly(observations);
  const parameters = lawParameters(used, all);
  const blocks = used.map(
    (observation): ResidualBlock => ({
      sums: parameters.sumsOf(observation.choice),
      residuals: (values) => residualsOf(observation, lawOfSums(values), lengths, seed),
    }),
  );
  const priors = [...lawPriors(roughFigures(used, lengths)), ...parameters.priors];
  const fit = leastSquares(blocks, { priors, step: STEP, mostChange: MOST_CHANGE, iterations: ITERATIONS });
  const widening = Math.sqrt(Math.max(1, fit.misfit));
  return {
    lengths,
    lawOf: (choice) => lawOfSums(parameters.sumsOf(choice).map((summands) => sumOf(summands, fit.parameters))),
    uncertainty(choice, shares) {
      const ofFactors = factorShares(shares);
      const ofSums = [
        ...lawFigures.map((name) => (name in shares ? shares[name as keyof StepParts] : 0)),
        ...settingParts.map((part) => ofFactors[part]),
      ];
      const slopes = new Map<number, number>();
      for (const [sum, summands] of parameters.sumsOf(choice).entries()) {
        for (const { parameter, weight } of summands) slopes.set(parameter, weight * (ofSums[sum] as number));
      }
      let variance = 0;
      for (const [a, slope] of slopes) {
        for (const [b, other] of slopes) variance += slope * other * (fit.covariance[a]?.[b] as number);
      }
      const unknown = parameters.unknownSd(choice) * Math.hypot(ofFactors.prompts, ofFactors.steps);
      return Math.hypot(widening * Math.sqrt(Math.max(0, variance)), unknown);
    },
  };
}

/** The parameters of a choice's law besides the figures of the reference's law. */
interface LawParameters {
  /** The figures of the law, each alone, and the sum of the effects on each part. */
  sumsOf(choice: Choice): readonly (readonly Summand[])[];
  /** Priors of the effects; they follow those of the figures. */
  readonly priors: readonly Normal[];
  /** The standard deviation of the effect of settings that no observation has. */
  unknownSd(choice: Choice): number;
}

function lawParameters(observations: readonly TokenObservation[], all: readonly Choice[]): LawParameters {
  const ofPolicy = settingsOfPolicy(all);
  const reference = (observations[0] as TokenObservation).choice.settings;
  const effects = (choice: Choice): SettingEffect[] => effectsOf(reference, choice, ofPolicy);
  const known = new Map(
    observations.flatMap(({ choice }) => effects(choice)).map(({ name, sd }) => [name, sd] as const),
  );
  const indices = new Map(
    [...known.keys()].map((name, index) => [name, lawFigures.length + settingParts.length * index]),
  );
  return {
    priors: [...known.values()].flatMap((sd) => settingParts.map(() => ({ mean: 0, sd }))),
    sumsOf: (choice) => [
      ...lawFigures.map((_, parameter) => [{ parameter, weight: 1 }]),
      ...settingParts.map((_, part) =>
        effects(choice).flatMap(({ name, weight }) => {
          const index = indices.get(name);
          return index === undefined ? [] : [{ parameter: index + part, weight }];
        }),
      ),
    ],
    unknownSd: (choice) =>
      Math.hypot(...effects(choice).flatMap(({ name, weight, sd }) => (known.has(name) ? [] : [weight * sd]))),
  };
}

const lawOfSums = (values: readonly number[]): EngineLaw => {
  const [prompts = 0, steps = 0] = values.slice(lawFigures.length);
  return lawOf(values, { prompts, steps });
};

/** Returns the shares of the parts that each factor stretches. */
function factorShares(shares: StepParts): LawFactors {
  const total = { prompts: 0, steps: 0 };
  for (const [part, share] of Object.entries(shares)) total[factorOfPart(part as keyof StepParts)] += share;
  return total;
}

function residualsOf(
  { choice, measurement, arrivals }: TokenObservation,
  law: EngineLaw,
  lengths: SequenceLengths,
  seed: number,
): number[] {
  const found = simulateEngine(choice, arrivals ?? measurement.level, law, lengths, { seed, requests: REQUESTS });
  const { instances } = choice.policy;
  const figures = found && tokenFiguresOf(found, { percentile: PERCENTILE, limits: undefined, instances });
  return FITTED.map(([figure, sd]) => {
    const measured = figure === 'latency-avg' ? measurement.latencyMs.avg : readTokenFigure(figure, measurement)?.value;
    if (!(Number(measured) > 0)) return 0;
    const simulated = figures && simulatedFigure(figures, figure);
    return simulated ? Math.log(simulated / Number(measured)) / sd : IMPOSSIBLE;
  });
}

/** Returns rough figures of the measurement with the fewest requests in flight. */
function roughFigures(observations: readonly TokenObservation[], lengths: SequenceLengths): RoughFigures {
  const lightest = observations.reduce((least, each) =>
    each.measurement.latencyMs.avg < least.measurement.latencyMs.avg ? each : least,
  );
  const { tokens } = lightest.measurement;
  const cached = lightest.choice.continuous?.cachesPrefixes ? lengths.cachedShare : 0;
  const tpotMs = tokens.tpotMs.p50 > 0 ? tokens.tpotMs.p50 : tokens.ttftMs.p50;
  return {
    tpotNs: tpotMs * 1e6,
    ttftNs: tokens.ttftMs.p50 * 1e6,
    promptTokens: Math.max(1, lengths.input.mean * (1 - cached)),
    contextTokens: lengths.input.mean + lengths.output.mean / 2,
  };
}

/** Returns the first observation and others spread evenly over the levels, at most the number that a law is fitted to. */
function evenly(observations: readonly TokenObservation[]): readonly TokenObservation[] {
  if (observations.length <= MOST_OBSERVATIONS) return observations;
  const [first, ...others] = observations as [TokenObservation, ...TokenObservation[]];
  const byLevel = others.sort((a, b) => a.measurement.level.value - b.measurement.level.value);
  const picked = Array.from({ length: MOST_OBSERVATIONS - 1 }, (_, index) => {
    const at = Math.round((index * (byLevel.length - 1)) / (MOST_OBSERVATIONS - 2));
    return byLevel[at] as TokenObservation;
  });
  return [first, ...picked];
}
