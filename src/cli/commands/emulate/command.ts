import { Command } from 'commander';
import { realClock } from '../../../base/clock.ts';
import { TrituneError } from '../../../base/errors.ts';
import { MS_PER_S } from '../../../base/units.ts';
import { loadProfile, profileNames } from '../../../emulator/profile/profiles.ts';
import type { Profile } from '../../../emulator/profile/schema.ts';
import { addOptions, type OptionTable } from '../../options/option-table.ts';
import { durationSeconds, wholeNumber } from '../../options/option-values.ts';
import type { Terminal } from '../../terminal.ts';
import { addEngineSwitches, type EngineOptions, engineOptionTable, engineSettingsOf } from './engine-options.ts';

interface EmulateOptions extends EngineOptions {
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
  help: `0 takes a free one`,
  parse: wholeNumber,
  default: value,
});

const table: OptionTable<EmulateOptions> = {
  profile: {
    flags: '-p, --profile <name|file>',
    help: `which server and models: ${profileNames().join(', ')} (default: ${DEFAULT_PROFILE})`,
  },
  from: {
    flags: '--from <directory>',
    help: 'instead of a profile, a twin of the server that a run of tune measured; its output directory',
  },
  writeProfile: { flags: '--write-profile <file>', help: 'keep the twin as a profile file' },
  host: { flags: '--host <address>', help: 'where to listen', default: '127.0.0.1' },
  grpcPort: port('grpc', 8001),
  httpPort: port('http', 8000),
  port: { flags: '--port <port>', help: 'as --http-port', parse: wholeNumber },
  startDelay: {
    flags: '--start-delay <duration>',
    help: 'listen after so long, as an engine that reads its weights first',
    parse: durationSeconds,
  },
  metricsPort: port('metrics', 8002),
  controlMode: {
    flags: '--control-mode <mode>',
    help: 'as --model-control-mode of Triton',
    choices: ['explicit', 'none', 'poll'],
    default: 'explicit',
  },
  seed: { flags: '--seed <n>', help: 'seed of the noise', parse: wholeNumber, default: 1 },
  ...engineOptionTable,
};

/** `tritune emulate`: serves until it is interrupted. */
export function emulateCommand(terminal: Terminal): Command {
  const command = new Command('emulate').description(
    "serve a profile's models as a Triton would: same protocols, emulated compute; language models over OpenAI's API too",
  );
  addOptions(command, table);
  addEngineSwitches(command);
  return command.action(async (options: EmulateOptions) => {
    const { startEmulator } = await import('../../../emulator/start-emulator.ts');
    const { withEngineSettings } = await import('../../../emulator/language/language-model.ts');
    const profile = withEngineSettings(await profileOf(options), engineSettingsOf(options));
    const { httpPort, port = httpPort, startDelay = 0 } = options;
    await realClock.sleep(startDelay * MS_PER_S);
    const emulator = await startEmulator({ ...options, profile, httpPort: port });
    terminal.print(emulator.startupLine);
    const interrupted = new Promise<void>((resolve) => {
      for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.once(name, () => resolve());
    });
    // A crash that the profile asks for is one: no last words, as of a process that is killed.
    await Promise.race([interrupted, emulator.crashed.then(() => process.kill(process.pid, 'SIGKILL'))]);
    await emulator.close();
  });
}

/** Errors: USAGE, PROFILE_INVALID, and for a twin those of `twinOfRun` and OUTPUT_UNWRITABLE. */
async function profileOf({
  profile,
  from,
  writeProfile,
}: Pick<EmulateOptions, 'profile' | 'from' | 'writeProfile'>): Promise<Profile> {
  if (from === undefined) {
    if (writeProfile === undefined) return loadProfile(profile ?? DEFAULT_PROFILE);
    throw new TrituneError('USAGE', 'there is no twin to write a profile of', 'name the run with --from DIRECTORY');
  }
  if (profile !== undefined) {
    throw new TrituneError('USAGE', 'a server is either a profile or a twin', 'give --profile or --from, not both');
  }
  const { twinOfRun, writeTwin } = await import('../../../app/study/twin-of-run.ts');
  const twin = await twinOfRun(from);
  if (writeProfile !== undefined) await writeTwin(twin, writeProfile);
  return twin.profile;
}
