import { inertText } from '../../src/base/format.ts';
import { obey } from '../../src/cli/command-line.ts';
import type { Terminal } from '../../src/cli/terminal.ts';
import type { CliOutcome } from './cli.ts';

let last: Promise<unknown> = Promise.resolve();

/**
 * Carries out a command of the command line in this process, as `runCli` does in one of its own,
 * which costs most of a second of a core. Not for what a process is needed for: signals, a working
 * directory, variables, what commander itself prints. Commands take turns: there is one exit code.
 */
export function callCli(args: readonly string[]): Promise<CliOutcome> {
  const outcome = last.then(() => carryOut(args));
  last = outcome.catch(() => undefined);
  return outcome;
}

async function carryOut(args: readonly string[]): Promise<CliOutcome> {
  let [stdout, stderr] = ['', ''];
  const terminal: Terminal = {
    print: (line) => {
      stdout += `${inertText(line)}\n`;
    },
    tell: (line) => {
      stderr += `${inertText(line)}\n`;
    },
    status: () => undefined,
  };
  const before = process.exitCode;
  process.exitCode = undefined;
  try {
    await obey(async () => args, terminal);
    return { code: Number(process.exitCode ?? 0), signal: null, stdout, stderr };
  } finally {
    process.exitCode = before;
  }
}
