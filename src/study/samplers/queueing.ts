import { type Choice, choiceOf } from '../../perfmodel/modelled-config.ts';
import type { Measured } from '../../perfmodel/simulator.ts';
import type { Measurement } from '../../profiler/measurement.ts';
import type { Candidate } from '../../space/types.ts';
import { assess, costHalfWidth, isFeasible } from '../goal.ts';
import { chosenOf } from '../ranking.ts';
import type { Goal, Proposal, Remaining, RunningTrial, Sampler, Trial } from '../types.ts';
import { choicesOf } from './queueing/choices.ts';
import { covering } from './queueing/coverage.ts';
import { foreseenFront } from './queueing/foreseen.ts';
import { firstLevel } from './queueing/levels-of.ts';
import { NOTHING, type Without } from './queueing/mechanisms.ts';
import { memorable } from './queueing/memory.ts';
import type { Forecast } from './queueing/outlook.ts';
import { ownLevel, worthStaying } from './queueing/own-levels.ts';
import { type Prospect, ranked, type Valued, worthOf } from './queueing/prospects.ts';
import { rememberLast } from './queueing/remember.ts';
import { gainIn, look, measuredOf, modelOf, type QueueingOptions, type Sight } from './queueing/sight.ts';
import type { SpaceView } from './space-view.ts';

const NONE_BETTER = 'none of the candidates left is likely to be better within the goal';
/** Less than this is not worth a trial, nor is it a gain. */
const LEAST_GAIN = 0.01;
/**
 * What the next trial must promise, times the trials so far: time is worth what it adds to the time spent. To take twice as
 * long, a search must expect a sixth of it.
 */
const WORTH_DOUBLING = 0.25;
/** What it must promise where the search takes longer than such searches do. */
const WORTH_BEING_LATE = 0.1;
/** Every so many trials in a row without a gain halve the belief in the next one's. */
const HALVED_AFTER = 2;
/** Levels of a candidate that promise at least this part of its best are about as good. */
const ABOUT_AS_MUCH = 0.9;
/** As a logarithm: no two figures are farther apart than numbers can be. */
const MOST_GAIN = Math.log(Number.MAX_VALUE) - Math.log(Number.MIN_VALUE);
/** What met the goal with less of a chance is held for luck: of many noisy readings the highest that kept a budget is often a lucky one. */
const LEAST_CHANCE_OF_BEST = 1 / 3;
/** Of one trial, whatever they promise. */
const MOST_LEVELS = 4;

/**
 * Chooses what to measure by a model of Triton's queueing: a service law fitted to all statistics by batch size so far, a
 * simulation of the batcher for every other candidate, a statistical correction of what that gets wrong, and the expected
 * improvement per time. Stops by itself when hardly any is expected. docs/search.md says how, and how well.
 */
export function queueingSampler(space: SpaceView, options: QueueingOptions): Sampler {
  const { without = NOTHING } = options;
  let listed: readonly Choice[] | undefined;
  const understand = rememberLast(
    (measured: readonly Measured[]) => modelOf(listed ?? [], measured, options),
    (measured) =>
      measured.flatMap(({ choice, measurements }) => partsOf({ candidate: choice.candidate, measurements })),
  );
  const sight = rememberLast(
    (trials: readonly Trial[], running: RunningTrial | null) => {
      listed ??= choicesOf(space, options.seed);
      return look(listed, trials, running, understand, options);
    },
    (trials, running) => [...trials.flatMap(partsOf), running === null, ...(running ? partsOf(running) : [])],
  );
  return {
    ask({ trials }, { pace }) {
      const view = sight(trials, null);
      const { left, prospects, best, scout, forecast } = view;
      if (left.length === 0) return { kind: 'stop', reason: 'every candidate of the search space was tried' };
      if (scout) return proposalOf(scout.choice, scout.level);
      const next = lowestAlike(ranked(prospects, best, without), without);
      const unseen = view.unseen.map(({ label }) => label);
      if (!next) return showing(view, trials) ?? { kind: 'stop', reason: NONE_BETTER };
      const hope = { ...options, pace };
      const gain = gainIn(view);
      const isLittle = best !== null && trials.length > 1 && isHardlyWorth(gain, trials, hope);
      if (
        isLittle &&
        (pace === 'late' || wasHardlyWorth(trials.slice(0, -1), hope, (before) => gainIn(sight(before, null))))
      )
        return showing(view, trials) ?? { kind: 'stop', reason: stopReason(gain, trials, hope) };
      const proposal = {
        ...proposalOf(next.choice, next.level),
        chance: next.outlook.met(1),
        foreseen: foreseenFront(prospects, forecast),
        unseen,
      };
      return best === null ? proposal : { ...proposal, expectedGain: Math.expm1(worthOf(next, best, 1).gain) };
    },
    level({ trials }, running) {
      const first = firstLevel(choiceOf(running.candidate), options.levels);
      const searched = sinceRest(running, first);
      if (searched.length === 0) return first;
      if (searched.length >= MOST_LEVELS) return null;
      const others = trials.filter(({ number }) => number !== running.number);
      const view = sight(others, running);
      const isVisitedAgain = running.role === 'baseline' && others.length > 0;
      if (without.has('staying') && !isVisitedAgain) return null;
      return isVisitedAgain ? ownLevel(view, running, options.goal) : worthStaying(view, running, options.goal);
    },
    doubted({ trials }) {
      if (without.has('luck')) return [];
      const measured = measuredOf(trials);
      const { forecast } = understand(memorable(measured, options.goal));
      return trials.flatMap(({ number, candidate, measurements }) =>
        measurements.flatMap((measurement, reading) =>
          isLuck(measurement, candidate, forecast, options.goal) ? [{ trial: number, reading }] : [],
        ),
      );
    },
  };
}

