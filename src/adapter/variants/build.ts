import { interrupted } from '#base/abort.ts';
import { readEndSync } from '#base/read-file.ts';
import { MS_PER_S } from '#base/units.ts';
import { runCommand } from '#launch/command.ts';
import type { BuildRecipe } from '#space/artifact.ts';

/** The number of log lines to repeat in an error. */
const LAST_LINES = 5;
const LONGEST_LINE = 200;

/** A failed build; the message names its log and repeats the end of it. */
export class BuildFault extends Error {}

/**
 * Runs the command with TRITUNE_OUTPUT as its output directory; all output goes to the log. If the
 * command is too slow or its study is interrupted, it is ended with everything that it started.
 * Errors: a BuildFault; INTERRUPTED, or the signal's reason.
 */
export async function runBuild(recipe: BuildRecipe, output: string, log: string, signal: AbortSignal): Promise<void> {
  signal.throwIfAborted();
  const { command, directory, env, timeoutSeconds } = recipe;
  // In a list the variable stands for the directory, as in a line for the shell.
  const words =
    typeof command === 'string' ? command : command.map((word) => word.replaceAll('$TRITUNE_OUTPUT', output));
  const deadline = AbortSignal.timeout(timeoutSeconds * MS_PER_S);
  const order = { words, directory, env: { ...env, TRITUNE_OUTPUT: output }, log };
  const ending = await runCommand(order, AbortSignal.any([signal, deadline]));
  if (signal.aborted) throw interrupted(signal);
  if (deadline.aborted) throw fault(`took longer than ${timeoutSeconds} s`, log);
  if (ending !== null) throw fault(ending, log);
}

function fault(ending: string, log: string): BuildFault {
  const lines = readEndSync(log).trimEnd().split('\n').slice(-LAST_LINES);
  const last = lines.map((line) => line.slice(0, LONGEST_LINE)).filter((line) => line !== '');
  const words = last.length > 0 ? `: ${last.join(' | ')}` : '';
  return new BuildFault(`the build command ${ending}${words} (log: ${log})`);
}
