import type { PendingPoint } from '#perfmodel/correction.ts';
import { findLaw } from '#perfmodel/laws.ts';
import { atClientBatch, type Choice, toChoice } from '#perfmodel/modelled-config.ts';
import { type MeasuredChoice, measuredChoices, type ServiceModel } from '#perfmodel/service-model.ts';
import type { DeviceMetrics } from '#profiler/server-figures.ts';
import type { Topology } from '#space/topology.ts';
import type { Candidate } from '#space/types.ts';
import type { StudyWorkloads } from '#workload/study-workloads.ts';
import { toMetrics } from '../../goal/metrics/registry.ts';
import { findInFlight } from '../../level-line.ts';
import type { Goal, LevelRange, PendingTrial, RunningTrial, Trial } from '../../types.ts';
import { pruneReason } from '../pruning.ts';
import type { SpaceView } from '../samplers/space-view.ts';
import {
  type AcquisitionContext,
  type AcquisitionPoint,
  coarsePoints,
  finePoints,
  largestImprovement,
  listAcquisitionPoints,
  samplesInFlight,
} from './acquisition.ts';
import { type SettingValue, settingValues, unseenValues } from './coverage.ts';
import { deviceIn } from './followed.ts';
import { findIncumbent, type Incumbent } from './incumbent.ts';
import { jointCandidates, type NeighboursOf } from './joint-candidates.ts';
import { withLoadFeasibility } from './load-feasibility.ts';
import { climbed } from './local-search.ts';
import { NOTHING, type Without } from './mechanisms.ts';
import { createPosteriorModel, type PosteriorModel } from './posterior-model.ts';
import { ratesByReplicas } from './rates-by-replicas.ts';
import { levelsWithinReach, withinReach } from './reach.ts';
import { screened } from './screen.ts';
import { trainingSubset } from './training-subset.ts';
import { fitTrialCost } from './trial-cost.ts';

/** Options of the queueing sampler. */
export interface QueueingOptions {
  readonly seed: number;
  readonly goal: Goal;
  readonly levels: LevelRange;
  /**
   * The search stops when another trial is expected to gain less than this fraction of the
   * incumbent. By default max(1 %, 25 % / trials); 1 % while it is early, at least 10 % when it is
   * late (`Remaining.pace`).
   */
  readonly leastGain?: number | undefined;
  /**
   * The search continues until no config can be better than its best by more than this fraction.
   */
  readonly certify?: number | undefined;
  /** The relations between models that are tuned together; absent for a single model. */
  readonly topology?: Topology | undefined;
  /** The arrivals at each level; absent for an even rate. */
  readonly workloads?: StudyWorkloads | undefined;
  /** Mechanisms to leave out, to see their effect. */
  readonly without?: Without | undefined;
}

/**
 * The search space's expectation of a candidate's execution time before anything is measured
 * (`SpaceView.expectedTime`).
 */
export type ExpectedTime = SpaceView['expectedTime'];

/**
 * A level whose throughput is predicted below this share of the incumbent's is not simulated:
 * corrections are smaller than that.
 */
const MIN_OF_BEST = 0.5;
/** Trials of one candidate, at most, each at levels that the model proposed. */
const MAX_TRIALS_OF_ONE = 3;

/**
 * The state of a search at one moment: fitted models, the incumbent, and the points that could be
 * measured next.
 */
export interface SearchState extends Incumbent {
  readonly serviceModel: ServiceModel;
  readonly posterior: PosteriorModel;
  readonly context: AcquisitionContext;
  /** Candidates that were not tried, are not known to fail, and have batches within reach. */
  readonly left: readonly Choice[];
  /** Values of settings that no measurement has and some of these candidates do. */
  readonly unseen: readonly SettingValue[];
  readonly points: readonly AcquisitionPoint[];
  /** The candidate of the running trial. */
  readonly running: Choice | null;
}

/** The models behind a search state. */
export interface FittedModels {
  readonly serviceModel: ServiceModel;
  readonly posterior: PosteriorModel;
  /** The posterior, also given that these points are being measured. */
  posteriorBeside(pending: readonly PendingPoint[]): PosteriorModel;
}

/**
 * Fits the service model and its correction to what was measured. `all`: every candidate of the
 * space.
 */
export function fitModels(
  all: readonly Choice[],
  measured: readonly MeasuredChoice[],
  { goal, levels, seed, topology, workloads, without }: QueueingOptions,
  expectedTime: ExpectedTime,
): FittedModels {
  const percentile = goal.budget?.percentile ?? 99;
  const options = { mode: levels.mode, percentile, limits: goal.goodput, seed, all, workloads, without, expectedTime };
  const serviceModel = findLaw(topology, all[0]?.candidate.shape).fit(measured, options);
  const longestDelayUs = Math.max(0, ...all.map(({ delayUs }) => delayUs));
  const posteriorBeside = (pending: readonly PendingPoint[]): PosteriorModel =>
    createPosteriorModel(serviceModel, measured, goal, longestDelayUs, without, pending);
  return { serviceModel, posterior: posteriorBeside([]), posteriorBeside };
}

