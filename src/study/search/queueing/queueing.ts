import { formatFigure } from '#base/format.ts';
import { atClientBatch, type Choice, toChoice } from '#perfmodel/modelled-config.ts';
import type { MeasuredChoice } from '#perfmodel/service-model.ts';
import type { Measurement } from '#profiler/measurement.ts';
import type { Candidate } from '#space/types.ts';
import { assess, followsFromThroughput, goalOfLevels, isFeasible } from '../../goal/goal.ts';
import { nextLevel } from '../../goal/levels.ts';
import { bestTrial, findChosen } from '../../goal/ranking.ts';
import { findInFlight } from '../../level-line.ts';
import type { Goal, LevelPoint, PendingTrial, Proposal, RunningTrial, Sampler, Stop, Trial } from '../../types.ts';
import type { SpaceView } from '../samplers/space-view.ts';
import {
  type AcquisitionPoint,
  computePointValue,
  ranked,
  samplesInFlight,
  statedChance,
  type ValuedPoint,
} from './acquisition.ts';
import { firstPoint } from './candidate-levels.ts';
import { findPossibleGain, mostDoubtful, type PossibleGain, toCertificate } from './certificate.ts';
import { isSampled, listChoices } from './choices.ts';
import { covering } from './coverage.ts';
import { neighboursIn } from './joint-candidates.ts';
import { NOTHING, type Without } from './mechanisms.ts';
import { memoizeLast } from './memoize.ts';
import { ownLevel, worthStaying } from './own-levels.ts';
import type { PosteriorModel } from './posterior-model.ts';
import { predictedFront } from './predicted-front.ts';
import { nextOfRates, ratesByReplicas } from './rates-by-replicas.ts';
import {
  createSearchState,
  fitModels,
  largestImprovementIn,
  listMeasured,
  type QueueingOptions,
  type SearchState,
} from './search-state.ts';
import { stopReason, wasHardlyWorth } from './stopping-rule.ts';
import { trainingSubset } from './training-subset.ts';

const NONE_BETTER = 'no other candidate is likely to be better within the goal';
/**
 * Levels of a candidate with at least this share of its highest acquisition value count as equally
 * good.
 */
const ABOUT_AS_MUCH = 0.9;
/**
 * A feasible reading with a lower P(feasible) than this is a suspected false-feasible one: among
 * many noisy readings, the highest that kept a budget is often a lucky one.
 */
const MIN_CHANCE_OF_INCUMBENT = 1 / 3;
/** Levels of one trial, at most. */
const MAX_LEVELS = 4;

/**
 * Chooses what to measure with a model of Triton's queueing. Pure: the same seed and history give
 * the same answers.
 *
 * `ask` proposes a candidate and its first level:
 *
 * 1. **Candidates** (`choices.ts`): all of the space that were not tried and are not known to fail;
 *    a seeded sample of a large space. Of models that are tuned together the best of a sample by a
 *    bound (`joint-candidates.ts`), and the results of climbs (`local-search.ts`).
 * 2. **Service times** (`perfmodel/service-times.ts`): the execution time by batch size and busy
 *    instances, from the server's statistics. An affine fit in the batch size under interference,
 *    averaged over the interference models that explain the points (Bayesian model averaging:
 *    Hoeting and others, 1999); kernel-smoothed residual corrections for cliffs and steps; beyond
 *    the measured batches a device that fills up (`perfmodel/filling.ts`); and a factor for
 *    categorical settings, which a Gaussian process carries over to unseen combinations.
 * 3. **Simulation** (`perfmodel/batcher-model.ts`): every candidate's batcher in virtual time, with
 *    common random numbers; several models as one network (`perfmodel/network/network-model.ts`).
 *    An engine of a language model has continuous batching and a law of its steps instead of 2 and
 *    3 (`perfmodel/continuous/engine-model.ts`).
 * 4. **Correction** (`perfmodel/correction.ts`): for each figure a Gaussian process on the
 *    logarithm of measured over simulated (Rasmussen and Williams, 2006, algorithm 2.1), with the
 *    kernel of the highest evidence among several hypotheses.
 * 5. **Levels** (`candidate-levels.ts`): each candidate at coarse levels, up to where they become
 *    infeasible; the best at finer levels too.
 * 6. **Acquisition** (`posterior-model.ts`, `acquisition.ts`): expected improvement (Jones,
 *    Schonlau and Welch, 1998) where all constraints are met (Schonlau, Welch and Jones, 1998),
 *    with the correlation of throughput and latency (`constrained-improvement.ts`), over the square
 *    root of the trial's cost in seconds.
 * 7. **Exceptions**: values of categorical settings that were never measured, before the search
 *    ends (`coverage.ts`); loads that may fail (`load-feasibility.ts`).
 * 8. **Stop** (`stopping-rule.ts`): when another trial is expected to gain too little for its time,
 *    twice in a row.
 *
 * `level` returns another level of the running trial while that is worth more for its time than any
 * other candidate. `doubted` returns the suspected false-feasible readings: those that met the goal
 * although the model gives that a chance below one in three.
 *
 * @param space the parameters, and the candidate of each assignment.
 * @param options see `QueueingOptions`. docs/search.md says what the search reaches and what each
 * mechanism is worth, docs/reference/constants.md what each number means.
 */
