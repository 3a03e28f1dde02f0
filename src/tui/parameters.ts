import { isTrituneError } from '../base/errors.ts';
import { canonicalJson } from '../base/json.ts';
import { allBindings, type BoundSpace, bindSpace, type Setting } from '../space/bound-space.ts';
import { spaceSize } from '../space/enumerate.ts';
import { holds, parametersIn } from '../space/expressions/condition.ts';
import { allows, type Narrowing, toggleExclusion, togglePin, withoutRestriction } from '../space/narrowing.ts';
import { sceneOf } from '../space/options.ts';
import { spaceFromJson } from '../space/source/load.ts';
import type { Parameter, ParameterOption, ParameterValue } from '../space/types.ts';
import type { StudyStarted } from '../study/records/records.ts';
import type { StudyState } from '../study/records/state.ts';
import { describeValue } from '../study/summary/describe.ts';

/** A parameter of the study's search space as a person sees it. */
export interface ShownParameter {
  readonly parameter: Parameter;
  /** What it can be set to on this model; a value that only some candidates can have is among them. */
  readonly values: readonly ParameterValue[];
}

/** More combinations than this are not counted while a person waits for the screen. */
const MOST_COUNTED = 5_000;

const bound = new WeakMap<StudyStarted, BoundSpace | null>();

/** The search space that the journal names, over the original config; null when this version cannot read it. */
export function spaceOf({ started }: StudyState): BoundSpace | null {
  const known = bound.get(started);
  if (known !== undefined) return known;
  const read = readSpace(started);
  bound.set(started, read);
  return read;
}

function readSpace({ space, original }: StudyStarted): BoundSpace | null {
  try {
    return bindSpace(spaceFromJson(space), original);
  } catch (error) {
    if (isTrituneError(error, 'SPACE_INVALID')) return null;
    throw error;
  }
}

/** The parameters that can be set on this model, in the space's order. */
export function parametersOf(study: StudyState): readonly ShownParameter[] {
  const space = spaceOf(study);
  if (!space) return [];
  return space.settings.flatMap(({ parameter }) => {
    const options = allBindings(space).flatMap((each) => optionsOnThisModel(each, each.byName.get(parameter.name)));
    const values = distinct(options.map(({ value }) => value));
    return values.length === 0 ? [] : [{ parameter, values }];
  });
}

/** Returns the cases of a parameter that can hold on this model: conditions on the original config alone are decided. */
function optionsOnThisModel(space: BoundSpace, setting: Setting | undefined): readonly ParameterOption[] {
  const original = sceneOf(space, {});
  const options: ParameterOption[] = [];
  for (const { when, options: own } of setting?.cases ?? []) {
    const isDecided = parametersIn(when).every((name) => !space.byName.has(name));
    if (isDecided && !holds(when, original)) continue;
    options.push(...own);
    if (isDecided) break;
  }
  return options;
}

const sizes = new WeakMap<Narrowing, number>();

/** How many candidates are left; Infinity for more than are worth counting. */
export function sizeOf(study: StudyState, narrowing: Narrowing): number {
  const space = spaceOf(study);
  if (!space) return 0;
  const known = sizes.get(narrowing) ?? spaceSize(space.space, study.started.original, narrowing, MOST_COUNTED);
  sizes.set(narrowing, known);
  return known;
}

export type Narrowed = { readonly narrowing: Narrowing; readonly told: string } | { readonly refused: string };

/** The narrowing after a person pins, excludes or frees there; refused when no candidate would be left. */
export function narrowBy(
  study: StudyState,
  now: Narrowing,
  { row, column }: { readonly row: number; readonly column: number },
  how: 'pin' | 'exclude' | 'free',
): Narrowed {
  const shown = parametersOf(study)[row];
  const value = shown?.values[column];
  if (!shown || value === undefined) return { refused: 'there is no such value' };
  const { name } = shown.parameter;
  const narrowing = inOrder(narrowings[how](now, name, value), shown);
  if (sizeOf(study, narrowing) > 0)
    return { narrowing, told: `${outcomeOf(narrowing, name, value)} from the next trial on` };
  return {
    refused: `not taken: with ${name}=${describeValue(value)} ${how === 'pin' ? 'alone' : 'excluded'} no candidate would be left`,
  };
}

/** The parameter's excluded values in the order in which it has them. */
function inOrder(narrowing: Narrowing, { parameter: { name }, values }: ShownParameter): Narrowing {
  const restriction = narrowing[name];
  if (restriction === undefined || 'pinned' in restriction) return narrowing;
  return { ...narrowing, [name]: { excluded: values.filter((value) => !allows(narrowing, name, value)) } };
}

const narrowings = { pin: togglePin, exclude: toggleExclusion, free: withoutRestriction } as const;

function outcomeOf(narrowing: Narrowing, name: string, value: ParameterValue): string {
  const restriction = narrowing[name];
  if (restriction === undefined) return `${name} is free`;
  if ('pinned' in restriction) return `${name} is pinned to ${describeValue(value)}`;
  return `${name}=${describeValue(value)} is ${allows(narrowing, name, value) ? 'tried again' : 'excluded'}`;
}

function distinct(values: readonly ParameterValue[]): readonly ParameterValue[] {
  return [...new Map(values.map((value) => [canonicalJson(value), value])).values()];
}
