import { canonicalJson } from '../base/json.ts';
import type { Random } from '../base/random.ts';
import { NS_PER_MS } from '../base/units.ts';
import type { ModelConfig } from '../triton/model-config.ts';
import type { ModelPhysics } from './physics.ts';
import type { ModelProfile } from './profile-schema.ts';
import { valuesAt } from './triton-defaults.ts';

/** The physics of a profile's model with the given config: its law, changed by every arm whose conditions hold. */
export function physicsOf(profile: ModelProfile, config: ModelConfig, random: Random): ModelPhysics {
  const arms = profile.arms.filter((arm) => holds(arm, config));
  const scale = arms.reduce((product, arm) => product * arm.scale, 1);
  const memoryScale = arms.reduce((product, arm) => product * arm.memory_scale, 1);
  const table = arms.findLast((arm) => arm.execution_ms)?.execution_ms ?? profile.law.execution_ms;
  const fullSeconds = arms.findLast((arm) => arm.load_s !== undefined)?.load_s ?? profile.load.full_s;
  const { interference, cv, split } = profile.law;
  const { model_mib, instance_mib, sample_mib } = profile.memory;
  const samples = Math.max(1, config.max_batch_size ?? 0);
  return {
    executionNs: (batchSize, busyInstances) => {
      const alone = interpolated(table, batchSize) * scale;
      return alone * (1 + interference * (busyInstances - 1)) * logNormal(cv, random) * NS_PER_MS;
    },
    firstExecutionMs: profile.first_execution_ms,
    split,
    memoryMib: (instances) => memoryScale * (model_mib + instances * (instance_mib + samples * sample_mib)),
    maxInstances: profile.max_instances ?? Number.POSITIVE_INFINITY,
    load: { fullSeconds, addSeconds: profile.load.add_s, removeSeconds: profile.load.remove_s },
  };
}

function holds(arm: ModelProfile['arms'][number], config: ModelConfig): boolean {
  return Object.entries(arm.when).every(([path, wanted]) =>
    valuesAt(config, path).some((value) => canonicalJson(value) === canonicalJson(wanted)),
  );
}

type Table = ModelProfile['law']['execution_ms'];

/** Straight lines between the rows; beyond the last two rows on with their slope, below the first row flat. */
function interpolated(table: Table, batch: number): number {
  const first = table[0] as Table[number];
  if (batch <= first[0] || table.length === 1) return first[1];
  const above = table.findIndex(([size]) => size >= batch);
  const upper = table[above < 0 ? table.length - 1 : above] as Table[number];
  const lower = table[table.indexOf(upper) - 1] as Table[number];
  return lower[1] + ((upper[1] - lower[1]) * (batch - lower[0])) / (upper[0] - lower[0]);
}

/** A log-normal factor of mean 1 with the given coefficient of variation. */
function logNormal(cv: number, random: Random): number {
  if (cv === 0) return 1;
  const variance = Math.log1p(cv * cv);
  const normal = Math.sqrt(-2 * Math.log(1 - random.float())) * Math.cos(2 * Math.PI * random.float());
  return Math.exp(Math.sqrt(variance) * normal - variance / 2);
}
