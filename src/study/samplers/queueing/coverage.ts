import { type Choice, choiceOf } from '../../../perfmodel/modelled-config.ts';
import type { FailureKind, Trial } from '../../types.ts';

/** One value of a setting that the queueing model knows nothing of. */
export interface SettingValue {
  /** A path in the model's config. */
  readonly setting: string;
  /** undefined where the config leaves the setting out. */
  readonly value: string | undefined;
  /** As whoever made the space knows it, for example `precision=FP16`. */
  readonly label: string;
}

/** Settings with more values than this that are all numbers are scales: values between tell of the others. */
const MOST_NUMBERS = 2;

const known = new WeakMap<readonly Choice[], readonly SettingValue[]>();

/** The values of all categorical settings of a space, found once for these very choices. */
export function settingValues(all: readonly Choice[]): readonly SettingValue[] {
  const values = known.get(all) ?? findValues(all);
  known.set(all, values);
  return values;
}

function findValues(all: readonly Choice[]): readonly SettingValue[] {
  const variants = [...new Map(all.map((choice) => [choice.variant, choice])).values()];
  const settings = new Set(variants.flatMap(({ settings }) => [...settings.keys()]));
  return [...settings].flatMap((setting) => {
    const values = [...new Set(variants.map(({ settings }) => settings.get(setting)))];
    const given = values.filter((value) => value !== undefined);
    const isScale = given.length > MOST_NUMBERS && given.every((value) => Number.isFinite(Number(value)));
    if (values.length < 2 || isScale) return [];
    return values.map((value) => ({ setting, value, label: labelOf(setting, value, variants) }));
  });
}

const hasValue = ({ settings }: Choice, { setting, value }: SettingValue): boolean => settings.get(setting) === value;

/** The parameter of the space whose value comes with this one and only with it; else the path in the config. */
function labelOf(setting: string, value: string | undefined, variants: readonly Choice[]): string {
  const [own, others] = [true, false].map((wanted) =>
    variants.filter(({ settings }) => (settings.get(setting) === value) === wanted),
  ) as [Choice[], Choice[]];
  const assigned = (choice: Choice, name: string): unknown => choice.candidate.assignment[name];
  const [first] = own;
  const names = Object.keys(first?.candidate.assignment ?? {});
  const name = names.find((each) => {
    const common = first && assigned(first, each);
    return (
      own.every((choice) => assigned(choice, each) === common) &&
      others.every((choice) => assigned(choice, each) !== common)
    );
  });
  return name && first ? `${name}=${String(assigned(first, name))}` : `${setting.slice(1)}=${value ?? '(not set)'}`;
}

/** The values that no measurement shows, of those that some candidate which may still be tried has. */
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
 * Candidates with as many of these values at once as there may be: of several settings that were never seen one trial shows a value each. Where
 * a value was refused, those with half as many instances at most.
 */
export function covering(
  values: readonly SettingValue[],
  open: readonly Choice[],
  trials: readonly Trial[],
): readonly Choice[] {
  const refused = trials
    .filter(({ failure }) => failure !== null && refusals.has(failure.kind))
    .map(({ candidate }) => choiceOf(candidate));
  const limited = values.map((value) => ({ value, instances: mostInstances(value, refused) }));
  const count = (choice: Choice): number =>
    limited.filter(({ value, instances }) => hasValue(choice, value) && choice.policy.instances <= instances).length;
  const counted = open.map((choice) => ({ choice, shown: count(choice) }));
  const most = Math.max(0, ...counted.map(({ shown }) => shown));
  return most === 0 ? [] : counted.filter(({ shown }) => shown === most).map(({ choice }) => choice);
}

/** What too many instances may be the reason of. */
const refusals: ReadonlySet<FailureKind> = new Set(['out-of-memory', 'init-failed', 'load-timeout']);

function mostInstances(value: SettingValue, refused: readonly Choice[]): number {
  const counts = refused.filter((choice) => hasValue(choice, value)).map(({ policy }) => policy.instances);
  return counts.length > 0 ? Math.floor(Math.min(...counts) / 2) : Number.POSITIVE_INFINITY;
}
