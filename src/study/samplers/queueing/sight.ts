import { type Choice, choiceOf } from '../../../perfmodel/modelled-config.ts';
import { type Measured, type Simulator, simulatorOf } from '../../../perfmodel/simulator.ts';
import type { Candidate } from '../../../space/types.ts';
import { assess, isFeasible } from '../../goal.ts';
import { pruneReason } from '../../pruning.ts';
import type { Goal, LevelRange, RunningTrial, Trial } from '../../types.ts';
import { type SettingValue, settingValues, unseenValues } from './coverage.ts';
import { expenseOf } from './expense.ts';
import { NOTHING, type Without } from './mechanisms.ts';
import { memorable } from './memory.ts';
import { type Forecast, forecastOf } from './outlook.ts';
import { type Field, largestGain, type Prospect, prospectsOf } from './prospects.ts';
import { withRefusals } from './refusals.ts';
import { screened } from './screen.ts';

export interface QueueingOptions {
  readonly seed: number;
  readonly goal: Goal;
  readonly levels: LevelRange;
  /** A share of the best: the search stops when another trial is expected to gain less. When not given, the more the fewer trials there were. */
  readonly leastGain?: number | undefined;
  /** Left out, to see what it is worth. */
  readonly without?: Without | undefined;
}

/** Larger batches than this are for later. */
const SCOUT_BATCH = 32;
/** A scout that found no larger batches is sent once. */
const TRIALS_BEFORE_SCOUT = 1;

/** The chance of a reading that met the goal counts for no less. */
const LEAST_COUNTED = 0.01;
/** With so much of a chance a search may end with it. */
const SURE_ENOUGH = 2 / 3;
/** What serves less than this part of the best cannot turn out to be better: corrections are smaller. */
const LEAST_OF_BEST = 0.5;
/** Of one candidate, at levels that the model proposes one after another. */
const MOST_TRIALS_OF_ONE = 3;

/** All that is known at some moment, and what it says of the candidates not tried. */
export interface Sight {
  readonly forecast: Forecast;
  readonly field: Field;
  /** Candidates that are left. */
  readonly left: readonly Choice[];
  /** Values of settings that no measurement shows, and some of these candidates have. */
  readonly unseen: readonly SettingValue[];
  /** The cost to better; each counts for the more, the less likely it truly met the goal: luck must not keep better ones from being tried. */
  readonly best: number | null;
  /** The same, most of it taken at its word, as a final reads it again anyway: what going on must better to be worth its time. */
  readonly found: number | null;
  readonly prospects: readonly Prospect[];
  readonly running: Choice | null;
  /** What shows the cost of batches, while nothing has. */
  readonly scout: { readonly choice: Choice; readonly level: number } | null;
}

export interface Model {
  readonly simulator: Simulator;
  readonly forecast: Forecast;
}

/** Fits the simulator and its correction to what was measured. */
export function modelOf(
  all: readonly Choice[],
  measured: readonly Measured[],
  { goal, levels, seed, without }: QueueingOptions,
): Model {
  const simulator = simulatorOf(measured, {
    mode: levels.mode,
    percentile: goal.budget?.percentile ?? 99,
    seed,
    without,
  });
  const longestDelayUs = Math.max(0, ...all.map(({ delayUs }) => delayUs));
  return { simulator, forecast: forecastOf(simulator, measured, goal, longestDelayUs, without) };
}

/** Everything that the trials say, those that are over and the one under way. */
export function look(
  all: readonly Choice[],
  trials: readonly Trial[],
  running: RunningTrial | null,
  understand: (measured: readonly Measured[]) => Model,
  { goal, levels, seed, without = NOTHING }: QueueingOptions,
): Sight {
  const tried = running ? [...trials, running] : trials;
  const measured = measuredOf(tried);
  const remembered = memorable(measured, goal);
  const { simulator, forecast } = understand(remembered);
  const expense = expenseOf(trials);
  const served = tried.at(-1)?.candidate ?? null;
  const placeKey = (choice: Choice, level: number): string =>
    `${choice.variant} ${forecast.placeOf(choice, level).coordinates.join(' ')}`;
  const known = knownPlaces(measured, placeKey, goal, without);
  const { best, found } = lowestCosts(remembered, forecast, goal, without);
  const field: Field = {
    forecast: withRefusals(forecast, remembered, trials, without),
    range: levels,
    seconds: (choice) => (without.has('time') ? 1 : expense.change(choice, served) + expense.measureSeconds),
    isKnown: (choice, level) => known.has(placeKey(choice, level)),
    isTooLow: tooLow(simulator, remembered, goal, best),
    without,
  };
  const left = leftOver(all, tried, trials);
  const again = running || without.has('returning') ? [] : worthReturning(all, trials);
  const distinct = [...new Map([...left, ...again].map((choice) => [choice.key, choice])).values()];
  const prospects = prospectsOf(screened(distinct, simulator, goal, seed), field, best);
  return {
    forecast,
    field,
    left,
    unseen: without.has('coverage') ? [] : unseenValues(settingValues(all), measured, left, trials),
    best,
    found,
    prospects,
    running: running && choiceOf(running.candidate),
    scout: without.has('scout') ? null : scoutOf(left, measured, levels),
  };
}

/** Those with measurements, as models take them. */
export const measuredOf = (tried: readonly Pick<Trial, 'candidate' | 'measurements'>[]): Measured[] =>
  tried
    .filter(({ measurements }) => measurements.length > 0)
    .map(({ candidate, measurements }) => ({ choice: choiceOf(candidate), measurements }));

