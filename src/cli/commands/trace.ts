import { Command } from 'commander';
import { inertJson } from '#base/format.ts';
import { addOptions, type OptionTable } from '../options/option-table.ts';
import type { Terminal } from '../terminal.ts';

export interface TraceOptions {
  readonly json: boolean;
  readonly verbose: boolean;
  readonly showTrace: boolean;
}

const table: OptionTable<TraceOptions> = {
  json: { flags: '--json', help: 'Print one JSON object instead of tables', default: false },
  showTrace: {
    flags: '-t, --show-trace',
    help: 'Print the events of every request and the time between them',
    default: false,
  },
  verbose: { flags: '-v, --verbose', help: 'Print every request, and stack traces with errors', default: false },
};

/** `tritune trace FILE…`: shows where the time of traced requests went. */
export function traceCommand(terminal: Terminal): Command {
  const command = new Command('trace')
    .description("Show where time goes, from trace files that Triton wrote in its mode 'triton'")
    .argument('<files...>', 'Trace files: the file of --trace-config, and its numbered parts');
  return addOptions(command, table).action(async (files: string[], options: TraceOptions) => {
    const { readTraceFiles } = await import('#app/study/read-traces.ts');
    const { traceLines } = await import('#headless/trace-lines.ts');
    const summary = await readTraceFiles(files, options.showTrace);
    const eachRequest = options.verbose || options.showTrace;
    if (options.json) {
      const { requests, ...rest } = summary;
      terminal.print(inertJson(JSON.stringify(eachRequest ? summary : rest)));
    } else for (const line of traceLines(summary, eachRequest)) terminal.print(line);
  });
}
