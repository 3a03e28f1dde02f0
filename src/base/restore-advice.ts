import { TrituneError } from './errors.ts';
import { typedLine } from './shell-words.ts';

/** Advice of rooms that do not know the directory of the run. */
export const RESTORE_THE_RUN = 'run `tritune restore` with the output directory';

/**
 * Returns an error whose advice to restore the run names its directory; any other error as it is.
 */
export function withRunDirectory(error: unknown, directory: string): unknown {
  if (!(error instanceof TrituneError) || !error.hint.includes(RESTORE_THE_RUN)) return error;
  const command = `run \`${typedLine(['tritune', 'restore', directory])}\``;
  const hint = error.hint.replace(RESTORE_THE_RUN, () => command);
  return new TrituneError(error.code, error.message, hint, { cause: error.cause });
}
