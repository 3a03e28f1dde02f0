import { NS_PER_S } from '#base/units.ts';
import { type FitQuality, fitQuality } from '#queueing/calibration/fit-quality.ts';
import { stepNs } from '#queueing/continuous/step-law.ts';
import type { TokenSimulation } from '#queueing/continuous/token-tally.ts';
import type { Choice } from '../modelled-config.ts';
import { loadsAt } from '../offered-load.ts';
import { robustRun } from '../robust-figures.ts';
import type { Extrapolation, MeasuredChoice, ServiceModel, ServiceModelOptions } from '../service-model.ts';
import { memoizedRuns, type SimulatedFigures, type SimulatedRun } from '../simulated.ts';
import { placeOfEngine } from './engine-place.ts';
import { type FittedLaw, fitLaw } from './fit-law.ts';
import { type TokenObservation, tokenObservations } from './observed-traffic.ts';
import { type EngineLoad, simulateEngine } from './simulate-engine.ts';
import { summarizeTokens, tokenFiguresUnder } from './simulated-tokens.ts';

const REQUESTS = 100;
/** Arrivals of one simulation under a workload: fewer make its bursts less certain. */
const ARRIVALS = 240;
/** The standard deviation of an engine's throughput for a bound, as a logarithm. */
const BOUND_SD = 0.2;

/** The service model of one kind of engine with continuous batching. */
export interface EngineModel extends ServiceModel {
  readonly law: FittedLaw;
}

/**
 * Fits the model of a language model's engine to measurements: the law of its steps, the effects of
 * settings on it, and the lengths of requests. The common part of all choices shows which settings
 * the policy covers. null without any figures of tokens.
 */
export function fitEngineModel(
  measured: readonly MeasuredChoice[],
  { mode, percentile, seed, all, limits, workloads, requests = REQUESTS }: ServiceModelOptions,
): EngineModel | null {
  const observations = tokenObservations(measured, workloads);
  if (observations.length === 0) return null;
  const law = fitLaw(observations, [...all, ...measured.map(({ choice }) => choice)], { seed });
  const { lengths } = law;
  const runUnder = (
    choice: Choice,
    load: EngineLoad,
    figures: (simulation: TokenSimulation) => SimulatedFigures,
  ): SimulatedRun | null => {
    const tokenSimulation = simulateEngine(choice, load, law.toLaw(choice), lengths, { seed, requests });
    return (
      tokenSimulation && {
        predicted: figures(tokenSimulation),
        largestBatch: Math.ceil(tokenSimulation.runningSequences),
        uncertainty: law.uncertainty(choice, tokenSimulation.parts),
      }
    );
  };
  const run = (choice: Choice, level: number): SimulatedRun | null => {
    const options = { percentile, limits, instances: choice.policy.instances };
    if (!workloads)
      return runUnder(choice, { mode, value: level }, (simulation) => summarizeTokens(simulation, options));
    const runs = loadsAt(workloads, level, ARRIVALS).map((load) =>
      runUnder(choice, load.plan, (simulation) => tokenFiguresUnder(load, simulation, options)),
    );
    // Lengths are the same under all workloads: if one cannot be served, none can.
    return runs.some((each) => each === null) ? null : robustRun(workloads, runs as readonly SimulatedRun[]);
  };
  const runs = memoizedRuns(run);
  return {
    predict: runs.predict,
    uncertainty: runs.uncertainty,
    law,
    gives: () => true,
    place: placeOfEngine,
    extrapolates: (choice) => extrapolationsBeyond(observations, choice),
    quality: () => computeQuality(observations, runs.predict),
    mostThroughput: (choice, level) => {
      if (mode !== 'concurrency') return Number.POSITIVE_INFINITY;
      return (level * NS_PER_S * Math.exp(BOUND_SD)) / requestNs(law, choice, 1);
    },
    bound(choice, { limitNs }) {
      const { continuous, policy } = choice;
      let best = 0;
      for (let running = mostRunning(law, choice); running >= 1; running = Math.floor(running / 2)) {
        const ns = requestNs(law, choice, running) * Math.exp(-BOUND_SD);
        const rate = (policy.instances * running) / ns;
        best = Math.max(best, ns <= limitNs ? rate : rate / 1e3);
      }
      return continuous ? best : 0;
    },
  };
}

/**
 * Returns what a choice has and no observation had: as many instances, as many sequences at once,
 * or the same value of another setting.
 */
function extrapolationsBeyond(
  observations: readonly TokenObservation[],
  { policy, largestBatch, settings }: Choice,
): Extrapolation[] {
  const isSeen = (of: (choice: Choice) => boolean): boolean => observations.some(({ choice }) => of(choice));
  const isVariant = [...settings].some(([name, value]) => !isSeen((choice) => choice.settings.get(name) === value));
  return [
    ...(isSeen((choice) => choice.policy.instances >= policy.instances) ? [] : (['instances'] as const)),
    ...(isSeen((choice) => choice.largestBatch >= largestBatch) ? [] : (['batch size'] as const)),
    ...(isVariant ? (['variant'] as const) : []),
  ];
}

/** Judges an engine by the times per output token that it was fitted to; null without any. */
function computeQuality(
  observations: readonly TokenObservation[],
  predict: ServiceModel['predict'],
): FitQuality | null {
  const misses = observations.flatMap(({ choice, measurement: { level, tokens } }) => {
    const simulated = predict(choice, level.value)?.tokens;
    return simulated && tokens.tpotMs.avg > 0 ? [Math.abs(simulated['tpot-avg'] / tokens.tpotMs.avg - 1)] : [];
  });
  return misses.length > 0 ? fitQuality(misses) : null;
}

/** Returns the mean number of sequences that run at once if requests never run out. */
function mostRunning({ lengths: { input, output } }: FittedLaw, { continuous }: Choice): number {
  if (!continuous) return 1;
  const { maxSequences, kvCacheTokens } = continuous;
  const placed = kvCacheTokens === null ? maxSequences : kvCacheTokens / (input.mean + output.mean / 2);
  return Math.max(1, Math.floor(Math.min(maxSequences, placed)));
}

/**
 * Returns the mean time of a request with `running - 1` others: all its decoding steps, and the
 * prompts between them.
 */
function requestNs(fitted: FittedLaw, choice: Choice, running: number): number {
  const law = fitted.toLaw(choice);
  const { input, output, cachedShare } = fitted.lengths;
  const prompt = input.mean * (1 - (choice.continuous?.cachesPrefixes ? cachedShare : 0));
  const contextTokens = running * (input.mean + output.mean / 2);
  const decodingNs = stepNs(law, { prefillTokens: 0, prefillPairs: 0, decoding: running, contextTokens });
  const promptNs = law.perPrefillTokenNs * prompt + (law.perPrefillPairNs * prompt * prompt) / 2;
  return law.roundTripNs + output.mean * decodingNs + law.prefillBaseNs + running * promptNs;
}