/**
 * Computes the search state from the finished trials and the running one. `all`: every candidate of
 * the space. `fitTo`: fits the models to the training subset; memoized by the caller. `pending`:
 * trials on other servers; their candidates are left out, and their results are assumed to be as
 * expected.
 */
export function createSearchState(
  all: readonly Choice[],
  trials: readonly Trial[],
  running: RunningTrial | null,
  fitTo: (measured: readonly MeasuredChoice[]) => FittedModels,
  listNeighbours: NeighboursOf,
  { goal, levels, seed, topology, without = NOTHING, slowLoads }: QueueingOptions & Pick<SpaceView, 'slowLoads'>,
  pending: readonly PendingTrial[] = [],
): SearchState {
  const started = running ? [...trials, running] : trials;
  const tried = [...started, ...pending];
  const measured = listMeasured(started);
  const training = trainingSubset(measured, goal);
  const { serviceModel, posterior: known, posteriorBeside } = fitTo(training);
  const awaited = awaitedPoints(pending, known);
  const posterior = awaited.length === 0 ? known : posteriorBeside(awaited);
  const device = deviceIn(measured);
  const trialCost = fitTrialCost(trials, slowLoads);
  const served = started.at(-1)?.candidate ?? null;
  const placeKey = (choice: Choice, level: number): string =>
    `${choice.settingsKey} ${posterior.toPlace(choice, level).coordinates.join(' ')}`;
  const places = new Set([
    ...measured.flatMap(({ choice, measurements }) => measurements.map(({ level }) => placeKey(choice, level.value))),
    ...awaited.map(({ choice, level }) => placeKey(choice, level)),
  ]);
  const { best, found } = findIncumbent(training, posterior, goal, without, awaited);
  const context: AcquisitionContext = {
    posterior: withLoadFeasibility(posterior, training, trials, without),
    range: levelsWithinReach(levels, trials),
    rates: ratesByReplicas(goal, levels, started),
    seconds: (choice) =>
      without.has('trial-cost') ? 1 : trialCost.changeSeconds(choice, served) + trialCost.measureSeconds,
    isKnown: (choice, level) => places.has(placeKey(choice, level)),
    isTooLow: tooLow(serviceModel, training, goal, best),
    without,
  };
  const left = withinReach(leftOver(all, tried, trials), trials);
  const again = running || without.has('returning') ? [] : worthReturning(all, trials, pending);
  const distinct = [...new Map([...left, ...again].map((choice) => [choice.key, choice])).values()];
  const points = topology
    ? jointPoints(
        { distinct, trials, tried, serviceModel, listNeighbours, context, best, device },
        { goal, levels, seed },
      )
    : listAcquisitionPoints(screened(distinct, serviceModel, goal, { seed, levels, device }), context, best);
  return {
    serviceModel,
    posterior,
    context,
    left,
    unseen: without.has('coverage') ? [] : unseenValues(settingValues(all), [...measured, ...awaited], left, trials),
    best,
    found,
    points,
    running: running && toChoice(running.candidate),
  };
}

/** Returns the points that pending trials measure, if the model can predict them. */
const awaitedPoints = (pending: readonly PendingTrial[], posterior: PosteriorModel): readonly PendingPoint[] =>
  pending.flatMap(({ candidate, level }) => {
    if (level === null) return [];
    const point = { choice: atClientBatch(toChoice(candidate), level.batch), level: level.value };
    return posterior.predict(point.choice, point.level) === null ? [] : [point];
  });

/** The context for finding the points of a joint space. */
interface JointState {
  readonly distinct: readonly Choice[];
  readonly trials: readonly Trial[];
  readonly tried: readonly Pick<Trial, 'candidate'>[];
  readonly serviceModel: ServiceModel;
  readonly listNeighbours: NeighboursOf;
  readonly context: AcquisitionContext;
  readonly best: number | null;
  readonly device: DeviceMetrics;
}

/** The number of joint choices whose fine levels are simulated too. */
const JOINT_LOOKED_AT_CLOSELY = 5;

/**
 * Returns the points of a joint space: candidates from its sample, and those that climbs from the
 * best reach.
 */
