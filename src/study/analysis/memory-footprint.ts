import type { ModelProfile } from '#emulator/profile/schema.ts';
import type { Attempt } from './memory-attempts.ts';

/** The memory of a model, in the fields of a profile. */
export type Footprint = ModelProfile['memory'];

const ROUNDS = 2000;

type Size = Pick<Attempt, 'instances' | 'maxBatchSize'>;

/** Returns the memory of a model with this many instances of this batch size, in MiB. */
export function footprintMib({ model_mib, instance_mib, sample_mib }: Footprint, size: Size): number {
  return model_mib + size.instances * (instance_mib + size.maxBatchSize * sample_mib);
}

/**
 * Fits the memory to the measured GPU memory: non-negative least squares by coordinate descent;
 * null if the server did not report it.
 */
export function measuredFootprint(attempts: readonly Attempt[]): Footprint | null {
  const rows = attempts.flatMap(({ instances, maxBatchSize, measurements }) =>
    measurements.flatMap(({ device }) =>
      device.gpuMemoryMiB === undefined
        ? []
        : [{ parts: [1, instances, instances * maxBatchSize] as const, mib: device.gpuMemoryMiB }],
    ),
  );
  if (rows.length === 0) return null;
  const fitted: [number, number, number] = [0, 0, 0];
  for (let round = 0; round < ROUNDS; round++) {
    for (const part of [0, 1, 2] as const) {
      let along = 0;
      let squares = 0;
      for (const { parts, mib } of rows) {
        const others = parts.reduce(
          (sum, size, index) => (index === part ? sum : sum + size * (fitted[index] ?? 0)),
          0,
        );
        along += parts[part] * (mib - others);
        squares += parts[part] ** 2;
      }
      fitted[part] = Math.max(0, along / squares);
    }
  }
  const [model_mib, instance_mib, sample_mib] = fitted;
  return { model_mib, instance_mib, sample_mib };
}
