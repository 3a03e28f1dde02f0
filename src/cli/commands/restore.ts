import { Command } from 'commander';
import { worstExitCode } from '#app/exit-codes.ts';
import { RUNS_DIRECTORY } from '#app/run-directory.ts';
import { inertLine } from '#base/format.ts';
import type { HeaderSpec, ProtectSpec, TlsSpec } from '#spec/server-spec.ts';
import { toFailure } from '../failure.ts';
import { headerOptionTable } from '../options/headers.ts';
import { addOptions, type OptionTable } from '../options/option-table.ts';
import { protectOptionTable } from '../options/protect.ts';
import { tlsOptionTable } from '../options/tls.ts';
import { type TrustFlags, trustOptionTable } from '../options/trust.ts';
import type { Terminal } from '../terminal.ts';

export interface RestoreOptions extends TlsSpec, HeaderSpec, ProtectSpec, TrustFlags {
  readonly url?: string;
  readonly how: 'config' | 'reload';
  readonly force: boolean;
}

const table: OptionTable<RestoreOptions> = {
  url: {
    flags: '-u, --url <host:port>',
    help: 'Address of the server, if it has changed (default: as in the journal)',
  },
  ...tlsOptionTable,
  ...headerOptionTable,
  ...protectOptionTable,
  ...trustOptionTable,
  how: {
    flags: '--how <how>',
    help: 'Load the original config, or reload it from the repository',
    choices: ['config', 'reload'],
    default: 'config',
  },
  force: { flags: '--force', help: 'Overwrite a config that somebody else has loaded since', default: false },
};

/**
 * `tritune restore [DIR…]`: restores the models that killed runs left changed, from their journals.
 */
export function restoreCommand(terminal: Terminal): Command {
  const command = new Command('restore')
    .description('Put back the models that a killed run left changed')
    .argument('[directories...]', `Output directories of runs (default: all in ${RUNS_DIRECTORY}/)`);
  return addOptions(command, table).action(async (named: string[], options: RestoreOptions) => {
    const { restoreRun, readStudies: listStudies, unrestoredRuns } = await import('#app/restore-study.ts');
    const directories = named.length > 0 ? await listStudies(named) : await unrestoredRuns();
    if (directories.length === 0)
      terminal.print(`no run in ${named.join(', ') || RUNS_DIRECTORY} left a model changed`);
    const trust = { tell: terminal.tell, confirm: terminal.confirm };
    const codes: number[] = [];
    for (const directory of directories) {
      // A failure must not keep the other models from being restored.
      try {
        terminal.print(inertLine(`${directory}: ${await restoreRun(directory, { ...options, ...trust })}`));
      } catch (error) {
        const { line, exitCode } = toFailure(error, false);
        terminal.tell(directories.length > 1 ? `${directory}: ${line}` : (line ?? ''));
        codes.push(exitCode);
      }
    }
    process.exitCode = worstExitCode(codes);
  });
}
