import { join } from 'node:path';
import { TrituneError } from '#base/errors.ts';
import { entryPath } from '#base/package.ts';
import { launchDocker } from '#launch/docker-server.ts';
import { launchEmulator } from '#launch/emulator-server.ts';
import { launchLocal } from '#launch/local-server.ts';
import type { LaunchedServer, LaunchOptions } from '#launch/types.ts';
import { DEFAULT_DOCKER_IMAGE, type LaunchSpec } from '#spec/server-spec.ts';
import type { TransportSpec } from '#spec/traffic-spec.ts';

const DEFAULT_EMULATOR_PROFILE = 'demo';
/**
 * The script of this package's command line. The process may run the user's own program, which has
 * no `emulate`.
 */
const script = entryPath('cli/main');

/** How to start a server for the run, and what it must support. */
export interface LaunchRequest extends Partial<LaunchSpec> {
  /** Memory shared between the requests and the server. */
  readonly sharedMemory?: TransportSpec['sharedMemory'];
  /** True if the server must trace requests. */
  readonly trace?: boolean | undefined;
}

/**
 * Starts the server that `--launch` names. A Triton loads `loadModels` of `launchOptions` at once;
 * an emulator loads all of its models. Errors: USAGE, PROFILE_INVALID, LAUNCH_FAILED, and for a
 * twin RUN_UNTRUSTED and JOURNAL_INVALID.
 */
export async function launchServer(options: LaunchRequest, launchOptions: LaunchOptions): Promise<LaunchedServer> {
  const [what, ...rest] = (options.launch ?? '').split(':');
  const which = rest.join(':');
  const common = { ...launchOptions, cpus: options.serverCpus };
  if (what === 'emulator') {
    const profile = which || DEFAULT_EMULATOR_PROFILE;
    const { loadProfile } = await import('#emulator/profile/profiles.ts');
    // Otherwise a misspelt name would be the error of a process that ended.
    loadProfile(profile);
    return launchEmulator({ ...common, profile, script });
  }
  if (what === 'twin' && which !== '') {
    const { checkOwnTwin } = await import('../study/twin-of-run.ts');
    await checkOwnTwin(which);
    return launchEmulator({ ...common, twinOf: which, script });
  }
  const triton = {
    ...common,
    ...(options.trace && { traceFile: join(common.logDirectory, 'trace.json') }),
    extraArgs: options.serverArg ?? [],
  };
  if (what === 'local') {
    return launchLocal({
      ...triton,
      modelRepository: needsRepository(options),
      ...(options.tritonserver !== undefined && { binary: options.tritonserver }),
    });
  }
  if (what === 'docker') {
    return launchDocker({
      ...triton,
      modelRepository: needsRepository(options),
      sharedMemory: options.sharedMemory ?? 'none',
      dockerArgs: options.dockerArg ?? [],
      image: options.dockerImage ?? DEFAULT_DOCKER_IMAGE,
      // Docker refuses to start a container that asks for GPUs if there are none.
      gpus: options.dockerGpus === 'none' ? null : (options.dockerGpus ?? 'all'),
    });
  }
  throw new TrituneError(
    'USAGE',
    `'${options.launch}' is not a server that --launch can start`,
    'use emulator[:PROFILE], twin:RUN_DIRECTORY, local or docker',
  );
}

/** Options that other launches would silently ignore. */
const launchesByOption = [
  { option: 'serverArg', flag: '--server-arg', launches: /^(local|docker)$/, hint: '--launch local or docker' },
  { option: 'dockerArg', flag: '--docker-arg', launches: /^docker$/, hint: '--launch docker' },
  { option: 'serverCpus', flag: '--server-cpus', launches: /./, hint: '--launch' },
] as const;

/**
 * Errors: USAGE for an option about another kind of launch, or about a server that is not launched.
 */
export function checkLaunch({ launch = '', ...options }: LaunchRequest): void {
  const wrong = launchesByOption.find(
    ({ option, launches }) => options[option] !== undefined && !launches.test(launch),
  );
  if (!wrong) return;
  throw new TrituneError('USAGE', `${wrong.flag} does not apply to this server`, `use it with ${wrong.hint}`);
}

function needsRepository(options: Pick<LaunchRequest, 'launch' | 'modelRepository'>): string {
  if (options.modelRepository === undefined) {
    throw new TrituneError(
      'USAGE',
      `--launch ${options.launch} needs a model repository`,
      'add --model-repository DIRECTORY',
    );
  }
  return options.modelRepository;
}
