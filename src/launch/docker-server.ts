import { randomUUID } from 'node:crypto';
import { dirname, resolve } from 'node:path';
import { execa } from 'execa';
import { TrituneError } from '../base/errors.ts';
import { freePorts } from './free-ports.ts';
import { argumentsForModels } from './model-arguments.ts';
import { startServerProcess, traceFileArgument } from './server-process.ts';
import type { LaunchedServer, TritonLaunch } from './types.ts';

/** What of the machine a container shares with us: nothing, the memory of the system, or a GPU's too. */
export type SharedWithContainer = 'none' | 'system' | 'cuda';

export interface DockerLaunch extends TritonLaunch {
  readonly image: string;
  /** As for `docker run --gpus`; null for none. */
  readonly gpus: string | null;
  /** Memory that tensors are sent in; none when undefined. */
  readonly sharedMemory?: SharedWithContainer;
  /** More options of `docker run`, as they are; of two that are about the same the last one counts. */
  readonly dockerArgs?: readonly string[];
}

/**
 * The namespaces that shared memory is found in. A container with an IPC namespace of its own has a /dev/shm of its own, whose size is to be
 * said; in ours it has ours. A handle of a GPU's memory is opened only by a process that sees the one that made it
 * (Triton's client documentation asks for --pid=host).
 */
const memoryArguments: Readonly<Record<SharedWithContainer, readonly string[]>> = {
  none: ['--shm-size=1g'],
  system: ['--ipc=host'],
  cuda: ['--ipc=host', '--pid=host'],
};

/**
 * Triton in a container, its three ports published on free loopback ports; the repository is mounted read-only, the
 * directory of the trace file at the path that it has here, so that both sides call the file the same.
 * Errors: LAUNCH_FAILED (no docker, no such image, or the server did not come up).
 */
export async function launchDocker(options: DockerLaunch): Promise<LaunchedServer> {
  if (options.image.startsWith('-')) {
    throw new TrituneError(
      'LAUNCH_FAILED',
      `'${options.image}' is not the name of an image`,
      'give one with --docker-image',
    );
  }
  const [grpc, http, metrics] = (await freePorts(3)) as [number, number, number];
  const traceFile = options.traceFile && resolve(options.traceFile);
  const name = `tritune-${randomUUID().slice(0, 8)}`;
  const publish = (outside: number, inside: number): string[] => ['--publish', `127.0.0.1:${outside}:${inside}`];
  const args = [
    'run',
    '--rm',
    `--name=${name}`,
    ...(options.gpus === null ? [] : [`--gpus=${options.gpus}`]),
    ...memoryArguments[options.sharedMemory ?? 'none'],
    ...(options.cpus === undefined ? [] : [`--cpuset-cpus=${options.cpus}`]),
    ...publish(grpc, 8001),
    ...publish(http, 8000),
    ...publish(metrics, 8002),
    `--mount=type=bind,${csvField(`source=${resolve(options.modelRepository)}`)},target=/models,readonly`,
    ...(traceFile === undefined ? [] : [mountInPlace(dirname(traceFile))]),
    ...(options.dockerArgs ?? []),
    options.image,
    'tritonserver',
    '--model-repository=/models',
    '--model-control-mode=explicit',
    ...(await argumentsForModels(options.modelRepository, options)),
    ...(traceFile === undefined ? [] : [traceFileArgument(traceFile)]),
    ...(options.extraArgs ?? []),
  ];
  return startServerProcess(
    {
      file: 'docker',
      args,
      description: `docker container ${name} of ${options.image}`,
      ports: { grpc, http, metrics },
      cleanUp: async () => {
        // The client's end does not always end the container.
        await execa('docker', ['rm', '--force', name], { reject: false, timeout: 30_000 });
      },
    },
    options,
  );
}

const mountInPlace = (path: string): string =>
  `--mount=type=bind,${csvField(`source=${path}`)},${csvField(`target=${path}`)}`;

/** Docker reads a mount as a line of CSV, so that a path may hold commas and quotes; in --volume a colon would name another place. */
const csvField = (text: string): string => `"${text.replaceAll('"', '""')}"`;
