import { createInterface } from 'node:readline';
import { execa } from 'execa';

/**
 * Starts a command and passes its lines on. `ended` resolves when it has ended or could not start;
 * `stop` ends it.
 */
export type FollowLines = (
  file: string,
  args: readonly string[],
  onLine: (line: string) => void,
) => { readonly ended: Promise<void>; stop(): Promise<void> };

/**
 * Follows the standard output of a real process: no shell, no input, and no error if the program
 * does not exist.
 */
export const followLines: FollowLines = (file, args, onLine) => {
  const child = execa(file, args, { stdin: 'ignore', stderr: 'ignore', buffer: false, reject: false });
  createInterface({ input: child.stdout }).on('line', onLine);
  const ended = child.then(() => undefined);
  return {
    ended,
    stop: async () => {
      child.kill('SIGTERM');
      await ended;
    },
  };
};
