import { Command } from 'commander';
import { realClock } from '#base/clock.ts';
import { TrituneError } from '#base/errors.ts';
import { MS_PER_S } from '#base/units.ts';
import { loadProfile, profileNames } from '#emulator/profile/profiles.ts';
import type { EmulatorProfile } from '#emulator/profile/schema.ts';
import { addExamples } from '../help.ts';
import { addOptions, type OptionTable } from '../options/option-table.ts';
import { durationSeconds, wholeNumber } from '../options/option-values.ts';
import { type TrustFlags, trustOptionTable } from '../options/trust.ts';
import type { Terminal } from '../terminal.ts';
import {
  addEngineSwitches,
  type EngineOptions,
  engineOptionTable,
  toEngineSettings,
} from './emulate-engine-options.ts';

interface EmulateOptions extends EngineOptions, TrustFlags {
  readonly profile?: string;
  readonly from?: string;
  readonly writeProfile?: string;
  readonly host: string;
  readonly grpcPort: number;
  readonly httpPort: number;
  readonly port?: number;
  readonly startDelay?: number;
  readonly metricsPort: number;
  readonly controlMode: 'explicit' | 'none' | 'poll';
  readonly seed: number;
}

const DEFAULT_PROFILE = 'demo';

const port = (name: string, value: number) => ({
  flags: `--${name}-port <port>`,
  help: `Port of ${name === 'grpc' ? 'gRPC' : name === 'http' ? 'HTTP' : 'the Prometheus metrics'}; 0 takes a free one`,
  parse: wholeNumber,
  default: value,
});

const table: OptionTable<EmulateOptions> = {
  profile: {
    flags: '-p, --profile <name|file>',
    help: `Server and models to emulate: a file, or ${profileNames().join(', ')} (default: ${DEFAULT_PROFILE})`,
  },
  from: {
    flags: '--from <directory>',
    help: 'Emulate the server of this run of tune instead of a profile',
  },
  writeProfile: { flags: '--write-profile <file>', help: 'Write the emulated server of --from to a profile file' },
  host: { flags: '--host <address>', help: 'Address to listen on', default: '127.0.0.1' },
  grpcPort: port('grpc', 8001),
  httpPort: port('http', 8000),
  port: { flags: '--port <port>', help: 'Same as --http-port', parse: wholeNumber },
  startDelay: {
    flags: '--start-delay <duration>',
    help: 'Wait this long before listening, like an engine that loads its weights',
    parse: durationSeconds,
  },
  metricsPort: port('metrics', 8002),
  controlMode: {
    flags: '--control-mode <mode>',
    help: "Triton's --model-control-mode",
    choices: ['explicit', 'none', 'poll'],
    default: 'explicit',
  },
  seed: { flags: '--seed <n>', help: 'Seed of the noise', parse: wholeNumber, default: 1 },
  ...trustOptionTable,
  ...engineOptionTable,
};

/** `tritune emulate`: serves until it is interrupted. */
export function emulateCommand(terminal: Terminal): Command {
  const command = new Command('emulate').description(
    "Serve emulated models over Triton's protocols, and language models over OpenAI's API",
  );
  addExamples(
    command,
    [['Serve the models of a profile', 'tritune emulate --profile tft-a30']],
    'Guide: docs/emulator.md',
  );
  addOptions(command, table);
  addEngineSwitches(command);
  return command.action(async (options: EmulateOptions) => {
    const { startEmulator } = await import('#emulator/start-emulator.ts');
    const { withEngineSettings } = await import('#emulator/language/language-model.ts');
    const profile = withEngineSettings(await readProfile(options, terminal), toEngineSettings(options));
    const { httpPort, port = httpPort, startDelay = 0 } = options;
    await realClock.sleep(startDelay * MS_PER_S);
    const emulator = await startEmulator({ ...options, profile, httpPort: port });
    terminal.print(emulator.startupLine);
    const interrupted = new Promise<void>((resolve) => {
      for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP', 'SIGQUIT'] as const) process.once(name, () => resolve());
    });
    // A crash in the profile acts like a killed process: no last words.
    await Promise.race([interrupted, emulator.crashed.then(() => process.kill(process.pid, 'SIGKILL'))]);
    await emulator.close();
  });
}

/** Errors: USAGE, PROFILE_INVALID, and for a twin those of `twinOfRun` and OUTPUT_UNWRITABLE. */
async function readProfile(
  { profile, from, writeProfile, trustRun }: Pick<EmulateOptions, 'profile' | 'from' | 'writeProfile' | 'trustRun'>,
  { tell, confirm }: Terminal,
): Promise<EmulatorProfile> {
  if (from === undefined) {
    if (writeProfile === undefined) return loadProfile(profile ?? DEFAULT_PROFILE);
    throw new TrituneError(
      'USAGE',
      '--write-profile needs a run to write the profile of',
      'add --from with the output directory of a run',
    );
  }
  if (profile !== undefined) {
    throw new TrituneError('USAGE', '--profile and --from cannot be used together', 'leave one of them out');
  }
  const { twinOfRun, writeTwin } = await import('#app/study/twin-of-run.ts');
  const twin = await twinOfRun(from, { trustRun, tell, confirm });
  if (writeProfile !== undefined) await writeTwin(twin, writeProfile);
  return twin.profile;
}
