#!/usr/bin/env node
import { Command } from 'commander';
import { emulateCommand } from './emulate-command.ts';
import { failureOf } from './failure.ts';
import { installCommand } from './install-command.ts';
import { trituneVersion } from './package-facts.ts';
import { reportCommand } from './report-command.ts';
import { restoreCommand } from './restore-command.ts';
import { spaceCommand } from './space-command.ts';
import { processTerminal } from './terminal.ts';
import { tuneCommand } from './tune-command.ts';

const program = new Command('tritune')
  .description('find the fastest configuration of a Triton model within a latency budget')
  .version(trituneVersion, '-V, --version')
  .showHelpAfterError('(tritune --help lists the options)');

for (const makeCommand of [tuneCommand, restoreCommand, reportCommand, spaceCommand, emulateCommand, installCommand]) {
  program.addCommand(makeCommand(processTerminal));
}
for (const command of [program, ...program.commands]) command.exitOverride();

try {
  await program.parseAsync();
} catch (error) {
  const failure = failureOf(error, process.argv.includes('--verbose'));
  if (failure.line !== null) processTerminal.tell(failure.line);
  process.exitCode = failure.exitCode;
}
