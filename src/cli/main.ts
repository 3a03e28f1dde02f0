#!/usr/bin/env node
import { failureOf } from './failure.ts';
import { createProgram } from './program.ts';
import { processTerminal } from './terminal.ts';

try {
  await createProgram(processTerminal).parseAsync();
} catch (error) {
  const failure = failureOf(error, process.argv.includes('--verbose'));
  if (failure.line !== null) processTerminal.tell(failure.line);
  process.exitCode = failure.exitCode;
}