/**
 * Returns what was measured for the search. The original config's first reading, below the level at which a search begins, shows the noise of
 * the machine; to go on from it alone, instead of from that level, finds 2 % less (54 whole studies played offline).
 */
function sinceRest({ role, measurements }: RunningTrial, first: number): readonly Measurement[] {
  const atRest = measurements[0]?.level.value ?? first;
  return role === 'baseline' && atRest < first ? measurements.slice(1) : measurements;
}

/** It met the goal where the model, which knows this reading and those around it, holds that for unlikely. */
function isLuck(measurement: Measurement, candidate: Candidate, forecast: Forecast, goal: Goal): boolean {
  if (!isFeasible(measurement, candidate, goal)) return false;
  const outlook = forecast.outlook(choiceOf(candidate), measurement.level.value);
  return outlook !== null && outlook.met(1) < LEAST_CHANCE_OF_BEST;
}

/** The best; of its candidate's levels that promise about as much the lowest: it has shorter latencies, and is measured sooner. */
function lowestAlike(valued: readonly Valued[], without: Without): Prospect | undefined {
  const [best] = valued;
  if (!best || without.has('lowest')) return best?.prospect;
  const { choice } = best.prospect;
  const alike = valued.filter(
    ({ prospect, merit }) => prospect.choice === choice && merit >= ABOUT_AS_MUCH * best.merit,
  );
  return alike.map(({ prospect }) => prospect).reduce((lowest, each) => (each.level < lowest.level ? each : lowest));
}

/** All of a trial that a sampler looks at; what is in it never changes, but there may be more of it. */
function partsOf({ measurements, ...rest }: Pick<Trial, 'candidate' | 'measurements'> & Partial<Trial>): unknown[] {
  const { candidate, number, role, applied, chosen, feasible, failure } = rest;
  return [candidate, number, role, applied, chosen, feasible, failure, measurements.length, ...measurements];
}

/** `start`: the level to begin with; the sampler's own first one where it is left out. */
function proposalOf({ candidate }: Choice, start?: number): Proposal {
  const levels = start === undefined ? ({ kind: 'search' } as const) : ({ kind: 'search', start } as const);
  return { kind: 'trial', assignment: candidate.assignment, levels };
}

/**
 * A trial of values of settings that were never measured, before a search ends by itself: what a setting does is known of no other. The best of the
 * candidates that show most of them; where the model gives none of these a chance, the one with the fewest instances, which is the surest to load.
 */
function showing({ unseen, left, prospects, best }: Sight, trials: readonly Trial[]): Proposal | null {
  const able = new Set(covering(unseen, left, trials));
  if (able.size === 0) return null;
  const next = ranked(
    prospects.filter(({ choice }) => able.has(choice)),
    best,
  )[0]?.prospect;
  const fewest = [...able].reduce((least, each) => (each.policy.instances < least.policy.instances ? each : least));
  return {
    ...(next ? proposalOf(next.choice, next.level) : proposalOf(fewest)),
    unseen: unseen.map(({ label }) => label),
  };
}

/** By what a trial is held to be worth it: early in a search every gain is, and is believed in. */
type Hope = Pick<QueueingOptions, 'goal' | 'leastGain' | 'without'> & Pick<Remaining, 'pace'>;

/** A promise of gain is believed the less, the more trials in a row brought none. */
function isHardlyWorth(gain: number, trials: readonly Trial[], hope: Hope): boolean {
  const belief =
    hope.pace === 'early' || hope.without?.has('belief') ? 1 : 0.5 ** (fruitless(trials, hope.goal) / HALVED_AFTER);
  return gain * belief < worthATrial(trials, hope);
}

/** As a logarithm. */
function worthATrial({ length }: readonly Trial[], { leastGain, pace }: Hope): number {
  const forItsTime =
    pace === 'early' ? 0 : Math.max(pace === 'late' ? WORTH_BEING_LATE : 0, WORTH_DOUBLING / Math.max(1, length));
  return Math.log1p(leastGain ?? Math.max(LEAST_GAIN, forItsTime));
}

/** The same of an earlier moment, of which the gain is worked out only where it can matter. */
function wasHardlyWorth(trials: readonly Trial[], hope: Hope, gainAt: (trials: readonly Trial[]) => number): boolean {
  return isHardlyWorth(MOST_GAIN, trials, hope) || isHardlyWorth(gainAt(trials), trials, hope);
}

/**
 * The latest trials in a row that bettered the best before them by hardly anything, or by no more than chance may: on a noisy
 * server the best of many readings goes on rising. What was never served tells nothing of gains.
 */
function fruitless(trials: readonly Trial[], goal: Goal): number {
  let best = Number.POSITIVE_INFINITY;
  let count = 0;
  for (const trial of trials) {
    if (trial.failure !== null && trial.measurements.length === 0) continue;
    const measurement = trial.feasible ? chosenOf(trial) : undefined;
    const cost = measurement ? assess(measurement, trial.candidate, goal).cost : Number.POSITIVE_INFINITY;
    const uncertainty = measurement ? costHalfWidth(measurement, goal) : 0;
    count = cost < best - Math.max(Math.log1p(LEAST_GAIN), uncertainty) ? 0 : count + 1;
    best = Math.min(best, cost);
  }
  return count;
}

function stopReason(gain: number, trials: readonly Trial[], hope: Hope): string {
  const expected = `another trial is expected to gain ${(100 * gain).toFixed(1)} % of the best`;
  if (gain < Math.log1p(LEAST_GAIN)) return expected;
  if (gain < worthATrial(trials, hope)) return `${expected}, too little for its time after ${trials.length}`;
  return `${expected} at most, and the last ${fruitless(trials, hope.goal)} gained nothing`;
}
