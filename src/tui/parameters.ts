import { canonicalJson } from '#base/json.ts';
import { lookUp } from '#base/look-up.ts';
import { allBindings, type BoundSpace, bindSpace, type Setting } from '#space/bound-space.ts';
import { holds, parametersIn } from '#space/condition.ts';
import { spaceSize } from '#space/enumerate.ts';
import { jointName } from '#space/joint/joint-space.ts';
import { allows, type Narrowing, toggleExclusion, togglePin, withoutRestriction } from '#space/narrowing.ts';
import { createScene } from '#space/options.ts';
import type { Candidate, Parameter, ParameterOption, ParameterValue } from '#space/types.ts';
import { findJointSpace, findSpace } from '#study/analysis/settings.ts';
import type { StudyStarted } from '#study/records/records.ts';
import type { StudyState } from '#study/records/state.ts';
import { describeValue } from '#study/summary/describe.ts';

/** A parameter of the study's search space, for display. */
export interface ShownParameter {
  readonly parameter: Parameter;
  /** Its possible values on this model, including those that only some candidates can have. */
  readonly values: readonly ParameterValue[];
}

/** The maximum number of combinations counted while a person waits for the screen. */
const MAX_COUNTED = 5_000;

/** A search space over an original config: the study's, or that of one of its models. */
export interface SpacePart {
  /** The prefix of parameter names in assignments and narrowings: `MODEL/` for one of several. */
  readonly prefix: string;
  readonly bound: BoundSpace;
  readonly original: Candidate;
}

const known = new WeakMap<StudyStarted, readonly SpacePart[]>();

/**
 * Returns the search space of the journal, model by model; empty if this version cannot read it.
 */
export function listSpaces({ started }: StudyState): readonly SpacePart[] {
  const parts = known.get(started) ?? readSpaces(started);
  known.set(started, parts);
  return parts;
}

function readSpaces(started: StudyStarted): readonly SpacePart[] {
  const joint = findJointSpace(started);
  if (joint) {
    return joint.members.map(({ model, space, original }) => ({
      prefix: jointName(model, ''),
      bound: bindSpace(space, original),
      original,
    }));
  }
  const space = findSpace(started);
  const { original } = started;
  return space ? [{ prefix: '', bound: bindSpace(space, original), original }] : [];
}

/** Returns the entries of one part from a record by assignment names, by the part's own names. */
export const ofPart = <T>({ prefix }: SpacePart, record: { readonly [name: string]: T }): Record<string, T> =>
  Object.fromEntries(
    Object.entries(record).flatMap(([name, value]) =>
      name.startsWith(prefix) ? [[name.slice(prefix.length), value]] : [],
    ),
  );

/** Returns the parameters that can be set on this model, or these, in the space's order. */
export function listParameters(study: StudyState): readonly ShownParameter[] {
  return listSpaces(study).flatMap(({ prefix, bound }) =>
    bound.settings.flatMap(({ parameter }) => {
      const options = allBindings(bound).flatMap((each) => optionsOnThisModel(each, each.byName.get(parameter.name)));
      const values = distinct(options.map(({ value }) => value));
      return values.length === 0 ? [] : [{ parameter: { ...parameter, name: `${prefix}${parameter.name}` }, values }];
    }),
  );
}

/**
 * Returns the cases of a parameter that are possible on this model. Conditions on the original
 * config alone are already decided.
 */
function optionsOnThisModel(space: BoundSpace, setting: Setting | undefined): readonly ParameterOption[] {
  const original = createScene(space, {});
  const options: ParameterOption[] = [];
  for (const { when, options: parameterOptions } of setting?.cases ?? []) {
    const isDecided = parametersIn(when).every((name) => !space.byName.has(name));
    if (isDecided && !holds(when, original)) continue;
    options.push(...parameterOptions);
    if (isDecided) break;
  }
  return options;
}

const sizes = new WeakMap<Narrowing, number>();

/** Returns the number of candidates left; Infinity if there are too many to count. */
export function computeSize(study: StudyState, narrowing: Narrowing): number {
  const parts = listSpaces(study);
  if (parts.length === 0) return 0;
  const counted = sizes.get(narrowing) ?? countedIn(parts, narrowing);
  sizes.set(narrowing, counted);
  return counted;
}

function countedIn(parts: readonly SpacePart[], narrowing: Narrowing): number {
  const each = parts.map((part) => spaceSize(part.bound.space, part.original, ofPart(part, narrowing), MAX_COUNTED));
  if (each.includes(0)) return 0;
  const size = each.reduce((product, size) => product * size, 1);
  return size > MAX_COUNTED ? Number.POSITIVE_INFINITY : size;
}

export type Narrowed = { readonly narrowing: Narrowing; readonly message: string } | { readonly refused: string };

/**
 * Returns the narrowing after a person pins, excludes or frees values; refuses it if no candidate
 * would be left.
 */
export function narrowBy(
  study: StudyState,
  now: Narrowing,
  { row, column }: { readonly row: number; readonly column: number },
  how: 'pin' | 'exclude' | 'free',
): Narrowed {
  const shown = listParameters(study)[row];
  const value = shown?.values[column];
  if (!shown || value === undefined) return { refused: 'this value does not exist' };
  const { name } = shown.parameter;
  const narrowing = inOrder(narrowings[how](now, name, value), shown);
  if (computeSize(study, narrowing) > 0)
    return { narrowing, message: `${toOutcome(narrowing, name, value)} from the next trial on` };
  return {
    refused: `rejected: with ${name}=${describeValue(value)} ${how === 'pin' ? 'pinned' : 'excluded'}, no candidate would be left`,
  };
}

/** Sorts the parameter's excluded values into its own order. */
function inOrder(narrowing: Narrowing, { parameter: { name }, values }: ShownParameter): Narrowing {
  const restriction = lookUp(narrowing, name);
  if (restriction === undefined || 'pinned' in restriction) return narrowing;
  return { ...narrowing, [name]: { excluded: values.filter((value) => !allows(narrowing, name, value)) } };
}

const narrowings = { pin: togglePin, exclude: toggleExclusion, free: withoutRestriction } as const;

function toOutcome(narrowing: Narrowing, name: string, value: ParameterValue): string {
  const restriction = lookUp(narrowing, name);
  if (restriction === undefined) return `${name} is free`;
  if ('pinned' in restriction) return `${name} is pinned to ${describeValue(value)}`;
  return `${name}=${describeValue(value)} is ${allows(narrowing, name, value) ? 'allowed again' : 'excluded'}`;
}

function distinct(values: readonly ParameterValue[]): readonly ParameterValue[] {
  return [...new Map(values.map((value) => [canonicalJson(value), value])).values()];
}
