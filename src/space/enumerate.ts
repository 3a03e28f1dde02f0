import { TrituneError } from '#base/errors.ts';
import type { Random } from '#base/random.ts';
import { allBindings, type BoundSpace, bindSpace } from './bound-space.ts';
import { toConfig } from './candidate.ts';
import { allowedOptions, type Narrowing } from './narrowing.ts';
import { optionsFor } from './options.ts';
import type { Assignment, Candidate, ParameterValue, SearchSpace } from './types.ts';

/** The most combinations up to which a space is counted. */
export const countLimit = 50_000;
const drawLimit = 20_000;
/**
 * Samplers list a space, then draw from it again and again; checking whether an assignment is legal
 * requires building its config.
 */
const MAX_KNOWN = 10_000;
const legality = new WeakMap<BoundSpace, Map<string, boolean>>();

/**
 * Yields every legal assignment that gives each parameter that applies a value, in a fixed order:
 * the last parameter of the space varies fastest, so that changes that the server makes in place
 * are consecutive. Leaves out those that the narrowing rules out.
 */
export function* assignments(space: SearchSpace, base: Candidate, narrowing: Narrowing = {}): Generator<Assignment> {
  const bound = bindSpace(space, base);
  for (const assignment of combinations(bound, narrowing)) if (isLegal(bound, assignment)) yield assignment;
}

/**
 * Returns the number of assignments that are legal and not ruled out; Infinity if there are more
 * than `limit` combinations to check.
 */
export function spaceSize(
  space: SearchSpace,
  base: Candidate,
  narrowing: Narrowing = {},
  limit: number = countLimit,
): number {
  const bound = bindSpace(space, base);
  let seen = 0;
  for (const _ of combinations(bound, narrowing)) {
    seen += 1;
    if (seen > limit) return Number.POSITIVE_INFINITY;
  }
  let legal = 0;
  for (const _ of assignments(space, base, narrowing)) legal += 1;
  return legal;
}

/**
 * Returns one legal assignment, each with the same chance. Parameters are drawn one by one.
 * Assignments with fewer parameters would be too frequent that way, so they are redrawn in
 * proportion (rejection sampling). Leaves out those that the narrowing rules out. Errors:
 * SPACE_INVALID when none is found.
 */
export function sampleAssignment(
  space: SearchSpace,
  base: Candidate,
  random: Random,
  narrowing: Narrowing = {},
): Assignment {
  const bound = bindSpace(space, base);
  for (let draw = 0; draw < drawLimit; draw += 1) {
    const assignment = drawOne(bound, narrowing, random);
    if (assignment !== undefined && isLegal(bound, assignment)) return assignment;
  }
  return createReservoir(bound, narrowing, random);
}

function isLegal(bound: BoundSpace, assignment: Assignment): boolean {
  const known = legality.get(bound) ?? new Map<string, boolean>();
  legality.set(bound, known);
  const key = JSON.stringify(assignment);
  const legal = known.get(key) ?? (Object.keys(assignment).length > 0 && 'config' in toConfig(bound, assignment));
  if (known.size < MAX_KNOWN) known.set(key, legal);
  return legal;
}

function* combinations(
  bound: BoundSpace,
  narrowing: Narrowing,
  from = 0,
  chosen: Assignment = {},
): Generator<Assignment> {
  const parameter = bound.space.parameters[from];
  if (parameter === undefined) {
    yield chosen;
    return;
  }
  const { name } = parameter;
  const options = optionsFor(bound, name, chosen);
  if (options.length === 0) {
    yield* combinations(bound, narrowing, from + 1, chosen);
    return;
  }
  // A parameter that applies but has no value left is a dead end: it must not fall back to the base
  // config's own.
  for (const { value } of allowedOptions(narrowing, name, options)) {
    yield* combinations(bound, narrowing, from + 1, { ...chosen, [name]: value });
  }
}

/**
 * Returns a draw in which each combination has the same chance, or undefined for a draw that does
 * not count.
 */
function drawOne(bound: BoundSpace, narrowing: Narrowing, random: Random): Assignment | undefined {
  const chosen: Record<string, ParameterValue> = {};
  const most = mostOptions(bound, narrowing);
  // A draw that is dropped is dropped at the first parameter that decides it.
  const luck = random.float();
  let keep = 1;
  for (const { name } of bound.space.parameters) {
    const possible = optionsFor(bound, name, chosen);
    const options = allowedOptions(narrowing, name, possible);
    if (options.length === 0 && possible.length > 0) return undefined;
    keep *= Math.max(1, options.length) / (most.get(name) ?? 1);
    if (keep <= luck) return undefined;
    const option = options[random.int(0, Math.max(0, options.length - 1))];
    if (option !== undefined) chosen[name] = option.value;
  }
  return chosen;
}

const mostKnown = new WeakMap<BoundSpace, WeakMap<Narrowing, ReadonlyMap<string, number>>>();

/** Returns the largest number of options that each parameter has in any case; memoized. */
function mostOptions(bound: BoundSpace, narrowing: Narrowing): ReadonlyMap<string, number> {
  const byNarrowing = mostKnown.get(bound) ?? new WeakMap<Narrowing, ReadonlyMap<string, number>>();
  mostKnown.set(bound, byNarrowing);
  const before = byNarrowing.get(narrowing);
  if (before) return before;
  const bindings = allBindings(bound);
  const most = new Map(
    bound.space.parameters.map(({ name }) => {
      const cases = bindings.flatMap(({ byName }) => byName.get(name)?.cases ?? []);
      return [name, Math.max(1, ...cases.map((one) => allowedOptions(narrowing, name, one.options).length))];
    }),
  );
  byNarrowing.set(narrowing, most);
  return most;
}

/**
 * For spaces in which nearly every draw fails: one pass over all combinations, each legal one with
 * the same chance.
 */
function createReservoir(bound: BoundSpace, narrowing: Narrowing, random: Random): Assignment {
  let kept: Assignment | undefined;
  let seen = 0;
  let legal = 0;
  for (const assignment of combinations(bound, narrowing)) {
    seen += 1;
    if (seen > countLimit) break;
    if (!isLegal(bound, assignment)) continue;
    legal += 1;
    if (random.int(1, legal) === 1) kept = assignment;
  }
  if (kept !== undefined) return kept;
  const reason = `the search space '${bound.space.name}' has no valid candidate for this model`;
  throw new TrituneError('SPACE_INVALID', reason, 'run `tritune space check FILE`, or give another --space');
}
