import { median } from 'simple-statistics';
import { MS_PER_S } from '#base/units.ts';
import { toSettingsKey } from '#perfmodel/settings-key.ts';
import type { StudyRecord } from '#study/records/records.ts';

/** Durations of loads, in seconds. */
export interface LoadSeconds {
  /** A full load with the original settings if they were loaded, else with any. */
  readonly fullSeconds: number;
  readonly addSeconds: number;
  /** Per removed instance. */
  readonly removeSeconds: number;
  /** A full load with other settings, by settings key. */
  readonly bySettings: ReadonlyMap<string, number>;
}

/** Durations for a study without such loads: about those of a small model. */
const USUAL = { full: 0.5, add: 0.2, remove: 0.1 };

/**
 * Returns medians over the loads of a study, the final's included. `model`: the original config's
 * settings key.
 */
export function toLoads(records: readonly StudyRecord[], model: string): LoadSeconds {
  const full = new Map<string, number[]>();
  const added: number[] = [];
  const removed: number[] = [];
  const configs = new Map<number, { readonly settingsKey: string; readonly instances: number }>();
  let instances = 1;
  for (const record of records) {
    if (record.type === 'study-started') instances = record.original.shape.policy.instances;
    else if (record.type === 'trial-started') {
      const { shape } = record.candidate;
      configs.set(record.trial, { settingsKey: toSettingsKey(shape), instances: shape.policy.instances });
    } else if (record.type === 'trial-applied' && record.change !== 'none') {
      const now = configs.get(record.trial);
      if (!now) continue;
      const seconds = record.loadMs / MS_PER_S;
      const more = now.instances - instances;
      if (record.change === 'full') full.set(now.settingsKey, [...(full.get(now.settingsKey) ?? []), seconds]);
      else if (more > 0) added.push(seconds);
      else if (more < 0) removed.push(seconds / -more);
      instances = now.instances;
    }
  }
  const all = [...full.values()].flat();
  const fullSeconds = typical(full.get(model) ?? all, USUAL.full);
  full.delete(model);
  return {
    fullSeconds,
    addSeconds: typical(added, Math.min(USUAL.add, fullSeconds)),
    removeSeconds: typical(removed, Math.min(USUAL.remove, fullSeconds)),
    bySettings: new Map([...full].map(([settingsKey, seconds]) => [settingsKey, typical(seconds, fullSeconds)])),
  };
}

const typical = (seconds: readonly number[], otherwise: number): number =>
  rounded(seconds.length > 0 ? median([...seconds]) : otherwise);

const rounded = (seconds: number): number => Math.round(seconds * 1e3) / 1e3;
