import { CommanderError } from 'commander';
import { TrituneError } from '#base/errors.ts';
import { trituneVersion } from '#base/package.ts';
import { AbbreviatingCommand } from './commands/profile/abbreviations.ts';
import { addServiceOptions, type ProfileFlags, type ServiceOptions } from './commands/profile/any-service.ts';
import { perfAnalyzerExitCodes, perfAnalyzerVerdict } from './commands/profile/perf-analyzer-verdict.ts';
import { toFailure } from './failure.ts';
import { layOutHelp } from './help.ts';
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

const readService = addServiceOptions(command);
command.action(async (flags: ProfileFlags & { readonly version?: boolean }) => {
  if (flags.version) {
    processTerminal.tell(`Perf Analyzer Version ${trituneVersion} (tritune)`);
    return;
  }
  // Without -i perf_analyzer sends over HTTP.
  const { kind, options } = await readService({ ...flags, protocol: flags.protocol ?? 'http' });
  if (kind === 'http') {
    throw new TrituneError(
      'UNSUPPORTED',
      `--service-kind ${options.serviceKind} is not supported`,
      'give --service-kind triton or openai, or use tritune profile, which also measures http',
    );
  }
  const { runProfile } = await import('./commands/profile/run.ts');
  const { reports } = await runProfile(
    kind,
    kind === 'language' ? asPerfAnalyzer(options) : options,
    processTerminal,
    true,
  );
  process.exitCode = perfAnalyzerVerdict(reports, processTerminal.tell);
});

/**
 * Without --streaming perf_analyzer takes a reply of a language model as a whole. Errors:
 * UNSUPPORTED for its file of requests, whose form for language models tritune does not write.
 */
function asPerfAnalyzer(options: ServiceOptions['options']): ServiceOptions['options'] {
  if (options.profileExportFile !== undefined) {
    throw new TrituneError(
      'UNSUPPORTED',
      '--profile-export-file is not supported for language models',
      "leave it out, or use tritune profile, which writes AIPerf's form",
    );
  }
  const { streaming, extraInputs, ...others } = options;
  return { ...others, extraInputs: streaming ? extraInputs : { stream: false, ...extraInputs } };
}

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
