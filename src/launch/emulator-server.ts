import { freePorts } from './free-ports.ts';
import { startServerProcess } from './server-process.ts';
import type { LaunchedServer, LaunchOptions } from './types.ts';

export interface EmulatorLaunch extends LaunchOptions {
  /** A shipped profile's name or a file. */
  readonly profile: string;
  /** The script whose `emulate` command is to be run. */
  readonly script: string;
}

/** The emulator in a process of its own, so that it and the load generator each have a core. Errors: LAUNCH_FAILED. */
export async function launchEmulator(options: EmulatorLaunch): Promise<LaunchedServer> {
  const [grpc, http, metrics] = (await freePorts(3)) as [number, number, number];
  const ports = [`--grpc-port=${grpc}`, `--http-port=${http}`, `--metrics-port=${metrics}`];
  return startServerProcess(
    {
      file: process.execPath,
      args: [options.script, 'emulate', `--profile=${options.profile}`, ...ports],
      description: `emulator (profile ${options.profile})`,
      ports: { grpc, http, metrics },
    },
    options,
  );
}
