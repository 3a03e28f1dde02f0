import type { Candidate } from '../../space/types.ts';
import { assess } from '../goal.ts';
import { pruneReason } from '../pruning.ts';
import type { Goal, LevelRange, Proposal, RunningTrial, Sampler, Trial } from '../types.ts';
import { type Choice, choiceOf, choicesOf } from './queueing/choices.ts';
import { expenseOf } from './queueing/expense.ts';
import { firstLevel, isFarFrom } from './queueing/levels-of.ts';
import { type Forecast, forecastOf } from './queueing/outlook.ts';
import { type Measured, type Physics, physicsOf } from './queueing/physics.ts';
import {
  type Field,
  largestGain,
  type Prospect,
  prospectsOf,
  ranked,
  type Valued,
  worthOf,
} from './queueing/prospects.ts';
import { screened } from './queueing/screen.ts';
import type { SpaceView } from './space-view.ts';

export interface QueueingOptions {
  readonly seed: number;
  readonly goal: Goal;
  readonly levels: LevelRange;
}

/** Less than this, as a logarithm, is not worth a trial: 1 %. */
const WORTH_GOING_ON = Math.log(1.01);
/** An own best level is found when no other promises to better it by more than this. */
const WORTH_A_LEVEL = 0.03;
const WORTH_STAYING = 0.02;
const MOST_LEVELS = { baseline: 4, search: 4 };
/** Larger batches than this are for later. */
const SCOUT_BATCH = 32;
/** A level of the running trial spares a reload, and no other chance for it will come. */
const STAYING = 1;

/**
 * Chooses what to measure by a model of Triton's queueing: a service law fitted to all statistics by batch size so far, a
 * simulation of the batcher for every other candidate, a statistical correction of what that gets wrong, and the expected
 * improvement per time. Stops by itself when hardly any is expected. docs/search.md says how, and how well.
 */
export function queueingSampler(space: SpaceView, options: QueueingOptions): Sampler {
  let listed: readonly Choice[] | undefined;
  const understand = rememberLast((measured: readonly Measured[]) => modelOf(listed ?? [], measured, options));
  const sight = rememberLast((trials: readonly Trial[], running: RunningTrial | null) => {
    listed ??= choicesOf(space, options.seed);
    return look(listed, trials, running, understand, options);
  });
  return {
    ask({ trials }) {
      const { left, valued, best, gain, scout } = sight(trials, null);
      if (left === 0) return { kind: 'stop', reason: 'every candidate of the search space was tried' };
      if (scout) return proposalOf(scout.choice, scout.level);
      const next = valued[0]?.prospect;
      if (!next) return { kind: 'stop', reason: 'no further candidate can be told apart from those that were tried' };
      if (best !== null && gain < WORTH_GOING_ON && trials.length > 1) {
        if (sight(trials.slice(0, -1), null).gain < WORTH_GOING_ON) return { kind: 'stop', reason: stopReason(gain) };
      }
      const proposal = proposalOf(next.choice, next.level);
      return best === null ? proposal : { ...proposal, expectedGain: Math.expm1(gain) };
    },
    level({ trials }, running) {
      if (running.measurements.length === 0) return firstLevel(choiceOf(running.candidate), options.levels);
      if (running.measurements.length >= MOST_LEVELS[running.role]) return null;
      const view = sight(trials, running);
      return running.role === 'baseline' ? ownLevel(view, running, options) : worthStaying(view, running, options);
    },
  };
}

function proposalOf({ candidate }: Choice, start: number): Proposal {
  return { kind: 'trial', assignment: candidate.assignment, levels: { kind: 'search', start } };
}

function stopReason(gain: number): string {
  return `another trial is expected to gain ${(100 * gain).toFixed(1)} % of the best`;
}

/** All that is known at some moment, and what it says of the candidates not tried. */
interface Sight {
  readonly forecast: Forecast;
  readonly field: Field;
  /** Candidates that are left. */
  readonly left: number;
  /** The lowest cost, as the model sees it, of what was measured and met the goal. */
  readonly best: number | null;
  readonly valued: readonly Valued[];
  /** The largest gain that is expected of one trial. */
  readonly gain: number;
  readonly running: Choice | null;
  /** What shows the cost of batches, while nothing has. */
  readonly scout: { readonly choice: Choice; readonly level: number } | null;
}

interface Model {
  readonly physics: Physics;
  readonly forecast: Forecast;
}

function modelOf(
  all: readonly Choice[],
  measured: readonly Measured[],
  { goal, levels, seed }: QueueingOptions,
): Model {
  const physics = physicsOf(measured, { mode: levels.mode, percentile: goal.budget?.percentile ?? 99, seed });
  const longestDelayUs = Math.max(0, ...all.map(({ delayUs }) => delayUs));
  return { physics, forecast: forecastOf(physics, measured, goal, longestDelayUs) };
}

