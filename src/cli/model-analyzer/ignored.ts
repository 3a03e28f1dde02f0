import { didYouMean } from '../../base/nearest.ts';
import { analyzerFile, type Ignore, modelSettings } from './schema.ts';

const noReports = 'one report holds every trial: report.html, results.csv and summary.json';
const ownClient = 'requests are sent by a load generator of our own';
const ownServer =
  'it is not passed on: give --docker-arg, or start the server yourself and say triton_launch_mode: remote';
const fromServer = "GPU figures are read from the server's metrics";
const inPlace = 'configs are sent to the server as they are: no repository is written';
const ownStop = 'the search stops by --max-trials, --time-budget, or by itself';

/** Keys of Model Analyzer's that do not count, by pattern, and why. */
const reasons: readonly (readonly [RegExp, string])[] = [
  [/^(output_model_repository_path|override_output_model_repository)$/, inPlace],
  [/^checkpoint_directory$/, 'the journal in the output directory is the checkpoint: --resume'],
  [/^reload_model_disable$/, 'a config can only be tried by loading the model with it'],
  [/^(optuna_.*|(min|max)_percentage_of_search_space|use_concurrency_formula)$/, ownStop],
  [
    /^run_config_search_max_binary_search_steps$/,
    'the search for the highest level within the budget has steps of its own',
  ],
  [
    /^concurrency_sweep_disable$/,
    'the best candidates are measured again at their best levels, in turn with the original',
  ],
  [/^(num_configs_per_model|num_top_model_configs|plots|skip_.*_reports|.*_output_fields|filename_.*)$/, noReports],
  [/^(perf_analyzer_(path|timeout|cpu_util|max_auto_adjusts)|perf_output.*|client_max_retries)$/, ownClient],
  [/^(genai_perf_flags|genai_perf_path)$/, 'figures of tokens are not measured'],
  [
    /^(monitoring_interval|duration_seconds|collect_cpu_metrics|gpus|dcgm_disable|always_report_gpu_metrics)$/,
    fromServer,
  ],
  [/^triton_docker_args$/, ownServer],
  [/^triton_server_environment$/, 'a server that is started for the run has the environment of tritune'],
  [/^triton_install_path$/, 'give its binary as triton_server_path'],
  [/^triton_output_path$/, "the server's log is in the output directory, under server/"],
  [/^config_file$/, 'this is the file'],
];

/** Keys that are read. */
const read = new Set([...Object.keys(analyzerFile.shape), ...Object.keys(modelSettings.shape)]);
const ofParameters = ['batch_sizes', 'concurrency', 'request_rate'];

/** Notes down the keys that nothing is read from, of the file, of a model's settings, or of its `parameters`. */
export function ignoreKeys(fields: object, prefix: string, ignore: Ignore): void {
  const known = prefix.endsWith('.parameters.') ? new Set(ofParameters) : read;
  for (const [key, value] of Object.entries(fields)) {
    if (value === undefined || known.has(key)) continue;
    const reason = reasons.find(([pattern]) => pattern.test(key))?.[1];
    ignore(`${prefix}${key}`, reason ?? `tritune does not know it${didYouMean(key, known)}`);
  }
}
