import type { Command } from 'commander';
import { inertText } from '#base/format.ts';
import { obey } from '#cli/command-line.ts';
import { createProgram } from '#cli/program.ts';
import type { Terminal } from '#cli/terminal.ts';
import { createLabProgram } from '../../lab/program.ts';
import type { CliOutcome } from './cli.ts';

let last: Promise<unknown> = Promise.resolve();

/**
 * Carries out a command of the command line in this process, as `runCli` does in one of its own,
 * which costs most of a second of a core. Not for what a process is needed for: signals, a working
 * directory, variables, what commander itself prints. Commands take turns: there is one exit code.
 */
export const callCli = (args: readonly string[]): Promise<CliOutcome> => takeTurn(args, createProgram);

/** Likewise, a command of `tritune-lab`. */
export const callLab = (args: readonly string[]): Promise<CliOutcome> => takeTurn(args, createLabProgram);

type CreateProgram = (terminal: Terminal, args: readonly string[]) => Promise<Command>;

function takeTurn(args: readonly string[], create: CreateProgram): Promise<CliOutcome> {
  const outcome = last.then(() => carryOut(args, create));
  last = outcome.catch(() => undefined);
  return outcome;
}

async function carryOut(args: readonly string[], create: CreateProgram): Promise<CliOutcome> {
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
    await obey(async () => args, terminal, create);
    return { code: Number(process.exitCode ?? 0), signal: null, stdout, stderr };
  } finally {
    process.exitCode = before;
  }
}
