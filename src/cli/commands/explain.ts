import { Command } from 'commander';
import type { AnyProtocol } from '#app/server/find-protocol.ts';
import { addExamples, type Example } from '../help.ts';
import { addOptions } from '../options/option-table.ts';
import type { Terminal } from '../terminal.ts';
import { explainOptionTable, type ParsedExplainOptions } from './explain-options.ts';

const examples: readonly Example[] = [
  ['Look at all models for two minutes', 'tritune explain -u gpu-box:8001'],
  ['Find the traffic that one bears', 'tritune explain -u gpu-box:8001 -m resnet --for 5m --latency-budget 50'],
];

/** `tritune explain`: says why a live service is as slow as it is, without a request to it. */
export function explainCommand(terminal: Terminal): Command {
  const command = new Command('explain').description(
    'Say why a live service is slow, and what would help, from its counters; send no request and change nothing',
  );
  addExamples(command, examples, 'Guide: docs/explain.md');
  return addOptions(command, explainOptionTable).action(async (options: AnyProtocol<ParsedExplainOptions>) => {
    const { runExplain } = await import('./run-explain.ts');
    process.exitCode = await runExplain(options, terminal);
  });
}
