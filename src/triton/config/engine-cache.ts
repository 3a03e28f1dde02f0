import { createHash } from 'node:crypto';
import { canonicalJson, type Json, type JsonObject } from '#base/json.ts';
import { isSwitchedOn, listAccelerators, readParameters } from './accelerators.ts';
import { namesOfBackend } from './backend-names.ts';
import type { ModelConfig } from './model-config.ts';

/**
 * Parameters of ONNX Runtime's TensorRT accelerator: engines are kept in a directory of the
 * server's machine, and a load that needs one of them reads it instead of building it again
 * (onnxruntime_backend, README and onnxruntime.cc, since 21.09).
 */
const ENABLE = 'trt_engine_cache_enable';
const PATH = 'trt_engine_cache_path';

/** Parameters that say whether or where engines are kept. A calibration table lies beside them. */
const STATED = [ENABLE, PATH, 'int8_calibration_table_name'];

/** ONNX Runtime creates the last folder of a path only. */
const DIRECTORY = '/tmp/tritune-engines-';

/** True for a directory that `withEngineCache` names. */
export const isEngineDirectory = (path: string): boolean => path.startsWith(DIRECTORY);

/**
 * Returns the config with a cache of engines for its TensorRT accelerator in ONNX Runtime; as it is
 * if it has none, or says itself whether or where engines are kept. The cache is on the server
 * only: see `withoutEngineCache`. `secret`: what nobody else on the server's machine can guess, who
 * could put an engine of their own there. ONNX Runtime knows an engine by the graph and the file's
 * name, not by the weights: each secret, model, version policy and file has a directory.
 */
export function withEngineCache(config: ModelConfig, secret: string): ModelConfig {
  if (namesOfBackend(config)?.backend !== 'onnxruntime') return config;
  const { name, version_policy, default_model_filename } = config;
  const key = canonicalJson([secret, name, version_policy ?? null, default_model_filename ?? null] as Json);
  const path = `${DIRECTORY}${createHash('sha256').update(key).digest('hex').slice(0, 12)}`;
  return editTensorrt(config, (parameters) =>
    STATED.some((name) => parameters[name] !== undefined) ? parameters : { ...parameters, [ENABLE]: '1', [PATH]: path },
  );
}

/**
 * Returns the config without a cache that `withEngineCache` added, as every reader gets it: no
 * file, journal, fingerprint or comparison has it.
 */
export function withoutEngineCache(config: ModelConfig): ModelConfig {
  return editTensorrt(config, (parameters) => {
    if (!isOurs(parameters)) return parameters;
    const { [ENABLE]: _, [PATH]: __, ...others } = parameters;
    return others;
  });
}

/** Returns where the config keeps engines; null if it keeps none. */
export function readEngineCache(config: ModelConfig): string | null {
  const kept = listAccelerators(config)
    .map(readParameters)
    .find((parameters) => isSwitchedOn(parameters[ENABLE]));
  return kept ? String(kept[PATH] ?? '') : null;
}

const isOurs = (parameters: JsonObject): boolean => isEngineDirectory(String(parameters[PATH]));

/** Returns the config itself if the edit changes nothing. */
function editTensorrt(config: ModelConfig, edit: (parameters: JsonObject) => JsonObject): ModelConfig {
  const { optimization } = config;
  const accelerators = optimization?.execution_accelerators as JsonObject | undefined;
  const list = accelerators?.gpu_execution_accelerator;
  if (!optimization || !Array.isArray(list)) return config;
  const edited = (list as JsonObject[]).map((accelerator) => {
    if (accelerator.name !== 'tensorrt') return accelerator;
    const before = readParameters(accelerator);
    const after = edit(before);
    if (after === before) return accelerator;
    const { parameters: _, ...rest } = accelerator;
    return Object.keys(after).length === 0 ? rest : { ...rest, parameters: after };
  });
  if (edited.every((accelerator, index) => accelerator === list[index])) return config;
  const kept = { ...accelerators, gpu_execution_accelerator: edited };
  return { ...config, optimization: { ...optimization, execution_accelerators: kept } } as ModelConfig;
}
