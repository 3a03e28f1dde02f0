import type { Protocol } from '../../spec/server-spec.ts';
import type { TuneOptions } from '../../spec/tune-options.ts';
import type { AnalyzerFile, Ignore } from './schema.ts';

type ServerOptions = Partial<
  Pick<
    TuneOptions,
    'protocol' | 'url' | 'controlUrl' | 'metricsUrl' | 'launch' | 'modelRepository' | 'tritonserver' | 'dockerImage'
  >
>;

const endpoints = ['triton_grpc_endpoint', 'triton_http_endpoint', 'triton_metrics_url'] as const;

/** Where the server is, or how it is started; as Model Analyzer does, locally unless the file says otherwise. */
export function serverOptions(file: AnalyzerFile, protocol: Protocol, ignore: Ignore): ServerOptions {
  const mode = file.triton_launch_mode ?? 'local';
  const unused = (key: keyof AnalyzerFile & string, reason: string): void => {
    if (file[key] !== undefined) ignore(key, reason);
  };
  if (mode === 'remote') {
    for (const key of ['model_repository', 'triton_server_path', 'triton_docker_image'] as const) {
      unused(key, 'the server is there already');
    }
    const url = protocol === 'grpc' ? file.triton_grpc_endpoint : file.triton_http_endpoint;
    const control = protocol === 'http' ? file.triton_grpc_endpoint : undefined;
    return {
      protocol,
      ...(url !== undefined && { url }),
      ...(control !== undefined && { controlUrl: control }),
      ...(file.triton_metrics_url !== undefined && { metricsUrl: file.triton_metrics_url }),
    };
  }
  for (const key of endpoints) unused(key, 'a server that is started for the run gets free ports');
  if (mode === 'c_api')
    ignore('triton_launch_mode', 'the server is not run within this process: it is started beside it');
  const launch = mode === 'docker' ? 'docker' : 'local';
  unused(launch === 'docker' ? 'triton_server_path' : 'triton_docker_image', `nothing of it is used in ${launch} mode`);
  const { triton_server_path: binary, triton_docker_image: image, model_repository: modelRepository } = file;
  return {
    ...{ protocol, launch },
    ...(modelRepository !== undefined && { modelRepository }),
    ...(launch === 'local' && binary !== undefined && { tritonserver: binary }),
    ...(launch === 'docker' && image !== undefined && { dockerImage: image }),
  };
}
