import type { Choice } from '../../../perfmodel/modelled-config.ts';
import type { LevelRange } from '../../types.ts';
import { coarseLevels, fineLevels } from './levels-of.ts';
import { NOTHING, type Without } from './mechanisms.ts';
import type { Forecast, Outlook } from './outlook.ts';

/** A choice at a level that could be measured next. */
export interface Prospect {
  readonly choice: Choice;
  readonly level: number;
  readonly outlook: Outlook;
  /** What measuring it would take, in seconds. */
  readonly seconds: number;
}

/** What a prospect is worth: by how much it betters the best on average, as a logarithm. */
export interface Valued {
  readonly prospect: Prospect;
  readonly gain: number;
  /** `gain` with its cost counted: what prospects are compared by. */
  readonly merit: number;
}

/** Gains of prospects with a lower chance than this of meeting the goal do not count: throughput spans decades, chances do not. */
const LEAST_CHANCE = 0.06;
/** A gain below this in every prospect says that the uncertainty is too small, not that all is found. */
const WORTH_A_TRIAL = 0.01;
const INFLATIONS = [1, 2, 4];
const WIDEST = 4;
const CAUTIOUS = 2;
/** Two levels in a row with so little hope, or hardly better than the one before, end the way up. */
const HOPELESS = 0.02;
const NO_BETTER = 0.01;
/** How much time counts: 0 not at all, 1 as gain per second. */
const TIME_EXPONENT = 0.5;
/** How many of the best at coarse levels are looked at closely. */
const LOOKED_AT_CLOSELY = 24;
/** From here on a chance counts as good while nothing meets the goal yet. */
const GOOD_CHANCE = 0.5;

/** The best prospects first; `best` is the cost to beat, null while nothing meets the goal. */
export function ranked(prospects: readonly Prospect[], best: number | null, without: Without = NOTHING): Valued[] {
  const valued = best === null ? firstToMeet(prospects) : improving(prospects, best, without);
  return valued.sort((a, b) => b.merit - a.merit || a.prospect.level - b.prospect.level);
}

/** With the chances as they are, then as they would be if the model knew less than it thinks. */
function improving(prospects: readonly Prospect[], best: number, without: Without): Valued[] {
  const able = prospects.filter(({ outlook }) => outlook.met(1) >= LEAST_CHANCE);
  for (const inflation of INFLATIONS) {
    const valued = able.map((prospect) => worthOf(prospect, best, inflation));
    if (without.has('inflation') || valued.some(({ gain }) => gain >= WORTH_A_TRIAL)) return valued;
  }
  return prospects
    .filter(({ outlook }) => outlook.met(WIDEST) >= LEAST_CHANCE)
    .map((prospect) => worthOf(prospect, best, WIDEST));
}

/** The largest gain that is expected of one of them, by a model that knows less than it thinks. */
export function largestGain(prospects: readonly Prospect[], best: number): number {
  const able = prospects.filter(({ outlook }) => outlook.met(CAUTIOUS) >= LEAST_CHANCE);
  return Math.max(0, ...able.map((prospect) => worthOf(prospect, best, CAUTIOUS).gain));
}

export function worthOf(prospect: Prospect, best: number, inflation: number): Valued {
  const gain = prospect.outlook.gain(best, inflation);
  return { prospect, gain, merit: gain / prospect.seconds ** TIME_EXPONENT };
}

/** Nothing meets the goal yet: the best of what probably does, else what most probably does. */
function firstToMeet(prospects: readonly Prospect[]): Valued[] {
  const chances = prospects.map(({ outlook }) => outlook.met(1));
  const good = prospects.filter((_, index) => (chances[index] as number) >= GOOD_CHANCE);
  if (good.length === 0)
    return prospects.map((prospect, index) => {
      const gain = chances[index] as number;
      return { prospect, gain, merit: gain };
    });
  const worst = Math.max(...good.map(({ outlook }) => outlook.cost.mean));
  return good.map((prospect) => ({
    prospect,
    gain: GOOD_CHANCE,
    merit: worst - prospect.outlook.cost.mean,
  }));
}

export interface Field {
  readonly forecast: Forecast;
  readonly range: LevelRange;
  /** To put it on the server and to measure it. */
  seconds(choice: Choice): number;
  /** The same was measured already, as far as can be told. */
  isKnown(choice: Choice, level: number): boolean;
  /** So few requests in flight cannot better the best with this choice: it need not be simulated. */
  isTooLow(choice: Choice, level: number): boolean;
  readonly without: Without;
}

/** The choices at their coarse levels, and the best of them at levels around their best. */
export function prospectsOf(choices: readonly Choice[], field: Field, best: number | null): Prospect[] {
  const coarse = choices.flatMap((choice) => upTheLevels(choice, field));
  const seen = new Map<Choice, number>();
  for (const { prospect } of ranked(coarse, best, field.without)) {
    if (seen.size >= LOOKED_AT_CLOSELY) break;
    if (!seen.has(prospect.choice)) seen.set(prospect.choice, prospect.level);
  }
  const fine = [...seen].flatMap(([choice, level]) => {
    const known = coarseLevels(choice, field.range);
    return at(
      choice,
      fineLevels(choice, level, field.range, field.without).filter((each) => !known.includes(each)),
      field,
    );
  });
  return [...coarse, ...fine];
}

/** A level is simulated only while those before it leave hope for it. */
function upTheLevels(choice: Choice, field: Field): Prospect[] {
  const prospects: Prospect[] = [];
  let before: Outlook | null = null;
  let worse = 0;
  for (const level of coarseLevels(choice, field.range)) {
    if (field.isTooLow(choice, level)) continue;
    const outlook = field.forecast.outlook(choice, level);
    if (outlook === null) continue;
    const isBetter =
      before === null || outlook.cost.mean < before.cost.mean - NO_BETTER || outlook.met(1) > before.met(1);
    worse = isBetter && outlook.met(WIDEST) >= HOPELESS ? 0 : worse + 1;
    before = outlook;
    if (!field.isKnown(choice, level)) prospects.push({ choice, level, outlook, seconds: field.seconds(choice) });
    if (worse >= 2) break;
  }
  return prospects;
}

function at(choice: Choice, levels: readonly number[], { forecast, seconds, isKnown }: Field): Prospect[] {
  return levels.flatMap((level) => {
    if (isKnown(choice, level)) return [];
    const outlook = forecast.outlook(choice, level);
    return outlook ? [{ choice, level, outlook, seconds: seconds(choice) }] : [];
  });
}
