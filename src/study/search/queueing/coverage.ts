import { lookUp } from '#base/look-up.ts';
import { type Choice, toChoice } from '#perfmodel/modelled-config.ts';
import type { FailureKind, Trial } from '../../types.ts';
import { isNamedCause } from '../blamed-settings.ts';

/** One value of a categorical setting: one that the simulator does not model. */
export interface SettingValue {
  /** A path in the model's config. */
  readonly setting: string;
  /** undefined if the config leaves the setting out. */
  readonly value: string | undefined;
  /** In the words of the search space, for example `precision=FP16`. */
  readonly label: string;
}

/** A setting with more values than this, all of them numbers, is a scale and not categorical. */
const MAX_NUMBERS = 2;

const known = new WeakMap<readonly Choice[], readonly SettingValue[]>();

/** Returns the values of all categorical settings of a space; memoized by the identity of `all`. */
export function settingValues(all: readonly Choice[]): readonly SettingValue[] {
  const values = known.get(all) ?? findValues(all);
  known.set(all, values);
  return values;
}

function findValues(all: readonly Choice[]): readonly SettingValue[] {
  const distinct = [...new Map(all.map((choice) => [choice.settingsKey, choice])).values()];
  const settings = new Set(distinct.flatMap(({ settings }) => [...settings.keys()]));
  return [...settings].flatMap((setting) => {
    const values = [...new Set(distinct.map(({ settings }) => settings.get(setting)))];
    const keptValues = values.filter((value) => value !== undefined);
    const isScale = keptValues.length > MAX_NUMBERS && keptValues.every((value) => Number.isFinite(Number(value)));
    if (values.length < 2 || isScale) return [];
    return values.map((value) => ({ setting, value, label: formatLabel(setting, value, distinct) }));
  });
}

const hasValue = ({ settings }: Choice, { setting, value }: SettingValue): boolean => settings.get(setting) === value;

/**
 * Returns `parameter=value` for the parameter of the space that sets this value and no other; else
 * the path in the config.
 */
function formatLabel(setting: string, value: string | undefined, distinct: readonly Choice[]): string {
  const [choices, others] = [true, false].map((isChoice) =>
    distinct.filter(({ settings }) => (settings.get(setting) === value) === isChoice),
  ) as [Choice[], Choice[]];
  const assigned = (choice: Choice, name: string): unknown => lookUp(choice.candidate.assignment, name);
  const [first] = choices;
  const names = Object.keys(first?.candidate.assignment ?? {});
  const name = names.find((each) => {
    const common = first && assigned(first, each);
    return (
      choices.every((choice) => assigned(choice, each) === common) &&
      others.every((choice) => assigned(choice, each) !== common)
    );
  });
  return name && first ? `${name}=${String(assigned(first, name))}` : `${setting.slice(1)}=${value ?? '(not set)'}`;
}

/** Returns the values that no measurement has and at least one candidate of `open` does. */
export function unseenValues(
  values: readonly SettingValue[],
  measured: readonly { readonly choice: Choice }[],
  open: readonly Choice[],
  trials: readonly Trial[],
): readonly SettingValue[] {
  const may = (value: SettingValue): boolean => covering([value], open, trials).length > 0;
  return values.filter((value) => measured.every(({ choice }) => !hasValue(choice, value)) && may(value));
}

/**
 * Returns the candidates with the most of these values at once, so that one trial measures several.
 * A value whose load was refused counts only with at most half as many instances.
 */
export function covering(
  values: readonly SettingValue[],
  open: readonly Choice[],
  trials: readonly Trial[],
): readonly Choice[] {
  const refused = trials
    .filter(
      (trial) => trial.failure !== null && avoidableFailures.has(trial.failure.kind) && !isNamedCause(trial, trials),
    )
    .map(({ candidate }) => toChoice(candidate));
  const limited = values.map((value) => ({ value, instances: mostInstances(value, refused) }));
  const count = (choice: Choice): number =>
    limited.filter(({ value, instances }) => hasValue(choice, value) && choice.policy.instances <= instances).length;
  const counted = open.map((choice) => ({ choice, shown: count(choice) }));
  const most = Math.max(0, ...counted.map(({ shown }) => shown));
  return most === 0 ? [] : counted.filter(({ shown }) => shown === most).map(({ choice }) => choice);
}

/** Failures that fewer instances may avoid. */
const avoidableFailures: ReadonlySet<FailureKind> = new Set(['out-of-memory', 'init-failed', 'load-timeout']);

function mostInstances(value: SettingValue, refused: readonly Choice[]): number {
  const counts = refused.filter((choice) => hasValue(choice, value)).map(({ policy }) => policy.instances);
  return counts.length > 0 ? Math.floor(Math.min(...counts) / 2) : Number.POSITIVE_INFINITY;
}
