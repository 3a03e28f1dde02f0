import { z } from 'zod';
import type { ReadOnly } from '../base/read-only.ts';

const text = z.string().min(1);
const perHour = z.number().positive().describe('Price of an hour');

const slice = z
  .union([
    z.strictObject({ perHour }),
    z.strictObject({ share: z.number().positive().max(1).describe("Share of the whole GPU's price") }),
  ])
  .describe('A MIG slice, at a price of its own or at a share of its GPU');

const gpu = z.union([
  perHour,
  z.strictObject({ perHour, slices: z.record(text, slice).optional().describe('MIG slices by name, such as 1g.10gb') }),
]);

const instanceType = z.strictObject({
  perHour,
  gpus: z.int().nonnegative().default(0).describe('GPUs, or slices, that one has'),
  gpu: text.optional().describe('Their name, for people'),
  cpus: z.number().positive().optional().describe('CPU cores, for people'),
  memoryGiB: z.number().positive().optional().describe('Memory of the host, for people'),
});

/** The form of a file for `--prices` (docs/prices.schema.json). */
export const priceList = z
  .strictObject({
    $schema: text.optional(),
    pricesVersion: z.literal(1).default(1),
    currency: text.default('USD').describe('Stands beside every amount'),
    gpus: z.record(text, gpu).default({}).describe('GPUs by name: price of an hour, and MIG slices'),
    instanceTypes: z.record(text, instanceType).default({}).describe('Whole servers by name'),
  })
  .refine(({ gpus, instanceTypes }) => Object.keys({ ...gpus, ...instanceTypes }).length > 0, {
    error: 'it has neither gpus nor instanceTypes',
  });

export const costSpec = z.strictObject({
  gpu: text.optional().describe('What a candidate is placed on: a GPU of the prices, or GPU/SLICE'),
  serverGpus: z.int().positive().optional().describe('GPUs of the server, where its metrics do not tell'),
  instanceType: text.optional().describe('What the server is, as a whole: an instance type of the prices'),
  forRate: z
    .union([z.number().positive(), z.record(text, z.number().positive())])
    .optional()
    .describe('Inferences per second to be served by as many servers as that takes; of several models also each'),
  headroomPercent: z.number().min(0).max(95).default(10).describe('Part of the capacity that is kept free'),
  holdPercent: z.number().min(50).max(99.9).default(95).describe('Chance to hold the rate'),
});

export type PriceList = ReadOnly<z.infer<typeof priceList>>;
export type CostSpec = ReadOnly<z.infer<typeof costSpec>>;
