import { writeFile } from 'node:fs/promises';
import { stringify } from 'yaml';
import { fitTwin } from '#adapter/twin/twin.ts';
import { formatCommandLine } from '#base/command-name.ts';
import { formatMessage, TrituneError } from '#base/errors.ts';
import { plainLine } from '#base/format.ts';
import { parseProfile } from '#emulator/profile/profiles.ts';
import type { EmulatorProfile } from '#emulator/profile/schema.ts';
import { findJournal } from '#study/records/journal.ts';
import { admitRun, type Trust } from '../admit-run.ts';
import { studyFiles } from '../run-directory.ts';
import { effectsOfEmulating } from '../run-effects.ts';

/** A profile, and the text of its file. */
export interface Twin {
  readonly profile: EmulatorProfile;
  readonly text: string;
}

/**
 * Returns the twin of the server that the run in a directory measured. `trust`: absent if the run
 * is only read. Errors: JOURNAL_INVALID, UNSUPPORTED, RUN_UNTRUSTED.
 */
export async function twinOfRun(directory: string, trust?: Trust): Promise<Twin> {
  const journal = await findJournal(studyFiles(directory).journal);
  if (trust) await admitRun(directory, ['emulate', '--from'], effectsOfEmulating, trust)(journal);
  const text = stringify(fitTwin(journal.records), { aliasDuplicateObjects: false });
  // Reads the text like any other profile, so that the file will serve the same later.
  return { text, profile: parseProfile(text, `of ${directory}`) };
}

/**
 * Call before a server of a study emulates the run in a directory: what it measures would be as
 * somebody else's journal says. Errors: JOURNAL_INVALID, RUN_UNTRUSTED.
 */
export async function checkOwnTwin(directory: string): Promise<void> {
  const { origin } = await findJournal(studyFiles(directory).journal);
  if (origin === 'own') return;
  throw new TrituneError(
    'RUN_UNTRUSTED',
    `${plainLine(directory)} is not known as a run of yours, and its figures would be those of the server`,
    `to trust them, emulate it and give its address with --url: ${formatCommandLine(['emulate', '--from', directory, '--trust-run'])}`,
  );
}

/** Errors: OUTPUT_UNWRITABLE. */
export async function writeTwin({ text }: Twin, file: string): Promise<void> {
  await writeFile(file, text).catch((error: unknown) => {
    const message = `cannot write ${file}: ${formatMessage(error)}`;
    throw new TrituneError('OUTPUT_UNWRITABLE', message, 'choose another --write-profile', { cause: error });
  });
}
