import { type ConfigFault, faultIf } from './fault.ts';
import type { InstanceGroup, ModelConfig } from './model-config.ts';
import { isTensorRt } from './tensor-rules.ts';

type Resource = { readonly name?: string; readonly global?: boolean };

/**
 * Rules for `instance_group`. Only the server knows which GPUs exist, and its errors about them are
 * clear.
 */
export function instanceFaults(config: ModelConfig): readonly ConfigFault[] {
  const groups = config.instance_group ?? [];
  return [
    ...groups.flatMap((group, i) => groupFaults(config, group, `instance_group[${i}]`)),
    ...resourceFaults(groups),
  ];
}

function groupFaults(config: ModelConfig, group: InstanceGroup, path: string): readonly ConfigFault[] {
  const { kind, count = 0, gpus = [] } = group;
  const profiles = (group.profile ?? []) as readonly string[];
  const takesNoGpus = kind === 'KIND_CPU' || kind === 'KIND_MODEL';
  return [
    // Triton silently makes one instance of a negative count, which nobody intends.
    ...faultIf(count < 0, `${path}.count`, `${count} must be 1 or more`),
    ...faultIf(takesNoGpus && gpus.length > 0, `${path}.gpus`, `cannot be given for ${kind}`),
    ...gpus.flatMap((gpu, i) => faultIf(gpu < 0, `${path}.gpus[${i}]`, `${gpu} is not a GPU`)),
    ...faultIf(profiles.length > 0 && !isTensorRt(config), `${path}.profile`, 'is for TensorRT only'),
    ...profiles.flatMap((profile, i) =>
      faultIf(!/^\d+$/.test(profile), `${path}.profile[${i}]`, `'${profile}' must be a number, 0 or more`),
    ),
  ];
}

/** A resource of the rate limiter is either one pool for the whole server or one per device. */
function resourceFaults(groups: readonly InstanceGroup[]): readonly ConfigFault[] {
  const globalByName = new Map<string, boolean>();
  return groups.flatMap((group, i) => {
    const limiter = group.rate_limiter as { readonly resources?: readonly Resource[] } | undefined;
    return (limiter?.resources ?? []).flatMap(({ name = '', global = false }, j) => {
      const path = `instance_group[${i}].rate_limiter.resources[${j}]`;
      const known = globalByName.get(name) ?? global;
      globalByName.set(name, known);
      return faultIf(known !== global, `${path}.global`, `'${name}' is both global and per device`);
    });
  });
}
