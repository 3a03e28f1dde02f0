import { formatMessage } from '../base/errors.ts';
import { freePorts } from './free-ports.ts';
import { startServerProcess } from './server-process.ts';
import type { LaunchedServer, LaunchOptions } from './types.ts';

/**
 * What it serves: a shipped profile by name, a profile file, or the twin of the run in a directory.
 */
type Served = { readonly profile: string } | { readonly twinOf: string };

export type EmulatorLaunch = LaunchOptions &
  Served & {
    /** The script that has the `emulate` command. */
    readonly script: string;
  };

const MAX_TRIES = 3;

/**
 * Starts the emulator in its own process, so that it and the load generator each have a core.
 * Errors: LAUNCH_FAILED.
 */
export async function launchEmulator(options: EmulatorLaunch): Promise<LaunchedServer> {
  for (let tries = 1; ; tries++) {
    try {
      return await launchOnce(options);
    } catch (error) {
      // Another process took one of the ports before the emulator did.
      if (tries === MAX_TRIES || !formatMessage(error).includes('EADDRINUSE')) throw error;
    }
  }
}

async function launchOnce(options: EmulatorLaunch): Promise<LaunchedServer> {
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
