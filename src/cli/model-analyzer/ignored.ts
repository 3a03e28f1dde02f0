import { didYouMean } from '#base/nearest.ts';
import { analyzerFile, type Ignore, modelSettings } from './schema.ts';

const noReports = 'one report holds every trial: report.html, results.csv and summary.json';
const ownClient = 'tritune has its own load generator';
const ownServer = 'not passed on: use --docker-arg, or start the server yourself and set triton_launch_mode: remote';
const fromServer = "GPU figures are read from the server's metrics";
const inPlace = 'configs are sent to the server: no model repository is written';
const ownStop = 'the search stops on its own, or by --max-trials or --time-budget';

/** Patterns of Model Analyzer's keys that are ignored, and why. */
const reasons: readonly (readonly [RegExp, string])[] = [
  [/^(output_model_repository_path|override_output_model_repository)$/, inPlace],
  [/^checkpoint_directory$/, 'the journal in the output directory is the checkpoint; use --resume'],
  [/^reload_model_disable$/, 'a config can be tried only by loading the model with it'],
  [/^(optuna_.*|(min|max)_percentage_of_search_space|use_concurrency_formula)$/, ownStop],
  [/^run_config_search_max_binary_search_steps$/, 'tritune has its own search for the highest level within the budget'],
  [/^concurrency_sweep_disable$/, 'the best candidates are always measured again, in turn with the original'],
  [/^(num_configs_per_model|num_top_model_configs|plots|skip_.*_reports|.*_output_fields|filename_.*)$/, noReports],
  [/^(perf_analyzer_(path|timeout|cpu_util|max_auto_adjusts)|perf_output.*|client_max_retries)$/, ownClient],
  [
    /^(genai_perf_flags|genai_perf_path)$/,
    'use tritune profile --endpoint or tritune tune --endpoint for language models',
  ],
  [/^(monitoring_interval|duration_seconds|gpus|dcgm_disable|always_report_gpu_metrics)$/, fromServer],
  [
    /^collect_cpu_metrics$/,
    "the CPU use of the server's host is always read, from the server's metrics (metric cpu-utilization)",
  ],
  [/^triton_docker_args$/, ownServer],
  [/^triton_server_environment$/, 'one server is started for all models: set it at the top of the file'],
  [/^triton_install_path$/, 'use triton_server_path'],
  [/^triton_output_path$/, "the server's log is in the output directory, under server/"],
  [/^config_file$/, 'this is that file'],
];

/** Keys that are read. */
const read = new Set([...Object.keys(analyzerFile.shape), ...Object.keys(modelSettings.shape)]);
const ofParameters = ['batch_sizes', 'concurrency', 'request_rate'];

/** Records the ignored keys of the file, of a model's settings, or of its `parameters`. */
export function ignoreKeys(fields: object, prefix: string, ignore: Ignore): void {
  const known = prefix.endsWith('.parameters.') ? new Set(ofParameters) : read;
  for (const [key, value] of Object.entries(fields)) {
    if (value === undefined || known.has(key)) continue;
    const reason = reasons.find(([pattern]) => pattern.test(key))?.[1];
    ignore(`${prefix}${key}`, reason ?? `tritune does not know it${didYouMean(key, known)}`);
  }
}
