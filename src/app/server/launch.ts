import { extname, join } from 'node:path';
import { TrituneError } from '../../base/errors.ts';
import { launchDocker } from '../../launch/docker-server.ts';
import { launchEmulator } from '../../launch/emulator-server.ts';
import { launchLocal } from '../../launch/local-server.ts';
import type { LaunchedServer, LaunchOptions } from '../../launch/types.ts';
import { DEFAULT_DOCKER_IMAGE, type LaunchSpec } from '../../spec/server-spec.ts';
import type { TransportSpec } from '../../spec/traffic-spec.ts';

const DEFAULT_EMULATOR_PROFILE = 'demo';
/** The command line of this package: the process may be a program of the user's own, which has no `emulate`. */
const script = join(import.meta.dirname, '../../cli', `main${extname(import.meta.filename)}`);

/** How a server is started for the run, and what it must be able to do. */
export interface LaunchRequest extends Partial<LaunchSpec> {
  /** Memory that the requests share with it. */
  readonly sharedMemory?: TransportSpec['sharedMemory'];
  /** Whether it is to trace requests. */
  readonly trace?: boolean | undefined;
}

/** Starts the server that `--launch` names; a Triton loads `loadModels` of `common` at once, an emulator all that it has. Errors: USAGE, LAUNCH_FAILED. */
export async function launchServer(options: LaunchRequest, common: LaunchOptions): Promise<LaunchedServer> {
  const [what, ...rest] = (options.launch ?? '').split(':');
  const which = rest.join(':');
  if (what === 'emulator') return launchEmulator({ ...common, profile: which || DEFAULT_EMULATOR_PROFILE, script });
  if (what === 'twin' && which !== '') return launchEmulator({ ...common, twinOf: which, script });
  const traceFile = options.trace ? { traceFile: join(common.logDirectory, 'trace.json') } : {};
  if (what === 'local') {
    return launchLocal({
      ...common,
      modelRepository: needsRepository(options),
      ...(options.tritonserver !== undefined && { binary: options.tritonserver }),
      ...traceFile,
    });
  }
  if (what === 'docker') {
    if ((options.sharedMemory ?? 'none') !== 'none') {
      throw new TrituneError(
        'USAGE',
        'a container that is started for the run has shared memory of its own',
        'start one yourself with --ipc=host, or use --launch local',
      );
    }
    return launchDocker({
      ...common,
      modelRepository: needsRepository(options),
      ...traceFile,
      image: options.dockerImage ?? DEFAULT_DOCKER_IMAGE,
      // Docker refuses every container where it is asked for GPUs and there are none.
      gpus: options.dockerGpus === 'none' ? null : (options.dockerGpus ?? 'all'),
    });
  }
  throw new TrituneError(
    'USAGE',
    `there is no --launch '${options.launch}'`,
    'use emulator[:PROFILE], twin:RUN_DIRECTORY, local or docker',
  );
}

function needsRepository(options: Pick<LaunchRequest, 'launch' | 'modelRepository'>): string {
  if (options.modelRepository === undefined) {
    throw new TrituneError(
      'USAGE',
      `--launch ${options.launch} needs a model repository`,
      'give --model-repository DIR',
    );
  }
  return options.modelRepository;
}
