import { z } from 'zod';
import type { ReadOnly } from '#base/read-only.ts';

const text = z.string().min(1);
const perHour = z.number().positive().describe('Price per hour, in the currency');

const slice = z
  .union([
    z.strictObject({ perHour }),
    z.strictObject({ share: z.number().positive().max(1).describe("Share of the whole GPU's price") }),
  ])
  .meta({ id: 'slice', description: "A MIG slice, with its own price or a share of its GPU's" });

const gpu = z.union([
  perHour,
  z.strictObject({ perHour, slices: z.record(text, slice).optional().describe('MIG slices by name, such as 1g.10gb') }),
]);

const instanceType = z.strictObject({
  perHour,
  gpus: z.int().nonnegative().default(0).describe('Number of GPUs or slices'),
  gpu: text.optional().describe('Name of the GPUs, for information'),
  cpus: z.number().positive().optional().describe('CPU cores, for information'),
  memoryGiB: z.number().positive().optional().describe('Memory of the host in GiB, for information'),
});

/** The form of a file for `--prices` (docs/prices.schema.json). */
export const priceList = z
  .strictObject({
    $schema: text.optional().describe('Address of the JSON Schema, for editors'),
    pricesVersion: z.literal(1).default(1).describe('Version of the format'),
    currency: text.default('USD').describe('Currency of all prices'),
    gpus: z.record(text, gpu).default({}).describe('GPUs by name: price per hour, and MIG slices'),
    instanceTypes: z.record(text, instanceType).default({}).describe('Whole servers by name'),
  })
  .refine(({ gpus, instanceTypes }) => Object.keys({ ...gpus, ...instanceTypes }).length > 0, {
    error: 'it has neither gpus nor instanceTypes',
  })
  .meta({ id: 'prices' });

export const costSpec = z.strictObject({
  gpu: text.optional().describe('GPU of the prices that candidates run on, or GPU/SLICE'),
  serverGpus: z.int().positive().optional().describe('GPUs of the server, if its metrics do not show them'),
  instanceType: text.optional().describe('Instance type of the prices that the server runs on'),
  forRate: z
    .union([z.number().positive(), z.record(text, z.number().positive())])
    .optional()
    .describe('Inferences per second to serve, by as many servers as needed; in total or by model'),
  headroomPercent: z
    .number()
    .min(0)
    .max(95)
    .default(10)
    .describe('Share of the capacity of each server that stays free, in per cent'),
  holdPercent: z.number().min(50).max(99.99).default(95).describe('Chance that the servers hold the rate, in per cent'),
});

export type PriceList = ReadOnly<z.infer<typeof priceList>>;
export type CostSpec = ReadOnly<z.infer<typeof costSpec>>;
