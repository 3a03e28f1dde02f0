import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { Command } from 'commander';
import { realClock } from '../base/clock.ts';
import { isTrituneError, TrituneError } from '../base/errors.ts';
import { foldStudy } from '../study/fold.ts';
import { readJournal, resumeJournal } from '../study/journal.ts';
import type { StudyState } from '../study/state.ts';
import { connectControl } from './connection.ts';
import { addOptions, type OptionTable } from './option-table.ts';
import { serverAddress } from './option-values.ts';
import { RUNS_DIRECTORY, studyFiles } from './output-directory.ts';
import { controlOver } from './run-parts.ts';
import type { Terminal } from './terminal.ts';

interface RestoreOptions {
  readonly url?: string;
  readonly how: 'config' | 'reload';
}

const table: OptionTable<RestoreOptions> = {
  url: {
    flags: '-u, --url <host:port>',
    help: 'where the server takes control calls now (default: as in the journal)',
  },
  how: { flags: '--how <how>', help: 'as --restore of tune', choices: ['config', 'reload'], default: 'config' },
};

/** `tritune restore [DIR…]`: puts back the models that killed runs left changed, as their journals say they were. */
export function restoreCommand(terminal: Terminal): Command {
  const command = new Command('restore')
    .description('put back a model that a killed run left changed')
    .argument('[directories...]', `output directories of runs (default: all in ${RUNS_DIRECTORY}/)`);
  return addOptions(command, table).action(async (named: string[], options: RestoreOptions) => {
    const directories = named.length > 0 ? named : await unrestoredRuns();
    if (directories.length === 0) terminal.print(`no run in ${RUNS_DIRECTORY}/ left a model changed`);
    for (const directory of directories) terminal.print(`${directory}: ${await restoreRun(directory, options)}`);
  });
}

/** Puts one study's model back and writes that down; gives what was done. Errors: RESTORE_FAILED, SERVER_*, OUTPUT_LOCKED, JOURNAL_INVALID. */
async function restoreRun(directory: string, options: RestoreOptions): Promise<string> {
  const { journal, records } = await resumeJournal(studyFiles(directory).journal);
  try {
    const state = foldStudy(records);
    if (isBack(state)) return `nothing to do: ${state.restored?.detail}`;
    const { started } = state;
    const { client } = await connectControl(controlAddresses(state, options));
    try {
      const control = controlOver(client, started.model, started, options.how);
      const restored = await control.restore();
      await journal.append({ type: 'model-restored', at: new Date(realClock.wallMs()).toISOString(), ...restored });
      if (!restored.verified) {
        throw new TrituneError('RESTORE_FAILED', restored.detail, 'look at the config on the server');
      }
      return restored.detail;
    } finally {
      await client.close();
    }
  } finally {
    await journal.close();
  }
}

function controlAddresses({ server }: StudyState, options: RestoreOptions) {
  const isGrpc = server.controlProtocol === 'grpc';
  const url = options.url === undefined ? server.controlUrl : serverAddress(options.url, isGrpc ? 8001 : 8000);
  return {
    protocol: server.controlProtocol,
    url,
    control: isGrpc ? { url, isGuess: false } : null,
    metricsUrl: '',
  };
}

const isBack = (state: StudyState): boolean => state.restored?.verified === true;

async function unrestoredRuns(): Promise<string[]> {
  const entries = await readdir(RUNS_DIRECTORY, { withFileTypes: true }).catch(() => []);
  const directories = entries.filter((entry) => entry.isDirectory()).map((entry) => join(RUNS_DIRECTORY, entry.name));
  const unrestored: string[] = [];
  for (const directory of directories) {
    try {
      if (!isBack(foldStudy(await readJournal(studyFiles(directory).journal)))) unrestored.push(directory);
    } catch (error) {
      // Other things may lie there too.
      if (!isTrituneError(error, 'JOURNAL_INVALID')) throw error;
    }
  }
  return unrestored;
}
