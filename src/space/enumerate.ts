import { TrituneError } from '../base/errors.ts';
import type { Random } from '../base/random.ts';
import type { ModelConfig } from '../triton/model-config.ts';
import { type BoundSpace, bindSpace, optionsIn, sceneOf } from './bound-space.ts';
import { configOf } from './candidate.ts';
import type { Assignment, ParameterValue, SearchSpace } from './types.ts';

/** Above so many combinations a space is not counted. */
export const countLimit = 50_000;
const drawLimit = 20_000;

/**
 * Every legal assignment that gives each parameter that applies a value, in a fixed order: the last parameter of the space varies
 * fastest, so that changes that the server makes in place come one after another.
 */
export function* assignments(space: SearchSpace, base: ModelConfig): Generator<Assignment> {
  const bound = bindSpace(space, base);
  for (const assignment of combinations(bound, 0, {})) if (isLegal(bound, assignment)) yield assignment;
}

/** How many assignments are legal; Infinity when there are more than 50 000 combinations to look at. */
export function spaceSize(space: SearchSpace, base: ModelConfig): number {
  const bound = bindSpace(space, base);
  let seen = 0;
  for (const _ of combinations(bound, 0, {})) {
    seen += 1;
    if (seen > countLimit) return Number.POSITIVE_INFINITY;
  }
  let legal = 0;
  for (const _ of assignments(space, base)) legal += 1;
  return legal;
}

/**
 * One legal assignment, each with the same chance. Parameters are drawn one by one; since assignments with fewer parameters would come
 * up too often that way, they are drawn anew in proportion (rejection sampling). Errors: SPACE_INVALID when none is found.
 */
export function sampleAssignment(space: SearchSpace, base: ModelConfig, random: Random): Assignment {
  const bound = bindSpace(space, base);
  for (let draw = 0; draw < drawLimit; draw += 1) {
    const assignment = drawOne(bound, random);
    if (assignment !== undefined && isLegal(bound, assignment)) return assignment;
  }
  return reservoirOf(bound, random);
}

function isLegal(bound: BoundSpace, assignment: Assignment): boolean {
  return Object.keys(assignment).length > 0 && 'config' in configOf(bound, assignment);
}

function* combinations(bound: BoundSpace, from: number, chosen: Assignment): Generator<Assignment> {
  const setting = bound.settings[from];
  if (setting === undefined) {
    yield chosen;
    return;
  }
  const options = optionsIn(setting, sceneOf(bound, chosen));
  if (options.length === 0) {
    yield* combinations(bound, from + 1, chosen);
    return;
  }
  for (const { value } of options) {
    yield* combinations(bound, from + 1, { ...chosen, [setting.parameter.name]: value });
  }
}

/** A draw in which each combination has the same chance, or undefined for a draw that does not count. */
function drawOne(bound: BoundSpace, random: Random): Assignment | undefined {
  const chosen: Record<string, ParameterValue> = {};
  let keep = 1;
  for (const setting of bound.settings) {
    const options = optionsIn(setting, sceneOf(bound, chosen));
    const most = Math.max(1, ...setting.cases.map((one) => one.options.length));
    keep *= Math.max(1, options.length) / most;
    const option = options[random.int(0, Math.max(0, options.length - 1))];
    if (option !== undefined) chosen[setting.parameter.name] = option.value;
  }
  return keep === 1 || random.float() < keep ? chosen : undefined;
}

/** For spaces where nearly every draw fails: one pass over all combinations, each legal one with the same chance. */
function reservoirOf(bound: BoundSpace, random: Random): Assignment {
  let kept: Assignment | undefined;
  let seen = 0;
  let legal = 0;
  for (const assignment of combinations(bound, 0, {})) {
    seen += 1;
    if (seen > countLimit) break;
    if (!isLegal(bound, assignment)) continue;
    legal += 1;
    if (random.int(1, legal) === 1) kept = assignment;
  }
  if (kept !== undefined) return kept;
  const reason = `the search space '${bound.space.name}' has no legal assignment for this model`;
  throw new TrituneError('SPACE_INVALID', reason, 'see `tritune space check`, or give another space with --space');
}
