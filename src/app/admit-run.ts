import { formatCommandLine } from '#base/command-name.ts';
import { TrituneError } from '#base/errors.ts';
import { plainLine } from '#base/format.ts';
import type { Admit } from '#study/records/journal.ts';
import type { Origin } from '#study/records/journal-text.ts';
import type { StudyRecord, StudyStarted } from '#study/records/records.ts';
import { runKey } from '#study/records/run-key.ts';
import type { RunToTrust } from './control-target.ts';

/** How a person says that a run which is not known as theirs may act. */
export interface Trust {
  /** They said so beforehand. */
  readonly trustRun?: boolean | undefined;
  /** Shows what the run would do. */
  readonly tell: (line: string) => void;
  /** Asks them; absent without a terminal. */
  readonly confirm?: ((question: string) => Promise<boolean>) | undefined;
  /** How to trust it; by default by repeating the command with `--trust-run`. */
  readonly advice?: string | undefined;
}

/**
 * The line of one effect is this long at most, so that whoever agrees to a command has seen its
 * end.
 */
const MAX_LETTERS = 16_384;

/** What a run directory is used for. */
interface Purpose {
  readonly directory: string;
  readonly origin: Origin;
  /** The words of the command, without the directory. */
  readonly command: readonly string[];
  /** What happens then, one thing in each line. */
  readonly effects: () => readonly string[];
}

/**
 * Call before a run acts on what its directory says. Somebody else's directory is data: its
 * addresses, commands, files and secrets count only if the person was shown them and agreed.
 * Errors: RUN_UNTRUSTED.
 */
export async function checkTrusted(
  { directory, origin, command, effects }: Purpose,
  { trustRun, tell, confirm, advice }: Trust,
): Promise<void> {
  if (origin === 'own') return;
  tell(`${plainLine(directory)}: ${whyForeign(origin)}; it`);
  for (const line of effects()) tell(`  ${plainLine(line, MAX_LETTERS)}`);
  if (trustRun === true || (await confirm?.('trust it, and go on?'))) return;
  throw new TrituneError(
    'RUN_UNTRUSTED',
    `${plainLine(directory)} is not known as a run of yours, and would do what is listed above`,
    `read the list; to go on: ${advice ?? formatCommandLine([...command, directory, '--trust-run'])}`,
  );
}

/** Returns the check of a journal by `checkTrusted`. Errors of the check: RUN_UNTRUSTED. */
export const admitRun =
  (
    directory: string,
    command: readonly string[],
    listEffects: (run: RunToTrust) => readonly string[],
    trust: Trust,
  ): Admit =>
  ({ origin, records }) =>
    checkTrusted({ directory, origin, command, effects: () => listEffects(runIn(records)) }, trust);

/** Says that a new run will not be known as the user's, and why, if that is so. */
export function warnWithoutKey(tell: (line: string) => void): void {
  const key = runKey();
  if (key.key !== null) return;
  tell(plainLine(`the journal gets no mark (${key.reason}): restore and --resume will need --trust-run`));
}

/** Returns why a run is not known as the user's. */
function whyForeign(origin: Origin): string {
  const { key, ...without } = runKey();
  const known = key === null && 'reason' in without ? ` (this user has no key: ${without.reason})` : '';
  return origin === 'foreign'
    ? `the journal has the mark of another user or another machine${known}`
    : `the journal has no mark of yours: tritune 0.2.0 or before wrote it, or without a key${known}`;
}

/** The journal begins with the study, and each record has been checked. */
function runIn(records: readonly StudyRecord[]): RunToTrust {
  const started = records[0] as StudyStarted;
  const server = records.reduce(
    (last, record) => (record.type === 'study-resumed' ? record.server : last),
    started.server,
  );
  return { started, server };
}
