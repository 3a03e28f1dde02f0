import { type ServerPorts, startOnFreePorts } from './free-ports.ts';
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

/**
 * Starts the emulator in its own process, so that it and the load generator each have a core.
 * Errors: LAUNCH_FAILED.
 */
export const launchEmulator = (options: EmulatorLaunch): Promise<LaunchedServer> =>
  startOnFreePorts((ports) => launchOn(ports, options));

function launchOn(ports: ServerPorts, options: EmulatorLaunch): Promise<LaunchedServer> {
  const listening = [`--grpc-port=${ports.grpc}`, `--http-port=${ports.http}`, `--metrics-port=${ports.metrics}`];
  const isTwin = 'twinOf' in options;
  return startServerProcess(
    {
      file: process.execPath,
      args: [
        options.script,
        'emulate',
        isTwin ? `--from=${options.twinOf}` : `--profile=${options.profile}`,
        ...listening,
      ],
      description: isTwin ? `emulator (twin of ${options.twinOf})` : `emulator (profile ${options.profile})`,
      ports,
      cpus: options.cpus,
    },
    options,
  );
}
