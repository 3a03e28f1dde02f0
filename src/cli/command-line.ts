import { failureOf } from './failure.ts';
import { createProgram } from './program.ts';
import { outliveReaders, processTerminal } from './terminal.ts';

/** The program, from its arguments to its exit code. Errors: none; what went wrong is said in one line. */
export async function runCommandLine(): Promise<void> {
  outliveReaders();
  try {
    if (await hasCommand()) await createProgram(processTerminal).parseAsync();
  } catch (error) {
    const failure = failureOf(error, process.argv.includes('--verbose'));
    if (failure.line !== null) processTerminal.tell(failure.line);
    process.exitCode = failure.exitCode;
  }
}

/** Without any argument a person at a terminal is asked for a run, which then is the command; false when they left. */
async function hasCommand(): Promise<boolean> {
  const { canvas } = processTerminal;
  if (process.argv.length > 2 || !canvas?.isWatched) return true;
  const { guidedStart } = await import('./guided.ts');
  const argv = await guidedStart(canvas);
  if (argv) process.argv.push(...argv);
  return argv !== null;
}
