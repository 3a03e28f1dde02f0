import { median } from 'simple-statistics';
import { MS_PER_S } from '../../base/units.ts';
import { variantOf } from '../../perfmodel/variant.ts';
import { instancesOf } from '../../triton/instances.ts';
import type { StudyRecord } from '../records.ts';

/** How long loads took. */
export interface LoadSeconds {
  /** Of the original variant where it was loaded, else of all. */
  readonly fullSeconds: number;
  readonly addSeconds: number;
  /** For each instance. */
  readonly removeSeconds: number;
  /** Of other variants, where they were loaded. */
  readonly byVariant: ReadonlyMap<string, number>;
}

/** Used where a study has no such load: about what a small model takes. */
const USUAL = { full: 0.5, add: 0.2, remove: 0.1 };

/** Medians over the loads of a study, in its order, the final's among them. `own`: the original config's variant. */
export function loadsOf(records: readonly StudyRecord[], own: string): LoadSeconds {
  const full = new Map<string, number[]>();
  const added: number[] = [];
  const removed: number[] = [];
  const configs = new Map<number, { readonly variant: string; readonly instances: number }>();
  let instances = 1;
  for (const record of records) {
    if (record.type === 'study-started') instances = instancesOf(record.originalConfig);
    else if (record.type === 'trial-started') {
      const { config } = record.candidate;
      configs.set(record.trial, { variant: variantOf(config), instances: instancesOf(config) });
    } else if (record.type === 'trial-applied' && record.change !== 'none') {
      const now = configs.get(record.trial);
      if (!now) continue;
      const seconds = record.loadMs / MS_PER_S;
      const more = now.instances - instances;
      if (record.change === 'full') full.set(now.variant, [...(full.get(now.variant) ?? []), seconds]);
      else if (more > 0) added.push(seconds);
      else if (more < 0) removed.push(seconds / -more);
      instances = now.instances;
    }
  }
  const all = [...full.values()].flat();
  const fullSeconds = typical(full.get(own) ?? all, USUAL.full);
  full.delete(own);
  return {
    fullSeconds,
    addSeconds: typical(added, Math.min(USUAL.add, fullSeconds)),
    removeSeconds: typical(removed, Math.min(USUAL.remove, fullSeconds)),
    byVariant: new Map([...full].map(([variant, seconds]) => [variant, typical(seconds, fullSeconds)])),
  };
}

const typical = (seconds: readonly number[], otherwise: number): number =>
  rounded(seconds.length > 0 ? median([...seconds]) : otherwise);

const rounded = (seconds: number): number => Math.round(seconds * 1e3) / 1e3;