function look(
  all: readonly Choice[],
  trials: readonly Trial[],
  running: RunningTrial | null,
  understand: (measured: readonly Measured[]) => Model,
  { goal, levels, seed }: QueueingOptions,
): Sight {
  const tried = running ? [...trials, running] : trials;
  const measured = tried
    .filter(({ measurements }) => measurements.length > 0)
    .map(({ candidate, measurements }): Measured => ({ choice: choiceOf(candidate), measurements }));
  const { physics, forecast } = understand(measured);
  const expense = expenseOf(trials);
  const served = tried.at(-1)?.candidate ?? null;
  const placeKey = (choice: Choice, level: number): string =>
    `${choice.variant} ${forecast.placeOf(choice, level).coordinates.join(' ')}`;
  const known = new Set(
    measured.flatMap(({ choice, measurements }) => measurements.map(({ level }) => placeKey(choice, level.value))),
  );
  const field: Field = {
    forecast,
    range: levels,
    seconds: (choice) => expense.change(choice, served) + expense.measureSeconds,
    isKnown: (choice, level) => known.has(placeKey(choice, level)),
  };
  const best = lowestCost(measured, forecast, goal);
  const left = leftOver(all, tried, trials);
  const distinct = [...new Map(left.map((choice) => [choice.key, choice])).values()];
  const prospects = prospectsOf(screened(distinct, physics, goal, seed), field, best);
  const valued = ranked(prospects, best);
  return {
    forecast,
    field,
    left: left.length,
    best,
    valued,
    gain: best === null ? 1 : largestGain(prospects, best),
    running: running && choiceOf(running.candidate),
    scout: scoutOf(left, measured, levels),
  };
}

/**
 * A server whose statistics have only batches of one says nothing of larger ones. One measurement with room for large
 * batches, half filled so that they come in all sizes, shows more than several of small ones.
 */
function scoutOf(left: readonly Choice[], measured: readonly Measured[], range: LevelRange): Sight['scout'] {
  const first = measured[0];
  const batches = measured.flatMap(({ measurements }) => measurements.flatMap(({ server }) => server?.batches ?? []));
  if (!first || batches.length === 0 || batches.some(({ size }) => size > 1) || range.mode !== 'concurrency')
    return null;
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

/** What was neither tried nor must fail as a tried one did. */
function leftOver(
  all: readonly Choice[],
  tried: readonly { readonly candidate: Candidate }[],
  trials: readonly Trial[],
): Choice[] {
  const gone = new Set(tried.map(({ candidate }) => candidate.fingerprint));
  const failed = trials.filter(({ failure }) => failure !== null);
  return all.filter(
    ({ candidate }) =>
      !gone.has(candidate.fingerprint) && (failed.length === 0 || pruneReason(candidate, trials) === null),
  );
}

function lowestCost(measured: readonly Measured[], forecast: Forecast, goal: Goal): number | null {
  const costs = measured.flatMap(({ choice, measurements }) =>
    measurements.flatMap((measurement) => {
      const { feasible, cost } = assess(measurement, choice.candidate, goal);
      if (!feasible) return [];
      return [forecast.outlook(choice, measurement.level.value)?.cost.mean ?? cost];
    }),
  );
  return costs.length > 0 ? Math.min(...costs) : null;
}

/** The next level of the running trial by itself: what promises to better its own best. */
function ownLevel({ forecast, field }: Sight, running: RunningTrial, { goal }: QueueingOptions): number | null {
  const choice = choiceOf(running.candidate);
  const best = lowestCost([{ choice, measurements: running.measurements }], forecast, goal);
  const next = ranked(closeBy(choice, running, field, best, goal), best)[0];
  if (!next || (best !== null && worthOf(next.prospect, best, 1).gain < WORTH_A_LEVEL)) return null;
  return next.prospect.level;
}

/** Another level of the running trial, where that is worth more for its time than any other candidate. */
function worthStaying(
  { field, valued, best, running: choice }: Sight,
  running: RunningTrial,
  { goal }: QueueingOptions,
): number | null {
  if (!choice) return null;
  const next = ranked(closeBy(choice, running, field, best, goal), best)[0];
  if (!next) return null;
  const other = valued[0];
  if (best !== null && next.gain < WORTH_STAYING) return null;
  return other && next.merit < STAYING * other.merit ? null : next.prospect.level;
}

/** Levels that say something new: not beside a measured one, nor beyond one that was too slow already. */
function closeBy(
  choice: Choice,
  { measurements }: RunningTrial,
  field: Field,
  best: number | null,
  goal: Goal,
): Prospect[] {
  const measured = measurements.map(({ level }) => level.value);
  const late = measurements.filter(
    ({ budgetLatencyMs }) => goal.budget && budgetLatencyMs.value > goal.budget.latencyMs,
  );
  const tooSlow = Math.min(...late.map(({ level }) => level.value));
  // With a delay, more traffic that fills its batches can be faster than less.
  const filled = choice.delayUs === 0 ? 0 : choice.policy.instances * choice.largestBatch;
  const isSlower = (level: number): boolean => level > tooSlow && tooSlow >= filled;
  return prospectsOf(
    [choice],
    { ...field, isKnown: (_, level) => !isFarFrom(level, measured) || isSlower(level) },
    best,
  );
}

/** The last answers of a pure function; a resumed study computes them again. */
function rememberLast<A extends readonly unknown[], T>(compute: (...given: A) => T): (...given: A) => T {
  const kept = new Map<string, T>();
  return (...given) => {
    const key = JSON.stringify(given);
    const known = kept.get(key);
    if (known !== undefined) return known;
    const value = compute(...given);
    if (kept.size >= 3) kept.delete(kept.keys().next().value as string);
    kept.set(key, value);
    return value;
  };
}