function jointPoints(
  { distinct, trials, tried, serviceModel, listNeighbours, context, best, device }: JointState,
  { goal, levels, seed }: Pick<QueueingOptions, 'goal' | 'levels' | 'seed'>,
): readonly AcquisitionPoint[] {
  const gone = new Set(tried.map(({ candidate }) => candidate.fingerprint));
  const again = new Set(distinct.map(({ key }) => key));
  const isOpen = (choice: Choice): boolean =>
    again.has(choice.key) ||
    (!gone.has(choice.candidate.fingerprint) && pruneReason(choice.candidate, trials) === null);
  const candidates = jointCandidates(distinct, serviceModel, { seed: seed + trials.length, goal, levels, device });
  const coarse = coarsePoints(candidates, context);
  const search = { listNeighbours, isOpen, serviceModel, goal, levels, device };
  const all = context.without.has('local-search') ? coarse : climbed(coarse, context, best, search);
  return [...all, ...finePoints(all, context, best, JOINT_LOOKED_AT_CLOSELY)];
}

/** Returns the candidates with measurements, in the form that models are fitted to. */
export const listMeasured = (tried: readonly Pick<Trial, 'candidate' | 'measurements'>[]): MeasuredChoice[] =>
  tried
    .filter(({ measurements }) => measurements.length > 0)
    .flatMap(({ candidate, measurements }) => measuredChoices(candidate, measurements));

/**
 * Metrics that count the effects of requests per second: a request in flight has at most this many.
 */
const RATES: ReadonlySet<string> = new Set([
  'throughput',
  'goodput',
  'output-token-throughput',
  'total-token-throughput',
]);

/**
 * Returns a test for levels at which a choice cannot have half of the incumbent's rate, by the
 * model and by the highest measured rate per request in flight. It saves most simulations of a
 * search for throughput, goodput or tokens; for other objectives it is constantly false.
 */
function tooLow(
  serviceModel: ServiceModel,
  measured: readonly MeasuredChoice[],
  goal: Goal,
  best: number | null,
): AcquisitionContext['isTooLow'] {
  const [only, ...others] = goal.objectives;
  if (!only || others.length > 0 || best === null) return () => false;
  const { follows } = toMetrics(goal).named(only.metric);
  const [rate, ...more] = follows?.from ?? [only.metric];
  if (rate === undefined || !RATES.has(rate) || more.length > 0) return () => false;
  const least = MIN_OF_BEST * Math.exp(-best);
  const device = deviceIn(measured);
  // The worth of a rate: itself, or the inverse of the cost that follows from it.
  const computeWorth = (value: number, candidate: Candidate): number => {
    if (!follows) return value;
    const cost = follows.of([value], candidate, device);
    return cost === undefined ? 0 : 1 / cost;
  };
  const seen = measured.flatMap(({ choice, measurements }) =>
    measurements.map((each) => {
      const seenRate = toMetrics(goal).read(rate, each, choice.candidate) ?? 0;
      return {
        ofOne: seenRate / findInFlight(each.level),
        perInference: seenRate / Math.max(Number.MIN_VALUE, each.throughput.value),
      };
    }),
  );
  const mostOfOne = Math.max(0, ...seen.map(({ ofOne }) => ofOne));
  const perInference = Math.max(0, ...seen.map((each) => each.perInference));
  return (choice, level) => {
    const predicted = perInference * serviceModel.mostThroughput(choice, level);
    return computeWorth(Math.max(predicted, mostOfOne * samplesInFlight({ choice, level })), choice.candidate) < least;
  };
}

/**
 * Returns the largest expected improvement of one more trial, as a difference of logarithms; 1
 * while nothing is feasible.
 */
export const largestImprovementIn = ({ points, found }: SearchState): number =>
  found === null ? 1 : largestImprovement(points, found);

/** Returns the choices that were not tried and are not known to fail (`pruneReason`). */
function leftOver(
  all: readonly Choice[],
  tried: readonly { readonly candidate: Candidate }[],
  trials: readonly Trial[],
): Choice[] {
  const gone = new Set(tried.map(({ candidate }) => candidate.fingerprint));
  return all.filter(({ candidate }) => !gone.has(candidate.fingerprint) && pruneReason(candidate, trials) === null);
}

/**
 * Returns the tried choices that may be measured again at another level: those that never failed
 * and had fewer than three trials.
 */
function worthReturning(
  all: readonly Choice[],
  trials: readonly Trial[],
  pending: readonly Pick<PendingTrial, 'candidate'>[],
): Choice[] {
  const byCandidate = Map.groupBy(trials, ({ candidate }) => candidate.fingerprint);
  const gone = new Set(pending.map(({ candidate }) => candidate.fingerprint));
  return all.filter(({ candidate }) => {
    if (gone.has(candidate.fingerprint)) return false;
    const trials = byCandidate.get(candidate.fingerprint) ?? [];
    return trials.length > 0 && trials.length < MAX_TRIALS_OF_ONE && trials.every(({ failure }) => failure === null);
  });
}
