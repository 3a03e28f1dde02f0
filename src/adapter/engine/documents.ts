import { settingsOf } from '../../space/engine/candidate.ts';
import type { Candidate, EngineTraits } from '../../space/types.ts';
import type { EmittedDocument } from '../../tuner/adapter.ts';
import { commandLine } from './command-words.ts';
import { type LaunchCommand, startOf } from './launch-command.ts';

const CONFIG_FILE = 'engine-config.json';

/** Returns how a candidate is served: the command line of the server, its settings, and the options file that the line names. */
export function engineDocuments(
  candidate: Candidate,
  command: LaunchCommand,
  traits: EngineTraits,
): readonly EmittedDocument[] {
  const settings = settingsOf(candidate) ?? {};
  const { words, environment, config } = startOf(command, settings, traits, { port: '$PORT', configFile: CONFIG_FILE });
  const variables = Object.entries(environment).map(([name, value]) => `${commandLine([`${name}=${value}`])} \\\n  `);
  const line = commandLine(words).replaceAll("'$PORT'", '"$PORT"');
  return [
    {
      path: 'launch.sh',
      text: `#!/bin/sh\n: "\${PORT:=8000}"\nexec ${variables.length > 0 ? `env ${variables.join('')}` : ''}${line}\n`,
    },
    { path: 'settings.json', text: `${JSON.stringify(settings, null, 2)}\n` },
    ...(config === null ? [] : [{ path: CONFIG_FILE, text: config }]),
  ];
}
