import { Command } from 'commander';
import { inertJson } from '../../../base/format.ts';
import { addOptions, type OptionTable } from '../../options/option-table.ts';
import type { Terminal } from '../../terminal.ts';

export interface TraceOptions {
  readonly json: boolean;
  readonly verbose: boolean;
  readonly showTrace: boolean;
}

const table: OptionTable<TraceOptions> = {
  json: { flags: '--json', help: 'one JSON object instead of tables', default: false },
  showTrace: {
    flags: '-t, --show-trace',
    help: 'every request with its moments, and the time from each to the next',
    default: false,
  },
  verbose: { flags: '-v, --verbose', help: 'every request too; a stack trace with errors', default: false },
};

/** `tritune trace FILE…`: where the time of traced requests went. */
export function traceCommand(terminal: Terminal): Command {
  const command = new Command('trace')
    .description("summarise trace files that Triton wrote in its trace mode 'triton'")
    .argument('<files...>', 'the file of --trace-config, and those beside it with a number at the end');
  return addOptions(command, table).action(async (files: string[], options: TraceOptions) => {
    const { readTraceFiles } = await import('../../../app/study/read-traces.ts');
    const { traceLines } = await import('../../../headless/trace-lines.ts');
    const summary = await readTraceFiles(files, options.showTrace);
    const eachRequest = options.verbose || options.showTrace;
    if (options.json) {
      const { requests, ...rest } = summary;
      terminal.print(inertJson(JSON.stringify(eachRequest ? summary : rest)));
    } else for (const line of traceLines(summary, eachRequest)) terminal.print(line);
  });
}
