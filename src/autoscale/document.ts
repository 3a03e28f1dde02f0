import { z } from 'zod';
import type { ReadOnly } from '#base/read-only.ts';
import { count, figure, openObject, text } from '#base/schema.ts';
import { autoscalerKinds } from './autoscaler.ts';

/** The values of an autoscaler, and what they give in simulation, as documents have them. */
export const scalingSchema = openObject({
  kind: z.enum(autoscalerKinds).describe('The autoscaler'),
  file: text.describe('The file with its object'),
  isPredicted: z.boolean().describe('Whether the capacity of a replica was predicted, and not measured'),
  targetPerSecond: figure.describe('Requests per second for each replica'),
  minReplicas: count.describe('The fewest replicas'),
  maxReplicas: count.describe('The most replicas'),
  scaleDownSeconds: figure.describe('Fewer replicas are taken once they were enough for this long'),
  startSeconds: figure.describe('From the start of a replica until it serves, as stated or assumed'),
  holdShare: figure.describe('Share of the requests for which the limit should hold'),
  holds: z.boolean().describe('Whether it did so in simulation'),
  traffic: z
    .array(
      openObject({
        name: text.describe('Its name'),
        hours: figure.describe('Its length'),
        peakPerSecond: figure.describe('Requests per second in its busiest time'),
        brokenShare: figure.describe('Share of its requests that came while the limit did not hold'),
        replicaHours: figure.describe('Replicas times hours'),
        clairvoyantHours: figure.describe('The same of somebody who knows the traffic in advance'),
      }),
    )
    .describe('What the autoscaler would do, for each traffic that was simulated'),
}).describe("An autoscaler's values");

export type ScalingDocument = ReadOnly<z.infer<typeof scalingSchema>>;
