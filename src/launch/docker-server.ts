import { randomUUID } from 'node:crypto';
import { dirname, resolve } from 'node:path';
import { execa } from 'execa';
import { TrituneError } from '#base/errors.ts';
import { passedOn } from './environment.ts';
import { type ServerPorts, startOnFreePorts } from './free-ports.ts';
import { argumentsForModels } from './model-arguments.ts';
import { startServerProcess, traceFileArgument } from './server-process.ts';
import type { LaunchedServer, TritonLaunch } from './types.ts';

/** What a container shares with us: nothing, the system's shared memory, or a GPU's too. */
export type SharedWithContainer = 'none' | 'system' | 'cuda';

export interface DockerLaunch extends TritonLaunch {
  readonly image: string;
  /** As for `docker run --gpus`; null for none. */
  readonly gpus: string | null;
  /** The memory that tensors are sent in; none if absent. */
  readonly sharedMemory?: SharedWithContainer;
  /** Further options of `docker run`, unchanged; of two that conflict, the last one counts. */
  readonly dockerArgs?: readonly string[];
}

/**
 * The namespaces for each kind of shared memory. A container with its own IPC namespace has its own
 * /dev/shm, whose size must be set; in our namespace it has ours. A GPU memory handle can only be
 * opened by a process that sees the process that made it (Triton's client documentation asks for
 * --pid=host).
 */
const memoryArguments: Readonly<Record<SharedWithContainer, readonly string[]>> = {
  none: ['--shm-size=1g'],
  system: ['--ipc=host'],
  cuda: ['--ipc=host', '--pid=host'],
};

/**
 * Starts Triton in a container, with its three ports published on free loopback ports. A repository
 * on this machine is mounted read-only. The directory of the trace file is mounted at its local
 * path, so that both sides use the same file name. Errors: LAUNCH_FAILED (no docker, no such image,
 * or the server did not come up).
 */
export async function launchDocker(options: DockerLaunch): Promise<LaunchedServer> {
  if (options.image.startsWith('-')) {
    throw new TrituneError(
      'LAUNCH_FAILED',
      `'${options.image}' is not the name of an image`,
      'give one with --docker-image',
    );
  }
  return startOnFreePorts((ports) => launchOn(ports, options));
}

async function launchOn(ports: ServerPorts, options: DockerLaunch): Promise<LaunchedServer> {
  const traceFile = options.traceFile && resolve(options.traceFile);
  const name = `tritune-${randomUUID().slice(0, 8)}`;
  const publish = (outside: number, inside: number): string[] => ['--publish', `127.0.0.1:${outside}:${inside}`];
  const repository = findRepository(options.modelRepository);
  const args = [
    'run',
    '--rm',
    `--name=${name}`,
    ...(options.gpus === null ? [] : [`--gpus=${options.gpus}`]),
    ...memoryArguments[options.sharedMemory ?? 'none'],
    ...(options.cpus === undefined ? [] : [`--cpuset-cpus=${options.cpus}`]),
    ...publish(ports.grpc, 8001),
    ...publish(ports.http, 8000),
    ...publish(ports.metrics, 8002),
    ...repository.dockerArgs,
    ...(traceFile === undefined ? [] : [mountInPlace(dirname(traceFile))]),
    ...(options.dockerArgs ?? []),
    options.image,
    'tritonserver',
    `--model-repository=${repository.path}`,
    '--model-control-mode=explicit',
    ...(await argumentsForModels(options.modelRepository, options)),
    ...(traceFile === undefined ? [] : [traceFileArgument(traceFile)]),
    ...(options.extraArgs ?? []),
  ];
  return startServerProcess(
    {
      file: 'docker',
      args,
      env: passedOn([...repository.dockerArgs, ...(options.dockerArgs ?? [])]),
      description: `docker container ${name} of ${options.image}`,
      ports,
      cleanUp: async () => {
        // The end of the client does not always end the container.
        await execa('docker', ['rm', '--force', name], { reject: false, timeout: 30_000 });
      },
    },
    options,
  );
}

/**
 * Returns where the server finds its models: a folder of this machine is mounted, and the address
 * of a cloud (`s3://`, `gs://`, `as://`) is read with the variables that Triton's documentation
 * names. Docker takes their values from its own environment.
 */
function findRepository(named: string): { readonly path: string; readonly dockerArgs: readonly string[] } {
  if (CLOUD.test(named)) {
    const names = Object.keys(process.env).filter((name) => CLOUD_VARIABLES.test(name));
    return { path: named, dockerArgs: names.map((name) => `--env=${name}`) };
  }
  const mount = `--mount=type=bind,${csvField(`source=${resolve(named)}`)},target=/models,readonly`;
  return { path: '/models', dockerArgs: [mount] };
}

const CLOUD = /^(?:s3|gs|as):\/\//;
const CLOUD_VARIABLES = /^(?:AWS_|AZURE_STORAGE_)/;

const mountInPlace = (path: string): string =>
  `--mount=type=bind,${csvField(`source=${path}`)},${csvField(`target=${path}`)}`;

/**
 * Docker reads a mount as a line of CSV, so a path may hold commas and quotes; in --volume a colon
 * would separate another path.
 */
const csvField = (text: string): string => `"${text.replaceAll('"', '""')}"`;