/** Places that need no other measurement. One that missed the goal may have had bad luck: the model says what it holds of that. */
function knownPlaces(
  measured: readonly Measured[],
  keyOf: (choice: Choice, level: number) => string,
  goal: Goal,
  without: Without,
): ReadonlySet<string> {
  const readings = measured.flatMap(({ choice, measurements }) =>
    measurements.map((measurement) => ({
      key: keyOf(choice, measurement.level.value),
      isMissed: !without.has('repeating') && !isFeasible(measurement, choice.candidate, goal),
    })),
  );
  const places = [...Map.groupBy(readings, ({ key }) => key)];
  return new Set(places.filter(([, own]) => own.length > 1 || !own[0]?.isMissed).map(([key]) => key));
}

/**
 * Tells levels at which a choice could not even serve half of the best, by the model and by the most that was seen of a request in
 * flight: much of what a search for throughput would simulate.
 */
function tooLow(
  simulator: Simulator,
  measured: readonly Measured[],
  goal: Goal,
  best: number | null,
): Field['isTooLow'] {
  const [only, ...others] = goal.objectives;
  if (only?.metric !== 'throughput' || others.length > 0 || best === null) return () => false;
  const least = LEAST_OF_BEST * Math.exp(-best);
  const seen = measured.flatMap(({ measurements }) =>
    measurements.map((each) => each.throughput.value / each.level.value),
  );
  const mostOfOne = Math.max(0, ...seen);
  return (choice, level) => {
    const predicted = simulator.mostThroughput(choice, level) * Math.exp(simulator.uncertaintyAt(choice, 1));
    return Math.max(predicted, mostOfOne * level) < least;
  };
}

/** The largest gain that is expected of one trial. */
export const gainIn = ({ prospects, found }: Sight): number => (found === null ? 1 : largestGain(prospects, found));

/**
 * A server whose statistics have only batches of one says nothing of larger ones. One measurement with room for large
 * batches, half filled so that they come in all sizes, shows more than several of small ones.
 */
function scoutOf(left: readonly Choice[], measured: readonly Measured[], range: LevelRange): Sight['scout'] {
  const first = measured[0];
  if (!first || measured.length > TRIALS_BEFORE_SCOUT || range.mode !== 'concurrency') return null;
  const batches = measured.flatMap(({ measurements }) => measurements.flatMap(({ server }) => server?.batches ?? []));
  if (batches.length === 0 || batches.some(({ size }) => size > 1)) return null;
  const able = left.filter(({ variant, largestBatch }) => variant === first.choice.variant && largestBatch > 1);
  const apart = ({ policy }: Choice): number => Math.abs(policy.instances - first.choice.policy.instances);
  const choice = [...able].sort(
    (a, b) => apart(a) - apart(b) || distanceTo(SCOUT_BATCH, a) - distanceTo(SCOUT_BATCH, b) || a.delayUs - b.delayUs,
  )[0];
  if (!choice) return null;
  const level = Math.max(2, Math.round((choice.policy.instances * choice.largestBatch) / 2));
  return { choice, level: Math.min(range.high, Math.max(range.low, level)) };
}

const distanceTo = (batch: number, { largestBatch }: Choice): number => Math.abs(Math.log2(largestBatch / batch));

/** What was neither tried nor must fail by what was tried. */
function leftOver(
  all: readonly Choice[],
  tried: readonly { readonly candidate: Candidate }[],
  trials: readonly Trial[],
): Choice[] {
  const gone = new Set(tried.map(({ candidate }) => candidate.fingerprint));
  return all.filter(({ candidate }) => !gone.has(candidate.fingerprint) && pruneReason(candidate, trials) === null);
}

/**
 * What was left at one level, because another candidate promised more, may be the best at another level by what was
 * learned since. Whatever failed, or was returned to a few times, is not.
 */
function worthReturning(all: readonly Choice[], trials: readonly Trial[]): Choice[] {
  const byCandidate = Map.groupBy(trials, ({ candidate }) => candidate.fingerprint);
  return all.filter(({ candidate }) => {
    const own = byCandidate.get(candidate.fingerprint) ?? [];
    return own.length > 0 && own.length < MOST_TRIALS_OF_ONE && own.every(({ failure }) => failure === null);
  });
}

/** The lowest costs of what met the goal, as the model sees them; null where nothing did. */
export function lowestCosts(
  measured: readonly Measured[],
  forecast: Forecast,
  goal: Goal,
  without: Without = NOTHING,
): Pick<Sight, 'best' | 'found'> {
  const costs = measured.flatMap(({ choice, measurements }) =>
    measurements.flatMap((measurement) => {
      if (!isFeasible(measurement, choice.candidate, goal)) return [];
      const outlook = forecast.outlook(choice, measurement.level.value);
      if (!outlook || without.has('luck'))
        return [{ cost: assess(measurement, choice.candidate, goal).cost, chance: 1 }];
      return [{ cost: outlook.cost.mean, chance: Math.max(LEAST_COUNTED, outlook.met(1)) }];
    }),
  );
  if (costs.length === 0) return { best: null, found: null };
  return {
    best: Math.min(...costs.map(({ cost, chance }) => cost - Math.log(chance))),
    found: Math.min(...costs.map(({ cost, chance }) => (chance < SURE_ENOUGH ? cost - Math.log(chance) : cost))),
  };
}
