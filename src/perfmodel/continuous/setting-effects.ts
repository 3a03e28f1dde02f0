import { canonicalJson } from '#base/json.ts';
import type { Choice } from '../modelled-config.ts';
import { type CategoricalSettings, differing } from '../setting-effects.ts';

/**
 * A difference between the laws of a choice and of the reference: a value of a setting, or the
 * ratio of a number to the reference's, whose effect other numbers share.
 */
export interface SettingEffect {
  readonly name: string;
  /** The number of times that it counts: the logarithm of the ratio of two numbers; else 1. */
  readonly weight: number;
  /**
   * The prior standard deviation of the logarithm of its effect on a part of the law, if it counts
   * once.
   */
  readonly sd: number;
}

/**
 * Prior standard deviations: of a named value; of doubling a number (as e times as much), and of a
 * number's own effect.
 */
const OF_VALUE = 0.35;
const OF_RATIO = 0.5;
const OF_NUMBER = 0.12;

/**
 * Returns the names of the settings that only determine the policy, over all choices: those that
 * come with one value each of a field of the policy, and numbers that change the policy whenever
 * they change alone. The simulation covers their effects.
 */
export function settingsOfPolicy(choices: readonly Choice[]): ReadonlySet<string> {
  const names = new Set(choices.flatMap(({ settings }) => [...settings.keys()]));
  return new Set([...names].filter((name) => isOneField(choices, name) || isNumberOfPolicy(choices, name)));
}

const policyFields = [
  'maxSequences',
  'maxStepTokens',
  'chunksPrefill',
  'mixesPrefill',
  'kvCacheTokens',
  'cachesPrefixes',
] as const;

function isOneField(choices: readonly Choice[], name: string): boolean {
  return policyFields.some((field) => {
    const [bySetting, byField] = [new Map<string, string>(), new Map<string, string>()];
    for (const { settings, continuous } of choices) {
      const [setting, value] = [settings.get(name) ?? '', String(continuous?.[field])];
      if ((bySetting.get(setting) ?? value) !== value || (byField.get(value) ?? setting) !== setting) return false;
      bySetting.set(setting, value);
      byField.set(value, setting);
    }
    return bySetting.size > 1;
  });
}

function isNumberOfPolicy(choices: readonly Choice[], name: string): boolean {
  if (choices.some(({ settings }) => toNumber(settings, name) === null)) return false;
  const besides = Map.groupBy(choices, ({ settings }) =>
    canonicalJson([...settings].filter(([other]) => other !== name).map(([other, value]) => [other, value])),
  );
  let changes = 0;
  for (const alike of besides.values()) {
    const policies = new Map(alike.map(({ settings, continuous }) => [settings.get(name), { ...continuous }]));
    const distinct = new Set([...policies.values()].map((policy) => canonicalJson(policy)));
    if (distinct.size < policies.size) return false;
    changes += policies.size - 1;
  }
  return changes > 0;
}

function toNumber(settings: CategoricalSettings, name: string): number | null {
  const text = settings.get(name);
  return text !== undefined && text !== '' && Number.isFinite(Number(text)) ? Number(text) : null;
}

/**
 * Returns the effects of a choice's settings relative to the reference's; none of those that
 * `ofPolicy` names.
 */
export const listEffects = (
  reference: CategoricalSettings,
  { settings }: Pick<Choice, 'settings'>,
  ofPolicy: ReadonlySet<string>,
): SettingEffect[] =>
  differing(reference, settings)
    .filter((name) => !ofPolicy.has(name))
    .flatMap((name) => {
      const [ownValue, other] = [toNumber(settings, name), toNumber(reference, name)];
      const value = `${name} ${settings.get(name) ?? ''}`;
      if (ownValue === null || other === null || !(ownValue > 0 && other > 0))
        return [{ name: value, weight: 1, sd: OF_VALUE }];
      return [
        { name, weight: Math.log(ownValue / other), sd: OF_RATIO },
        { name: value, weight: 1, sd: OF_NUMBER },
      ];
    });