export function queueingSampler(space: SpaceView, options: QueueingOptions): Sampler {
  const { without = NOTHING } = options;
  const searchOptions = { ...options, slowLoads: space.slowLoads };
  let listed: readonly Choice[] | undefined;
  const listNeighbours = neighboursIn(space);
  const fitTo = memoizeLast(
    (measured: readonly MeasuredChoice[]) => fitModels(listed ?? [], measured, options, space.expectedTime),
    (measured) =>
      measured.flatMap(({ choice, measurements }) => listParts({ candidate: choice.candidate, measurements })),
  );
  const stateAt = memoizeLast(
    (trials: readonly Trial[], running: RunningTrial | null, pending: readonly PendingTrial[]) => {
      listed ??= listChoices(space, options.seed);
      return createSearchState(listed, trials, running, fitTo, listNeighbours, searchOptions, pending);
    },
    (trials, running, pending) => [
      ...trials.flatMap(listParts),
      running === null,
      ...(running ? listParts(running) : []),
      ...pending.flatMap(({ candidate, level }) => [candidate, level?.value, level?.batch]),
    ],
  );
  const possibleGainAt = (trials: readonly Trial[], candidate: Candidate, level: LevelPoint): PossibleGain | string => {
    listed ??= listChoices(space, options.seed);
    const all = listed;
    if (isSampled(space)) return `the space has more than the ${all.length} configs that the search looks at`;
    const state = stateAt(trials, null, []);
    const fitToFirst = (count: number): PosteriorModel => {
      const training = trainingSubset(listMeasured(trials.slice(0, count)), options.goal);
      return fitModels(all, training, options, space.expectedTime).posterior;
    };
    const search = { ...searchOptions, all, trials, state, fitToFirst };
    return findPossibleGain(search, { choice: atClientBatch(toChoice(candidate), level.batch), level: level.value });
  };
  /** Continues a search until its certificate holds; stops it if none is to be reached. */
  const certifying = (state: SearchState, trials: readonly Trial[], reason: string): Proposal | Stop => {
    const { certify: wanted, goal } = options;
    const best = bestTrial(trials, goal);
    const level = best && findChosen(best)?.level;
    if (wanted === undefined || !best || !level) return { kind: 'stop', reason };
    const possible = possibleGainAt(trials, best.candidate, level);
    if (typeof possible === 'string') return { kind: 'stop', reason: `${reason}; no certificate: ${possible}` };
    if (possible.gain <= wanted) {
      const percent = formatFigure(100 * wanted);
      return { kind: 'stop', reason: `no config can be more than ${percent} % better than the best of the search` };
    }
    const doubtful = mostDoubtful(state.points, possible, wanted);
    if (doubtful) return toProposal(doubtful.choice, doubtful.level);
    return { kind: 'stop', reason: `${reason}; no certificate: nothing is left that could be measured for it` };
  };
  return {
    comesBack: !needsCapacity(options),
    ask({ trials, pending = [] }, { pace }) {
      const state = stateAt(trials, null, pending);
      const { left, points, best, posterior } = state;
      if (left.length === 0) return { kind: 'stop', reason: 'every candidate of the search space was tried' };
      const next = lowestAlike(ranked(points, best), without);
      const unseen = state.unseen.map(({ label }) => label);
      if (!next) return showing(state, trials) ?? certifying(state, trials, NONE_BETTER);
      const context = { ...options, pace, findsCapacities: needsCapacity(options) };
      // The stopping decision uses only known results, not expected ones.
      const gainAfter = (known: readonly Trial[]): number => largestImprovementIn(stateAt(known, null, []));
      if (
        best !== null &&
        trials.length > 1 &&
        wasHardlyWorth(trials, context, gainAfter) &&
        (pace === 'late' || wasHardlyWorth(trials.slice(0, -1), context, gainAfter))
      ) {
        const reason = stopReason(gainAfter(trials), trials, context, state.context.seconds(next.choice));
        return showing(state, trials) ?? certifying(state, trials, reason);
      }
      const proposal = {
        ...toProposal(next.choice, next.level),
        chance: statedChance(next.prediction.feasibleChance(1)),
        foreseen: predictedFront(points, posterior),
        unseen,
        ...(options.topology && withBottleneck(state, trials, options.goal)),
      };
      return best === null
        ? proposal
        : { ...proposal, expectedGain: Math.expm1(computePointValue(next, best, 1).improvement) };
    },
    level({ trials }, running) {
      if (needsCapacity(options)) return towardsCapacity(trials, running, options);
      const first = firstPoint(toChoice(running.candidate), options.levels);
      const searched = sinceRest(running, first);
      if (searched.length === 0) return first.batch === undefined ? first.value : first;
      if (searched.length >= MAX_LEVELS) return null;
      const others = trials.filter(({ number }) => number !== running.number);
      const state = stateAt(others, running, []);
      const isVisitedAgain = running.role === 'baseline' && others.length > 0;
      if (without.has('staying') && !isVisitedAgain) return null;
      return isVisitedAgain ? ownLevel(state, running, options.goal) : worthStaying(state, running, options.goal);
    },
    certify({ trials }, candidate, level) {
      return toCertificate(possibleGainAt(trials, candidate, level), listed?.length ?? 0);
    },
    doubted({ trials }) {
      if (without.has('false-feasible')) return [];
      const training = trainingSubset(listMeasured(trials), options.goal);
      const { posterior } = fitTo(training);
      // The best are among these. Predicting a whole long study would take minutes, and doubts
      // about the others change nothing.
      const known = new Set(training.flatMap(({ measurements }) => measurements));
      return trials.flatMap(({ number, candidate, measurements }) =>
        measurements.flatMap((measurement, reading) =>
          known.has(measurement) && isSuspectedFalseFeasible(measurement, candidate, posterior, options.goal)
            ? [{ trial: number, reading }]
            : [],
        ),
      );
    },
  };
}

