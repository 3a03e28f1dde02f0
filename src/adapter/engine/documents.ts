import { shellLine } from '#base/shell-words.ts';
import { readSettings } from '#space/engine-candidate.ts';
import type { Candidate, EngineTraits } from '#space/types.ts';
import type { EmittedDocument } from '#tuner/adapter.ts';
import { type LaunchCommand, toStart } from './launch-command.ts';

const CONFIG_FILE = 'engine-config.json';

/**
 * Returns how a candidate is served: the command line of the server, its settings, and the options
 * file that the line names.
 */
export function engineDocuments(
  candidate: Candidate,
  command: LaunchCommand,
  traits: EngineTraits,
): readonly EmittedDocument[] {
  const settings = readSettings(candidate) ?? {};
  const { words, environment, config } = toStart(command, settings, traits, {
    port: '$PORT',
    configFile: `$HERE/${CONFIG_FILE}`,
  });
  const variables = Object.entries(environment).map(([name, value]) => `${shellLine([`${name}=${value}`])} \\\n  `);
  const line = withVariables(shellLine(words));
  return [
    {
      path: 'launch.sh',
      text: `#!/bin/sh\n: "\${PORT:=8000}"\n${config === null ? '' : 'HERE=$(dirname "$0")\n'}exec ${variables.length > 0 ? `env ${variables.join('')}` : ''}${line}\n`,
    },
    { path: 'settings.json', text: `${JSON.stringify(settings, null, 2)}\n` },
    ...(config === null ? [] : [{ path: CONFIG_FILE, text: config }]),
  ];
}

/** Ends the single quotes around our variables, which a shell would not replace there. */
const withVariables = (line: string): string =>
  line.replaceAll(/\$(?:PORT|HERE)\b/g, `'"$&"'`).replaceAll(/(?<=^| )''(?=")|(?<=")''(?= |$)/g, '');
