import { z } from 'zod';

/**
 * The supported keys of Model Analyzer's YAML file, and their forms. Other keys are accepted, and
 * listed.
 */

const text = z.string().min(1);
const positive = z.number().positive();
const whole = z.int().positive();

const MAX_NUMBERS = 1000;

/** `8`, `'1,2,4'`, `[1, 2, 4]`, or `{start, stop, step}` with both ends included → the numbers. */
const numberList = z.union(
  [
    positive.transform((value) => [value]),
    z.array(positive).min(1).max(MAX_NUMBERS),
    z
      .string()
      .max(20 * MAX_NUMBERS)
      .regex(/^\s*\d+(?:\.\d+)?(?:\s*,\s*\d+(?:\.\d+)?)*\s*$/)
      .transform((list) => list.split(',').map(Number))
      .refine((list) => list.length <= MAX_NUMBERS && list.every((value) => value > 0 && value < Infinity)),
    z
      .strictObject({ start: whole, stop: whole, step: whole.default(1) })
      .refine(({ start, stop, step }) => stop >= start && stop - start < MAX_NUMBERS * step)
      .transform(({ start, stop, step }) =>
        Array.from({ length: Math.floor((stop - start) / step) + 1 }, (_, index) => start + index * step),
      ),
  ],
  'expected a number above 0, a list of them, or start, stop and step',
);

const names = z.union(
  [text.transform((list) => list.split(',').flatMap((name) => name.trim() || [])), z.array(text)],
  'expected names',
);

/** Objectives in a list have equal weights. */
const objectives = z.union(
  [
    z.array(text).transform((list) => Object.fromEntries(list.map((name) => [name, 1]))),
    z.record(text, positive, 'expected names of metrics'),
  ],
  'expected names of metrics, each with a weight above 0',
);

const limits = z
  .strictObject({ min: z.number().nonnegative().optional(), max: z.number().nonnegative().optional() })
  .refine(({ min, max }) => min !== undefined || max !== undefined, 'expected min or max');

const flagValue = z.union(
  [z.string(), z.number(), z.boolean(), z.array(z.string())],
  'expected a value or a list of texts',
);

/** tritonserver's options by name; a list gives an option several times. */
const serverFlags = z.record(
  text,
  z.union([z.string(), z.number(), z.boolean(), z.array(z.union([z.string(), z.number()]))]),
  'expected options of tritonserver by name',
);

const shared = {
  objectives: objectives.optional(),
  constraints: z.record(text, limits).optional(),
  perf_analyzer_flags: z.record(text, flagValue).optional(),
  triton_server_flags: serverFlags.optional(),
};

export const modelSettings = z.looseObject({
  ...shared,
  cpu_only: z.boolean().optional(),
  weighting: whole.optional(),
  parameters: z
    .looseObject({
      batch_sizes: numberList.optional(),
      concurrency: numberList.optional(),
      request_rate: numberList.optional(),
    })
    .optional(),
  model_config_parameters: z.record(text, z.json()).optional(),
});

export const analyzerFile = z.looseObject({
  ...shared,
  profile_models: z.unknown().optional(),
  model_type: text.optional(),
  model_repository: text.optional(),
  export_path: text.optional(),
  cpu_only_composing_models: names.optional(),
  bls_composing_models: z.unknown().optional(),
  ensemble_composing_models: z.unknown().optional(),
  run_config_profile_models_concurrently_enable: z.boolean().optional(),
  client_protocol: z.enum(['grpc', 'http']).optional(),
  triton_launch_mode: z.enum(['local', 'docker', 'remote', 'c_api']).optional(),
  triton_grpc_endpoint: text.optional(),
  triton_http_endpoint: text.optional(),
  triton_metrics_url: text.optional(),
  triton_server_path: text.optional(),
  triton_docker_image: text.optional(),
  triton_docker_mounts: z.union([text.transform((mount) => [mount]), z.array(text)], 'expected mounts').optional(),
  triton_docker_labels: z.record(text, z.string(), 'expected labels with their texts').optional(),
  triton_server_environment: z
    .record(text, z.union([z.string(), z.number(), z.boolean()]), 'expected variables with their values')
    .optional(),
  triton_docker_shm_size: z.union([text, z.number()], 'expected a size such as 1G').optional(),
  batch_sizes: numberList.optional(),
  concurrency: numberList.optional(),
  request_rate: numberList.optional(),
  request_rate_search_enable: z.boolean().optional(),
  run_config_search_mode: z.enum(['brute', 'quick', 'optuna']).optional(),
  run_config_search_disable: z.boolean().optional(),
  run_config_search_min_concurrency: whole.optional(),
  run_config_search_max_concurrency: whole.optional(),
  run_config_search_min_request_rate: whole.optional(),
  run_config_search_max_request_rate: whole.optional(),
  run_config_search_min_instance_count: whole.optional(),
  run_config_search_max_instance_count: whole.optional(),
  run_config_search_min_model_batch_size: whole.optional(),
  run_config_search_max_model_batch_size: whole.optional(),
  early_exit_enable: z.boolean().optional(),
  optuna_max_trials: whole.optional(),
  latency_budget: positive.optional(),
  min_throughput: positive.optional(),
});

export type AnalyzerFile = z.infer<typeof analyzerFile>;
export type ModelSettings = z.infer<typeof modelSettings>;

/** Records an ignored key, and why. */
export type Ignore = (key: string, reason: string) => void;
