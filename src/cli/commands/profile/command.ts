import type { Command } from 'commander';
import type { EndpointSpec } from '../../../app/profile/profile-spec.ts';
import type { PromptSpec } from '../../../workload/prompt-spec.ts';
import { exitCodes } from '../../exit-codes.ts';
import { addOptions, type OptionTable } from '../../options/option-table.ts';
import type { Terminal } from '../../terminal.ts';
import { AbbreviatingCommand } from './abbreviations.ts';
import { endpointOptionTable } from './endpoint-options.ts';
import { type PlainHttpFlags, plainHttpOptionTable } from './http-options.ts';
import { type ProfileOptions, profileOptionTable } from './options.ts';
import { addRefusedOptions } from './perf-analyzer-aliases.ts';
import { addPromptAliases } from './prompt-aliases.ts';
import { promptOptionTable } from './prompt-options.ts';
import { refuseOthers, serviceKindOf } from './service-kind.ts';

type AllOptions = ProfileOptions & PlainHttpFlags & EndpointSpec & PromptSpec;

const table: OptionTable<AllOptions> = {
  ...profileOptionTable,
  ...endpointOptionTable,
  ...promptOptionTable,
  ...plainHttpOptionTable,
};

/** Replies of a language model take their time, and differ in length: fewer of them can be waited for. */
const languageDefaults = { requestTimeout: 600, precision: 5 } as const;

/** `tritune profile`: the load generator by itself. */
export function profileCommand(terminal: Terminal): Command {
  const command = new AbbreviatingCommand('profile').description(
    "measure a model as it is, with perf_analyzer's options; a language model, with --endpoint; or any URL, with --service-kind http",
  );
  const { refuse } = addRefusedOptions(command, ['--endpoint']);
  const prompts = addPromptAliases(command);
  return addOptions(command, table).action(async (options: AllOptions) => {
    refuse();
    const kind = serviceKindOf(options);
    const isGiven = (name: string): boolean => command.getOptionValueSource(name) === 'cli';
    refuseOthers(
      kind,
      command.options.filter((option) => isGiven(option.attributeName())),
    );
    if (kind === 'language') {
      const { runEndpoint } = await import('./endpoint.ts');
      const usual = Object.entries(languageDefaults).filter(([name]) => !isGiven(name));
      process.exitCode = await runEndpoint(
        { ...options, ...Object.fromEntries(usual), ...prompts.resolve() },
        terminal,
      );
    } else if (kind === 'http') {
      const { runPlainHttp } = await import('./http.ts');
      process.exitCode = await runPlainHttp(options, terminal);
    } else process.exitCode = await runModel(options, terminal);
  });
}

async function runModel(options: AllOptions, terminal: Terminal): Promise<number> {
  const { runProfile } = await import('./run.ts');
  const { reports, wasInterrupted } = await runProfile(options, terminal, false);
  if (wasInterrupted) return exitCodes.interrupted;
  return reports.some(({ measurement }) => measurement.errorRate < 1) ? exitCodes.done : exitCodes.server;
}
