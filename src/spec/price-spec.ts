import { z } from 'zod';
import type { ReadOnly } from '../base/read-only.ts';

const text = z.string().min(1);
const perHour = z.number().positive().describe('Price per hour');

const slice = z
  .union([
    z.strictObject({ perHour }),
    z.strictObject({ share: z.number().positive().max(1).describe("Share of the whole GPU's price") }),
  ])
  .describe("A MIG slice, with its own price or a share of its GPU's");

const gpu = z.union([
  perHour,
  z.strictObject({ perHour, slices: z.record(text, slice).optional().describe('MIG slices by name, such as 1g.10gb') }),
]);

const instanceType = z.strictObject({
  perHour,
  gpus: z.int().nonnegative().default(0).describe('Number of GPUs or slices'),
  gpu: text.optional().describe('Name of the GPUs, for information'),
  cpus: z.number().positive().optional().describe('CPU cores, for information'),
  memoryGiB: z.number().positive().optional().describe('Memory of the host, for information'),
});

/** The form of a file for `--prices` (docs/prices.schema.json). */
export const priceList = z
  .strictObject({
    $schema: text.optional(),
    pricesVersion: z.literal(1).default(1),
    currency: text.default('USD').describe('Currency of all prices'),
    gpus: z.record(text, gpu).default({}).describe('GPUs by name: price per hour, and MIG slices'),
    instanceTypes: z.record(text, instanceType).default({}).describe('Whole servers by name'),
  })
  .refine(({ gpus, instanceTypes }) => Object.keys({ ...gpus, ...instanceTypes }).length > 0, {
    error: 'it has neither gpus nor instanceTypes',
  });

export const costSpec = z.strictObject({
  gpu: text.optional().describe('GPU of the prices that candidates run on, or GPU/SLICE'),
  serverGpus: z.int().positive().optional().describe('GPUs of the server, if its metrics do not show them'),
  instanceType: text.optional().describe('Instance type of the prices that the server runs on'),
  forRate: z
    .union([z.number().positive(), z.record(text, z.number().positive())])
    .optional()
    .describe('Inferences per second to serve, by as many servers as needed; in total or by model'),
  headroomPercent: z.number().min(0).max(95).default(10).describe('Capacity of each server that stays free'),
  holdPercent: z.number().min(50).max(99.9).default(95).describe('Chance that the servers hold the rate'),
});

export type PriceList = ReadOnly<z.infer<typeof priceList>>;
export type CostSpec = ReadOnly<z.infer<typeof costSpec>>;
