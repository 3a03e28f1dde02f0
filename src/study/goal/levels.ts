import type { LevelRange } from '../types.ts';
import { type Assessment, compareAssessments } from './goal.ts';

/** The outcome at one level. */
export interface LevelOutcome extends Assessment {
  readonly level: number;
}

export interface LevelSearch {
  readonly range: LevelRange;
  /**
   * The level to begin at, likely near the best one. Without it the search begins at the low end.
   */
  readonly hint?: number;
}

export type NextLevel =
  | { readonly kind: 'measure'; readonly level: number }
  | { readonly kind: 'done'; readonly reason: string };

/**
 * Two doublings that improve the cost by less than this show saturation: ln 1.05, 5 % of
 * throughput.
 */
const SATURATED = Math.log(1.05);
/** A level beyond the limit that would gain less than this is not worth bisecting towards: 2 %. */
const WORTH_BISECTING = Math.log(1.02);
/** Levels this close in cost are alike, and the lowest of them is chosen: 1 %. */
const ALIKE = Math.log(1.01);
/** A bracket is narrow enough when its width is at most this share of its lower end. */
const TOLERANCE = 1 / 8;
/** The farthest that one miss may send the search down. */
const MAX_STEP_DOWN = 8;

/**
 * The level to measure next, given those measured, or why the search is over. Pure: the state is
 * the outcomes.
 *
 * Doubles from the start while the goal is met and the cost falls, goes down when it is not met,
 * then bisects the bracket between the last level that meets the goal and the first that does not.
 * Each level is measured once, so it ends whatever the outcomes are.
 */
export function nextLevel(outcomes: readonly LevelOutcome[], search: LevelSearch): NextLevel {
  const { low, high } = search.range;
  if (outcomes.length === 0) return measure(clamp(search.hint ?? low, search.range), search.range);
  const tried = [...outcomes].sort((a, b) => a.level - b.level);
  const step = tried.some((outcome) => outcome.feasible) ? improve(tried, search.range) : approach(tried, search.range);
  const known = step.kind === 'measure' && tried.some((outcome) => outcome.level === step.level);
  if (known) return done(step.level >= high || step.level <= low ? 'the end of the range' : 'the bracket is narrow');
  return step;
}

/** Returns the index of the outcome that the candidate stands for; null without outcomes. */
export function chooseLevel(outcomes: readonly LevelOutcome[]): number | null {
  const best = [...outcomes].sort(compareAssessments)[0];
  if (!best) return null;
  const alike = best.feasible ? outcomes.filter((each) => each.feasible && each.cost <= best.cost + ALIKE) : [best];
  const chosen = alike.reduce((lowest, each) => (each.level < lowest.level ? each : lowest));
  return outcomes.indexOf(chosen);
}

/**
 * Nothing meets the goal yet: walk to the level with the smallest violation, down first, because
 * traffic is what costs latency.
 */
function approach(tried: readonly LevelOutcome[], range: LevelRange): NextLevel {
  const nearest = tried.reduce((least, each) => (each.violation < least.violation ? each : least));
  const index = tried.indexOf(nearest);
  if (index === 0 && nearest.level > range.low) return measure(stepDown(nearest, range), range);
  if (index === tried.length - 1 && nearest.level < range.high) return measure(doubled(nearest.level, range), range);
  return done('no level meets the goal');
}

/**
 * Something meets the goal: go up while it pays, or down while that pays, then narrow the bracket.
 */
function improve(tried: readonly LevelOutcome[], range: LevelRange): NextLevel {
  const feasible = tried.filter((outcome) => outcome.feasible);
  const [bottom, top] = [feasible[0] as LevelOutcome, feasible.at(-1) as LevelOutcome];
  const wall = tried.find((outcome) => outcome.level > top.level);
  const flat = !wall && saturated(tried, top);
  if (!wall && !flat && top.level < range.high) return measure(doubled(top.level, range), range);
  if (wall && wall.cost < lowestCost(feasible) - WORTH_BISECTING) return bisect(top, wall, range);
  return (
    improveDown(tried, bottom, lowestCost(feasible), range) ??
    done(wall ? 'the constraints' : flat ? 'saturation' : 'the end of the range')
  );
}

/**
 * Serves goals that want as little traffic as the constraints allow, such as the lowest latency at
 * a required rate.
 */
function improveDown(
  tried: readonly LevelOutcome[],
  bottom: LevelOutcome,
  lowest: number,
  range: LevelRange,
): NextLevel | null {
  const floor = tried.filter((outcome) => outcome.level < bottom.level).at(-1);
  if (bottom.cost > lowest) return null;
  if (floor) return floor.cost < bottom.cost - WORTH_BISECTING ? bisect(floor, bottom, range) : null;
  const above = tried[1];
  const pays = above !== undefined && above.cost > bottom.cost + SATURATED;
  return pays && bottom.level > range.low ? measure(bottom.level / 2, range) : null;
}

/** True when the two doublings up to `top` have improved the cost by less than 5 %. */
function saturated(tried: readonly LevelOutcome[], top: LevelOutcome): boolean {
  const before = tried.filter((outcome) => outcome.level <= top.level / 4);
  const since = tried.filter((outcome) => outcome.level > top.level / 4 && outcome.level <= top.level);
  return before.length > 0 && lowestCost(since) > lowestCost(before) - SATURATED;
}

/** Halfway; by ratio when the bracket is wider than one doubling. */
function bisect(lower: LevelOutcome, upper: LevelOutcome, range: LevelRange): NextLevel {
  const width = upper.level - lower.level;
  const tolerance = lower.level * TOLERANCE;
  if (width <= (range.mode === 'concurrency' ? Math.max(1, tolerance) : tolerance))
    return done('the bracket is narrow');
  const wide = upper.level > 2 * lower.level;
  return measure(wide ? Math.sqrt(lower.level * upper.level) : (lower.level + upper.level) / 2, range);
}

/**
 * In a closed loop latency grows about as the level does, so a miss by a factor asks for a level
 * lower by that factor.
 */
function stepDown(outcome: LevelOutcome, range: LevelRange): number {
  return clamp(Math.floor(outcome.level / Math.min(MAX_STEP_DOWN, Math.max(2, 1 + outcome.violation))), range);
}

function doubled(level: number, range: LevelRange): number {
  return Math.min(range.high, level * 2);
}

function measure(level: number, range: LevelRange): NextLevel {
  const whole = range.mode === 'concurrency' ? Math.round(level) : Number(level.toPrecision(3));
  return { kind: 'measure', level: clamp(whole, range) };
}

const done = (reason: string): NextLevel => ({ kind: 'done', reason });

const clamp = (level: number, { low, high }: LevelRange): number => Math.min(high, Math.max(low, level));

const lowestCost = (outcomes: readonly LevelOutcome[]): number => Math.min(...outcomes.map((outcome) => outcome.cost));
