import { freePorts } from './free-ports.ts';
import { startServerProcess } from './server-process.ts';
import type { LaunchedServer, LaunchOptions } from './types.ts';

/** What it serves: a shipped profile by name or a file, or the twin of what the run in a directory measured. */
type Served = { readonly profile: string } | { readonly twinOf: string };

export type EmulatorLaunch = LaunchOptions &
  Served & {
    /** The script whose `emulate` command is to be run. */
    readonly script: string;
  };

/** Starts the emulator in a process of its own, so that it and the load generator each have a core. Errors: LAUNCH_FAILED. */
export async function launchEmulator(options: EmulatorLaunch): Promise<LaunchedServer> {
  const [grpc, http, metrics] = (await freePorts(3)) as [number, number, number];
  const ports = [`--grpc-port=${grpc}`, `--http-port=${http}`, `--metrics-port=${metrics}`];
  const isTwin = 'twinOf' in options;
  return startServerProcess(
    {
      file: process.execPath,
      args: [options.script, 'emulate', isTwin ? `--from=${options.twinOf}` : `--profile=${options.profile}`, ...ports],
      description: isTwin ? `emulator (twin of ${options.twinOf})` : `emulator (profile ${options.profile})`,
      ports: { grpc, http, metrics },
      cpus: options.cpus,
    },
    options,
  );
}
