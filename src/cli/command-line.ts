import type { Command } from 'commander';
import { toFailure } from './failure.ts';
import { createProgram } from './program.ts';
import { requireNode } from './require-node.ts';
import { outliveReaders, processTerminal, type Terminal } from './terminal.ts';

/**
 * Runs the program, from its arguments to its exit code. Errors: none; reports failures in one
 * line.
 */
export const runCommandLine = (): Promise<void> => runAtTerminal(wantedCommand);

/**
 * Runs the command of a program that `readArguments` returns, in this process and at its terminal.
 * Errors: as of runCommandLine, also for a Node that is too old.
 */
export async function runAtTerminal(
  readArguments: () => Promise<readonly string[] | null>,
  create: CreateProgram = createProgram,
): Promise<void> {
  outliveReaders();
  const read = async (): Promise<readonly string[] | null> => {
    requireNode(process.versions.node);
    return readArguments();
  };
  await obey(read, processTerminal, create);
}

/** Returns a program with the commands that its arguments name. */
type CreateProgram = (terminal: Terminal, args: readonly string[]) => Promise<Command>;

/**
 * Runs the command of a program that `readArguments` returns, if any, and sets the process's exit
 * code. Errors: as of runCommandLine.
 */
export async function obey(
  readArguments: () => Promise<readonly string[] | null>,
  terminal: Terminal,
  create: CreateProgram = createProgram,
): Promise<void> {
  let args: readonly string[] | null = null;
  try {
    args = await readArguments();
    if (args) await (await create(terminal, args)).parseAsync(args, { from: 'user' });
  } catch (error) {
    const failure = toFailure(error, (args ?? process.argv).includes('--verbose'));
    if (failure.line !== null) terminal.tell(failure.line);
    process.exitCode = failure.exitCode;
  }
}

/**
 * Returns the command. Without arguments at a terminal, asks the person for a run; null if they
 * left.
 */
async function wantedCommand(): Promise<readonly string[] | null> {
  const { canvas } = processTerminal;
  if (process.argv.length > 2 || !canvas?.isWatched) return process.argv.slice(2);
  const { guidedStart } = await import('./guided.ts');
  const argv = await guidedStart(canvas);
  // A run records its own command line from process.argv.
  if (argv) process.argv.push(...argv);
  return argv;
}
