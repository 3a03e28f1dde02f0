import type { ContinuousPolicy } from '../../queueing/continuous/policy.ts';
import type { Choice } from '../modelled-config.ts';
import { differing, type Settings } from '../setting-effects.ts';

/** The prior standard deviation of the logarithm of what one value of a setting does to a part of the law: two thirds or half as much again. */
export const EFFECT_SD = 0.35;

/** A value of a setting that the reference does not have, as a text. */
export type SettingEffect = string;

const policyFields = ['maxSequences', 'maxStepTokens', 'chunksPrefill', 'kvCacheTokens', 'cachesPrefixes'] as const;

/**
 * Returns the names of the settings that say the same as a field of the policy: over all choices each value of the one comes with one value of the other.
 * The simulation knows what they do.
 */
export function settingsOfPolicy(choices: readonly Choice[]): ReadonlySet<string> {
  const names = new Set(choices.flatMap(({ settings }) => [...settings.keys()]));
  return new Set([...names].filter((name) => policyFields.some((field) => isSame(choices, name, field))));
}

function isSame(choices: readonly Choice[], name: string, field: keyof ContinuousPolicy): boolean {
  const [bySetting, byField] = [new Map<string, string>(), new Map<string, string>()];
  for (const { settings, continuous } of choices) {
    const [setting, value] = [settings.get(name) ?? '', String(continuous?.[field])];
    if ((bySetting.get(setting) ?? value) !== value || (byField.get(value) ?? setting) !== setting) return false;
    bySetting.set(setting, value);
    byField.set(value, setting);
  }
  return bySetting.size > 1;
}

/** Returns what makes a choice's law another than the reference's. */
export const effectsOf = (
  reference: Settings,
  { settings }: Pick<Choice, 'settings'>,
  ofPolicy: ReadonlySet<string>,
): SettingEffect[] =>
  differing(reference, settings)
    .filter((name) => !ofPolicy.has(name))
    .map((name) => `${name} ${settings.get(name) ?? ''}`);
