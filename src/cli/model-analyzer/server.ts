import { faultOfServerArgument } from '#spec/launch-arguments.ts';
import type { LaunchSpec, Protocol } from '#spec/server-spec.ts';
import type { FlatStudyOptions } from '#spec/tune-options.ts';
import type { AnalyzerFile, Ignore, ModelSettings } from './schema.ts';

type ServerOptions = Partial<Pick<FlatStudyOptions, 'protocol' | 'url' | 'controlUrl' | 'metricsUrl'> & LaunchSpec>;

const endpoints = ['triton_grpc_endpoint', 'triton_http_endpoint', 'triton_metrics_url'] as const;
const ofContainer = [
  'triton_docker_image',
  'triton_docker_mounts',
  'triton_docker_labels',
  'triton_docker_shm_size',
] as const;

/**
 * Returns the server's address, or how it is started: locally unless the file says otherwise, like
 * Model Analyzer. `models`: the settings of the tuned models.
 */
export function serverOptions(
  file: AnalyzerFile,
  protocol: Protocol,
  models: ReadonlyMap<string, ModelSettings>,
  ignore: Ignore,
): ServerOptions {
  const mode = file.triton_launch_mode ?? 'local';
  const unused = (keys: readonly (keyof AnalyzerFile & string)[], reason: string): void => {
    for (const key of keys) if (file[key] !== undefined) ignore(key, reason);
  };
  if (mode === 'remote') {
    const isThere = 'the server is there already';
    const ofStart = [
      'model_repository',
      'triton_server_path',
      'triton_server_flags',
      'triton_server_environment',
    ] as const;
    unused([...ofStart, ...ofContainer], isThere);
    for (const [name, settings] of models)
      if (settings.triton_server_flags) ignore(`profile_models.${name}.triton_server_flags`, isThere);
    const url = protocol === 'grpc' ? file.triton_grpc_endpoint : file.triton_http_endpoint;
    const control = protocol === 'http' ? file.triton_grpc_endpoint : undefined;
    return {
      protocol,
      ...(url !== undefined && { url }),
      ...(control !== undefined && { controlUrl: control }),
      ...(file.triton_metrics_url !== undefined && { metricsUrl: file.triton_metrics_url }),
    };
  }
  unused(endpoints, 'a server that is started for the run gets free ports');
  if (mode === 'c_api')
    ignore('triton_launch_mode', 'the server is not run within this process: it is started beside it');
  const launch = mode === 'docker' ? 'docker' : 'local';
  unused(launch === 'docker' ? ['triton_server_path'] : ofContainer, `nothing of it is used in ${launch} mode`);
  if (launch === 'local')
    unused(['triton_server_environment'], 'a server on this machine has the environment of tritune: set it there');
  const { triton_server_path: binary, triton_docker_image: image, model_repository: modelRepository } = file;
  const serverArg = serverArguments(file, models, ignore);
  const dockerArg = launch === 'docker' ? dockerArguments(file) : [];
  return {
    protocol,
    launch,
    ...(modelRepository !== undefined && { modelRepository }),
    ...(launch === 'local' && binary !== undefined && { tritonserver: binary }),
    ...(launch === 'docker' && image !== undefined && { dockerImage: image }),
    ...(serverArg.length > 0 && { serverArg }),
    ...(dockerArg.length > 0 && { dockerArg }),
  };
}

/** One server runs for all models, so the flags of a model apply only if it is the only one. */
function serverArguments(
  file: AnalyzerFile,
  models: ReadonlyMap<string, ModelSettings>,
  ignore: Ignore,
): readonly string[] {
  const withFlags = [...models].filter(([, settings]) => settings.triton_server_flags !== undefined);
  const [only] = models.size === 1 ? withFlags : [];
  if (!only) {
    for (const [name] of withFlags)
      ignore(`profile_models.${name}.triton_server_flags`, 'one server is started for all models');
  }
  const [at, flags = {}] = only
    ? [`profile_models.${only[0]}.triton_server_flags`, only[1].triton_server_flags]
    : ['triton_server_flags', file.triton_server_flags];
  return Object.entries(flags).flatMap(([flag, value]) => {
    const values = Array.isArray(value) ? value : [value];
    const texts = values.map((each) => `--${flag.replaceAll('_', '-')}=${each}`);
    const fault = texts.map(faultOfServerArgument).find((each) => each !== null);
    if (fault === undefined) return texts;
    ignore(`${at}.${flag}`, fault);
    return [];
  });
}

function dockerArguments(file: AnalyzerFile): readonly string[] {
  const { triton_docker_mounts: mounts = [], triton_docker_labels: labels = {}, triton_docker_shm_size: size } = file;
  return [
    ...mounts.map((mount) => `--volume=${mount}`),
    ...Object.entries(labels).map(([name, value]) => `--label=${name}=${value}`),
    ...(size === undefined ? [] : [`--shm-size=${size}`]),
    ...Object.entries(file.triton_server_environment ?? {}).map(([name, value]) => `--env=${name}=${value}`),
  ];
}