/**
 * True if each candidate is to be measured up to its own best level. A candidate's cost is unknown
 * until its capacity is known: at a given rate, a server with spare capacity serves no more than it
 * is asked for.
 */
const needsCapacity = ({ goal, levels }: QueueingOptions): boolean =>
  levels.mode === 'request-rate' && followsFromThroughput(goal);

/**
 * Returns the next rate on the way to the candidate's highest within the goal; null if that is
 * found, or would not make it the best.
 */
function towardsCapacity(
  trials: readonly Trial[],
  running: RunningTrial,
  { goal, levels }: Pick<QueueingOptions, 'goal' | 'levels'>,
): number | null {
  const { number, candidate, measurements } = running;
  const others = trials.filter((trial) => trial.number !== number);
  const rates = ratesByReplicas(goal, levels, [...others, running]);
  if (rates) return nextOfRates(running, others, rates, goal);
  const outcomes = measurements.map((each) => ({
    level: each.level.value,
    ...assess(each, candidate, goalOfLevels(goal)),
  }));
  const next = nextLevel(outcomes, { range: levels });
  return next.kind === 'measure' ? next.level : null;
}

/** Returns the bottleneck of the best trial so far, at the level that represents it. */
function withBottleneck(
  { serviceModel }: SearchState,
  trials: readonly Trial[],
  goal: Goal,
): Pick<Proposal, 'bottleneck'> {
  const best = bestTrial(trials, goal);
  const level = best && findChosen(best)?.level;
  if (!best || !level) return {};
  const bottleneck = serviceModel.bottleneck?.(atClientBatch(toChoice(best.candidate), level.batch), level.value);
  return bottleneck ? { bottleneck: { trial: best.number, ...bottleneck } } : {};
}

