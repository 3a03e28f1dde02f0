import { failureOf } from './failure.ts';
import { createProgram } from './program.ts';
import { requireNode } from './require-node.ts';
import { outliveReaders, processTerminal, type Terminal } from './terminal.ts';

/** The program, from its arguments to its exit code. Errors: none; what went wrong is said in one line. */
export async function runCommandLine(): Promise<void> {
  outliveReaders();
  await obey(wantedCommand, processTerminal);
}

/** Carries out the command that `wanted` gives, if any, and leaves the process its exit code. Errors: as of runCommandLine. */
export async function obey(wanted: () => Promise<readonly string[] | null>, terminal: Terminal): Promise<void> {
  let args: readonly string[] | null = null;
  try {
    args = await wanted();
    if (args) await createProgram(terminal).parseAsync(args, { from: 'user' });
  } catch (error) {
    const failure = failureOf(error, (args ?? process.argv).includes('--verbose'));
    if (failure.line !== null) terminal.tell(failure.line);
    process.exitCode = failure.exitCode;
  }
}

/** Without any argument a person at a terminal is asked for a run, which then is the command; null when they left. */
async function wantedCommand(): Promise<readonly string[] | null> {
  requireNode(process.versions.node);
  const { canvas } = processTerminal;
  if (process.argv.length > 2 || !canvas?.isWatched) return process.argv.slice(2);
  const { guidedStart } = await import('./guided.ts');
  const argv = await guidedStart(canvas);
  // A run records its own command line from here.
  if (argv) process.argv.push(...argv);
  return argv;
}
