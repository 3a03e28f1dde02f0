import { z } from 'zod';
import type { ReadOnly } from '#base/read-only.ts';

const text = z.string().min(1);

/** What is sent to a plain HTTP service. */
export const httpSpec = z.strictObject({
  path: text
    .regex(/^\/\S*$/, 'expected a path such as /inference')
    .optional()
    .describe('Path and query of the requests'),
  method: text.optional().describe('HTTP method; GET, or POST with a body, by default'),
  body: z.string().optional().describe('Body of every request'),
  bodyFile: text.optional().describe('File with the body of every request'),
  bodiesFile: text.optional().describe('File with a body in each line, which are sent in turn'),
  disableKeepalive: z.boolean().optional().describe('Open a new connection for every request'),
});

export type HttpSpec = ReadOnly<z.infer<typeof httpSpec>>;
