import { CommanderError } from 'commander';
import { TrituneError } from '../base/errors.ts';
import { trituneVersion } from '../base/package.ts';
import { AbbreviatingCommand } from './commands/profile/abbreviations.ts';
import { type ProfileOptions, profileOptionTable } from './commands/profile/options.ts';
import { addRefusedOptions } from './commands/profile/perf-analyzer-aliases.ts';
import { perfAnalyzerExitCodes, perfAnalyzerVerdict } from './commands/profile/perf-analyzer-verdict.ts';
import { toFailure } from './failure.ts';
import { layOutHelp } from './help.ts';
import { addOptions } from './options/option-table.ts';
import { takeOtherNames } from './options/other-names.ts';
import { requireNode } from './require-node.ts';
import { processTerminal } from './terminal.ts';

/**
 * The command of `perf-analyzer-main.ts`: a drop-in for perf_analyzer, with its options, lines,
 * files and exit codes.
 */
const command = new AbbreviatingCommand('tritune-perf-analyzer')
  .description('Measure a model as it is, in place of perf_analyzer')
  .option('--version', 'Show the version')
  .exitOverride();

const { refuse } = addRefusedOptions(command);
addOptions(command, profileOptionTable).action(
  async (profileOptions: ProfileOptions & { readonly version?: boolean }) => {
    // Without -i perf_analyzer sends over HTTP.
    const options = { ...profileOptions, protocol: profileOptions.protocol ?? 'http' };
    if (options.version) {
      processTerminal.tell(`Perf Analyzer Version ${trituneVersion} (tritune)`);
      return;
    }
    refuse();
    if (options.serviceKind !== 'triton') {
      throw new TrituneError(
        'UNSUPPORTED',
        `--service-kind ${options.serviceKind} is not supported`,
        'give --service-kind triton, or use tritune profile, which also measures http and openai',
      );
    }
    const { runProfile } = await import('./commands/profile/run.ts');
    const { reports } = await runProfile('triton', options, processTerminal, true);
    process.exitCode = perfAnalyzerVerdict(reports, processTerminal.tell);
  },
);

/**
 * Runs the program, from its arguments to its exit code. Errors: none; reports failures in one
 * line.
 */
export async function runPerfAnalyzer(): Promise<void> {
  try {
    requireNode(process.versions.node);
    layOutHelp(command);
    takeOtherNames(command, processTerminal);
    await command.parseAsync();
  } catch (error) {
    const { line } = toFailure(error, process.argv.includes('--verbose'));
    if (line !== null) processTerminal.tell(line);
    const isHelp = error instanceof CommanderError && error.exitCode === 0;
    process.exitCode = isHelp ? perfAnalyzerExitCodes.done : perfAnalyzerExitCodes.failed;
  }
}
