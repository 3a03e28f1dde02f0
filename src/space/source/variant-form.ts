import { z } from 'zod';

/** The form of a variant in a search-space file (docs/variants.md). */

const localFile = z
  .union([
    z.string().min(1).max(1000),
    z.strictObject({
      path: z.string().min(1).max(1000).describe('its path'),
      sha256: z
        .string()
        .regex(/^[0-9a-f]{64}$/)
        .optional()
        .describe('the file must have this content'),
      bytes: z.int().nonnegative().optional().describe('its size in bytes'),
    }),
  ])
  .describe('a file or folder beside the search-space file');

/** `1/model.onnx`: a version, then a path without `..`. */
const place = z
  .string()
  .regex(/^(?!.*(?:^|\/)\.\.?(?:\/|$))\d+(?:\/[^/\\\0]+)+$/, 'a file has a place such as 1/model.onnx: VERSION/NAME')
  .max(300);
/** A folder may be a whole version. */
const placeOrVersion = z.union([z.string().regex(/^\d+$/), place]);

const MAX_FILES = 1_000;

const build = z.strictObject({
  command: z
    .union([z.string().min(1).max(10_000), z.array(z.string().max(10_000)).min(1).max(1_000)])
    .describe('a program with its arguments, or a shell command line; it writes into the folder $TRITUNE_OUTPUT'),
  inputs: z
    .array(localFile)
    .max(MAX_FILES)
    .optional()
    .describe('further files and folders that the result depends on, besides those that the command names'),
  outputs: z
    .record(place, z.string().min(1).max(1000))
    .optional()
    .describe('path in the model → file in $TRITUNE_OUTPUT, such as 1/model.plan: engine; everything in it by default'),
  directory: z
    .string()
    .min(1)
    .max(1000)
    .optional()
    .describe("working directory of the command; the search-space file's folder by default"),
  env: z
    .record(z.string(), z.string())
    .optional()
    .describe('further environment variables; the journal keeps them, so no secrets'),
  timeout: z
    .number()
    .positive()
    .max(604_800)
    .optional()
    .describe('seconds until the command and its child processes are ended; 3600 by default'),
  seconds: z
    .number()
    .nonnegative()
    .optional()
    .describe(
      'expected duration in seconds, which the sampler weighs against what the variant promises; 60 by default',
    ),
});

const variantFields = z.strictObject({
  description: z.string().optional().describe('notes for people'),
  files: z
    .record(placeOrVersion, localFile)
    .refine((all) => Object.keys(all).length <= MAX_FILES, `a variant has at most ${MAX_FILES} files`)
    .optional()
    .describe("path in the model's folder, such as 1/model.onnx → local file or folder, which is uploaded"),
  build: build.optional().describe('command that makes files when the search first selects the variant'),
  model: z
    .string()
    .min(1)
    .max(1000)
    .optional()
    .describe('name of another model on the server with the same requests; excludes files and build'),
  version: z.int().positive().optional().describe("a version in the model's folder on the server"),
  config: z
    .record(z.string(), z.json())
    .optional()
    .describe('field path → value, as in choices; null removes the field'),
  expects: z.number().positive().optional().describe('expected execution time, relative to the other variants'),
});

export const variantFile = variantFields.refine(
  ({ model, files, build: built }) => model === undefined || (files === undefined && built === undefined),
  { path: ['model'], message: 'a model of the server is served from its own files: leave out files and build' },
);

export const variantsFile = z
  .record(z.string().regex(/^[\w.-]{1,60}$/, 'a variant is named by letters, digits, _ . and -'), variantFile)
  .describe('artifacts that the model may be served from: the values of the parameter `variant`');

export const buildKeys = Object.keys(build.shape);

export type VariantFile = z.infer<typeof variantFile>;
export type BuildFile = z.infer<typeof build>;
export type LocalFileFile = z.infer<typeof localFile>;
