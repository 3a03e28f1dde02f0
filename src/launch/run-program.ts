import { createInterface } from 'node:readline';
import { execa } from 'execa';

/** How a program ended. */
export interface ProgramEnd {
  /** null if a signal ended it, or it could not start. */
  readonly exitCode: number | null;
}

/**
 * Runs a program to its end and passes on each line that it prints, to either stream. The signal
 * interrupts it once, as Ctrl-C does; it then has all the time that it needs to end in order. It is
 * in a process group of its own, so that a Ctrl-C at the terminal does not reach it as well.
 */
export async function runProgram(
  words: readonly [file: string, ...args: string[]],
  { onLine, signal }: { readonly onLine: (line: string) => void; readonly signal: AbortSignal },
): Promise<ProgramEnd> {
  const [file, ...args] = words;
  const child = execa(file, args, { stdin: 'ignore', buffer: false, reject: false, detached: true, cleanup: false });
  for (const stream of [child.stdout, child.stderr]) createInterface({ input: stream }).on('line', onLine);
  const interrupt = (): void => {
    child.kill('SIGINT');
  };
  if (signal.aborted) interrupt();
  else signal.addEventListener('abort', interrupt, { once: true });
  try {
    const { exitCode } = await child;
    return { exitCode: exitCode ?? null };
  } finally {
    signal.removeEventListener('abort', interrupt);
  }
}
