import { canonicalJson } from '#base/json.ts';
import { lookUp } from '#base/look-up.ts';
import type { Assignment, ParameterOption, ParameterValue } from './types.ts';

/**
 * The values that a person has ruled out of a search space, by parameter name; the empty one rules
 * out nothing.
 */
export type Narrowing = { readonly [parameter: string]: Restriction };

/** `pinned`: whenever the parameter applies it has this value. `excluded`: it has none of these. */
export type Restriction = { readonly pinned: ParameterValue } | { readonly excluded: readonly ParameterValue[] };

/** Names come from files and from people: one may equal a property that every object has. */
const findRestriction = (narrowing: Narrowing, parameter: string): Restriction | undefined =>
  lookUp(narrowing, parameter);

/** True if a candidate may give the parameter this value. */
export function allows(narrowing: Narrowing, parameter: string, value: ParameterValue): boolean {
  const restriction = findRestriction(narrowing, parameter);
  if (restriction === undefined) return true;
  if ('pinned' in restriction) return same(restriction.pinned, value);
  return !restriction.excluded.some((each) => same(each, value));
}

/** Returns the remaining options of a parameter. */
export function allowedOptions(
  narrowing: Narrowing,
  parameter: string,
  options: readonly ParameterOption[],
): readonly ParameterOption[] {
  if (findRestriction(narrowing, parameter) === undefined) return options;
  return options.filter(({ value }) => allows(narrowing, parameter, value));
}

/**
 * Returns why the assignment must not be tried, or null. A parameter without a value in it rules
 * nothing out.
 */
export function whyRuledOut(narrowing: Narrowing, assignment: Assignment): string | null {
  const name = Object.keys(assignment).find((each) => !allows(narrowing, each, assignment[each] as ParameterValue));
  if (name === undefined) return null;
  const restriction = narrowing[name] as Restriction;
  const value = JSON.stringify(assignment[name]);
  return 'pinned' in restriction
    ? `${name} is pinned to ${JSON.stringify(restriction.pinned)}, not ${value}`
    : `${name}=${value} is excluded`;
}

/**
 * Returns the narrowing with the parameter pinned to the value, or unpinned if it was pinned to
 * exactly that.
 */
export function togglePin(narrowing: Narrowing, parameter: string, value: ParameterValue): Narrowing {
  const now = findRestriction(narrowing, parameter);
  const isPinned = now !== undefined && 'pinned' in now && same(now.pinned, value);
  return isPinned ? withoutRestriction(narrowing, parameter) : { ...narrowing, [parameter]: { pinned: value } };
}

/**
 * Returns the narrowing with the value excluded, or allowed again if it was excluded. An exclusion
 * replaces a pin.
 */
export function toggleExclusion(narrowing: Narrowing, parameter: string, value: ParameterValue): Narrowing {
  const now = findRestriction(narrowing, parameter);
  const before = now !== undefined && 'excluded' in now ? now.excluded : [];
  const others = before.filter((each) => !same(each, value));
  const excluded = others.length < before.length ? others : [...before, value];
  return excluded.length === 0 ? withoutRestriction(narrowing, parameter) : { ...narrowing, [parameter]: { excluded } };
}

/** Returns the narrowing with the parameter free again. */
export function withoutRestriction(narrowing: Narrowing, parameter: string): Narrowing {
  const { [parameter]: _, ...rest } = narrowing;
  return rest;
}

const same = (a: ParameterValue, b: ParameterValue): boolean => canonicalJson(a) === canonicalJson(b);