/**
 * Returns the measurements of the search. The baseline's first reading, below the first level of a
 * search, shows the noise of the machine. Searches that continue from it alone find 2 % less (54
 * whole studies played offline).
 */
function sinceRest({ role, measurements }: RunningTrial, first: LevelPoint): readonly Measurement[] {
  const atRest = measurements[0]?.level ?? first;
  return role === 'baseline' && findInFlight(atRest) < findInFlight(first) ? measurements.slice(1) : measurements;
}

/**
 * True if a reading met the goal although the model, which was fitted to it too, gives that a
 * chance below one in three.
 */
function isSuspectedFalseFeasible(
  measurement: Measurement,
  candidate: Candidate,
  posterior: PosteriorModel,
  goal: Goal,
): boolean {
  if (!isFeasible(measurement, candidate, goal)) return false;
  const prediction = posterior.predict(
    atClientBatch(toChoice(candidate), measurement.level.batch),
    measurement.level.value,
  );
  return prediction !== null && prediction.feasibleChance(1) < MIN_CHANCE_OF_INCUMBENT;
}

/**
 * Returns the best point; of its candidate's levels that are about as good the lowest, which has
 * shorter latencies and is measured sooner.
 */
function lowestAlike(valued: readonly ValuedPoint[], without: Without): AcquisitionPoint | undefined {
  const [best] = valued;
  if (!best || without.has('lowest')) return best?.point;
  const { choice } = best.point;
  const alike = valued.filter(
    ({ point, acquisitionValue }) =>
      point.choice.candidate === choice.candidate && acquisitionValue >= ABOUT_AS_MUCH * best.acquisitionValue,
  );
  return alike
    .map(({ point }) => point)
    .reduce((lowest, each) => (samplesInFlight(each) < samplesInFlight(lowest) ? each : lowest));
}

/**
 * Lists everything of a trial that the models depend on. Each part is immutable, but a trial may
 * get more measurements.
 */
function listParts({ measurements, ...rest }: Pick<Trial, 'candidate' | 'measurements'> & Partial<Trial>): unknown[] {
  const { candidate, number, role, applied, chosen, feasible, failure } = rest;
  return [candidate, number, role, applied, chosen, feasible, failure, measurements.length, ...measurements];
}

/**
 * Builds a proposal. `start`: its first level; the sampler's own `firstLevel` where it is left out.
 */
function toProposal({ candidate, clientBatch }: Choice, start?: number): Proposal {
  const batch = clientBatch === null ? {} : { batch: clientBatch };
  const levels = start === undefined ? { kind: 'search' as const } : { kind: 'search' as const, start, ...batch };
  return { kind: 'trial', assignment: candidate.assignment, levels };
}

/**
 * Proposes a trial of settings values that were never measured, before the search ends by itself:
 * the best of the candidates with the most of them; where the model gives none a chance, the one
 * with the fewest instances, which is the likeliest to load.
 */
function showing({ unseen, left, points, best }: SearchState, trials: readonly Trial[]): Proposal | null {
  const able = new Set(covering(unseen, left, trials));
  if (able.size === 0) return null;
  const covers = new Set([...able].map(({ candidate }) => candidate));
  const next = ranked(
    points.filter(({ choice }) => covers.has(choice.candidate)),
    best,
  )[0]?.point;
  const fewest = [...able].reduce((least, each) => (each.policy.instances < least.policy.instances ? each : least));
  return {
    ...(next ? toProposal(next.choice, next.level) : toProposal(fewest)),
    unseen: unseen.map(({ label }) => label),
  };
}
