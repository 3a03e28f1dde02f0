import type { Command } from 'commander';
import { TrituneError } from '../../../base/errors.ts';
import { exitCodes } from '../../exit-codes.ts';
import { addOptions, type OptionTable } from '../../options/option-table.ts';
import type { Terminal } from '../../terminal.ts';
import { AbbreviatingCommand } from './abbreviations.ts';
import { type PlainHttpFlags, plainHttpOptionTable, refuseOthers } from './http-options.ts';
import { type ProfileOptions, profileOptionTable } from './options.ts';
import { addRefusedOptions } from './perf-analyzer-aliases.ts';

type AllOptions = ProfileOptions & PlainHttpFlags;

const table: OptionTable<AllOptions> = { ...profileOptionTable, ...plainHttpOptionTable };

/** `tritune profile`: the load generator by itself. */
export function profileCommand(terminal: Terminal): Command {
  const command = new AbbreviatingCommand('profile').description(
    "measure a model as it is, with perf_analyzer's options; or any URL, with --service-kind http",
  );
  const { refuse } = addRefusedOptions(command);
  return addOptions(command, table).action(async (options: AllOptions) => {
    refuse();
    refuseOthers(
      options.serviceKind,
      command.options.filter((option) => command.getOptionValueSource(option.attributeName()) === 'cli'),
    );
    process.exitCode = await runKind(options, terminal);
  });
}

async function runKind(options: AllOptions, terminal: Terminal): Promise<number> {
  if (options.serviceKind === 'http') {
    const { runPlainHttp } = await import('./http.ts');
    return runPlainHttp(options, terminal);
  }
  if (options.serviceKind !== 'triton') {
    throw new TrituneError(
      'UNSUPPORTED',
      `there is no service kind '${options.serviceKind}' here`,
      'use triton, or http to send any request to any URL',
    );
  }
  const { runProfile } = await import('./run.ts');
  const { reports, wasInterrupted } = await runProfile(options, terminal, false);
  if (wasInterrupted) return exitCodes.interrupted;
  return reports.some(({ measurement }) => measurement.errorRate < 1) ? exitCodes.done : exitCodes.server;
}
