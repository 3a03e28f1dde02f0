import { dirname, join, resolve } from 'node:path';
import { TrituneError } from '#base/errors.ts';
import { type ServerPorts, startOnFreePorts } from './free-ports.ts';
import { argumentsForModels } from './model-arguments.ts';
import { startServerProcess, traceFileArgument } from './server-process.ts';
import { findTriton, type TritonInstall } from './triton-install.ts';
import type { LaunchedServer, TritonLaunch } from './types.ts';

export interface LocalLaunch extends TritonLaunch {
  /** The user's own tritonserver binary; if absent, the one that `install-triton` fetched. */
  readonly binary?: string;
  readonly installDirectory?: string;
  readonly controlMode?: 'explicit' | 'none' | 'poll';
  /** The ports to listen on; free ones if absent. */
  readonly ports?: ServerPorts;
}

/**
 * Starts a tritonserver on loopback ports in explicit control mode, for this run only. Errors:
 * LAUNCH_FAILED (not installed, or it did not come up).
 */
export async function launchLocal(options: LocalLaunch): Promise<LaunchedServer> {
  const install = options.binary ? null : await findTriton(options.installDirectory);
  if (!options.binary && !install) {
    throw new TrituneError(
      'LAUNCH_FAILED',
      '--launch local found no Triton',
      'run `tritune install-triton` first, or give --tritonserver PATH',
    );
  }
  const start = (ports: ServerPorts): Promise<LaunchedServer> => launchOn(ports, install, options);
  return options.ports ? start(options.ports) : startOnFreePorts(start);
}

async function launchOn(
  ports: ServerPorts,
  install: TritonInstall | null,
  options: LocalLaunch,
): Promise<LaunchedServer> {
  const controlMode = options.controlMode ?? 'explicit';
  const args = [
    `--model-repository=${options.modelRepository}`,
    `--model-control-mode=${controlMode}`,
    ...(controlMode === 'explicit' ? await argumentsForModels(options.modelRepository, options) : []),
    ...(install ? listDirectories(install) : []),
    '--http-address=127.0.0.1',
    '--grpc-address=127.0.0.1',
    '--metrics-address=127.0.0.1',
    `--grpc-port=${ports.grpc}`,
    `--http-port=${ports.http}`,
    `--metrics-port=${ports.metrics}`,
    '--exit-on-error=false',
    // After a refused load this Triton does not exit cleanly; its default would make us wait 30 s.
    '--exit-timeout-secs=3',
    ...(options.traceFile === undefined ? [] : [traceFileArgument(resolve(options.traceFile))]),
    ...(options.extraArgs ?? []),
  ];
  return startServerProcess(
    {
      file: install?.binary ?? (options.binary as string),
      args,
      env: install ? createEnvironment(install) : {},
      description: 'tritonserver',
      ports,
      cpus: options.cpus,
    },
    options,
  );
}

/** The response caches are next to the backends. */
const listDirectories = ({ backendDirectory }: TritonInstall): readonly string[] => [
  `--backend-directory=${backendDirectory}`,
  `--cache-directory=${join(dirname(backendDirectory), 'caches')}`,
];

function createEnvironment(install: TritonInstall): Record<string, string> {
  const joined = (first: string, rest: string | undefined): string => (rest ? `${first}:${rest}` : first);
  return {
    PATH: joined(install.binDirectory, process.env.PATH),
    LD_LIBRARY_PATH: joined(install.libraryDirectory, process.env.LD_LIBRARY_PATH),
  };
}
