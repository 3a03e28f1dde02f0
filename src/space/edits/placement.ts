import type { Json } from '#base/json.ts';
import { FieldFault } from './config-fields.ts';

/** The CPU's name, where a GPU would have its number. */
const CPU = 'cpu';

/**
 * Returns the first GPUs of a list, as many as `gpu_count` says. Throws a FieldFault for an invalid
 * number of GPUs.
 */
export function firstGpus(value: Json): Json {
  if (typeof value !== 'number' || !Number.isInteger(value) || value < 1)
    throw new FieldFault(`gpu_count takes whole numbers of 1 or more, not ${JSON.stringify(value)}`);
  return Array.from({ length: value }, (_, gpu) => gpu);
}

/**
 * Returns the instance groups for `placement`: the instances on each GPU by its number, `cpu` for
 * those on the CPU. GPUs with the same number of instances form one group. Throws a FieldFault for
 * anything but such a map.
 */
export function instanceGroups(value: Json): Json {
  const entries = typeof value === 'object' && value !== null && !Array.isArray(value) ? Object.entries(value) : [];
  if (entries.length === 0)
    throw new FieldFault(`placement takes instances by GPU, such as {0: 2, 1: 2}, not ${JSON.stringify(value)}`);
  const placed = entries.map(([where, count]) => {
    if (where !== CPU && !/^\d+$/.test(where))
      throw new FieldFault(`placement knows GPUs by their numbers, and cpu, not '${where}'`);
    if (typeof count !== 'number' || !Number.isInteger(count) || count < 1)
      throw new FieldFault(`placement takes 1 instance or more on ${where}, not ${JSON.stringify(count)}`);
    return { where, count };
  });
  const onGpus = Map.groupBy(
    placed.filter(({ where }) => where !== CPU),
    ({ count }) => count,
  );
  return [
    ...[...onGpus].map(([count, groups]) => ({
      kind: 'KIND_GPU',
      count,
      gpus: groups.map(({ where }) => Number(where)).sort((a, b) => a - b),
    })),
    ...placed.filter(({ where }) => where === CPU).map(({ count }) => ({ kind: 'KIND_CPU', count })),
  ];
}
