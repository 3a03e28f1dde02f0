import { isDeepStrictEqual } from 'node:util';
import type { Random } from '#base/random.ts';
import { parseForRestoring, parseJournal } from '#study/records/journal-text.ts';
import { statesAfterPowerCut } from '../../test/support/power-cut.ts';

/** Records of a journal at whose writing the power goes, each in several ways. */
const CUTS = 8;
const NEWLINE = 0x0a;

/** Returns what is lost of a journal when the power goes while a record is written to it. */
export function lostInPowerCuts(journal: Buffer, random: Random): readonly string[] {
  const whole = parseJournal(journal, 'journal').records;
  const ends = [...journal.keys()].filter((at) => journal[at] === NEWLINE).map((at) => at + 1);
  const faults: string[] = [];
  for (let cut = 0; cut < CUTS && ends.length > 1; cut++) {
    const count = random.int(1, ends.length - 1);
    for (const state of statesAfterPowerCut(journal, ends[count - 1] as number, random)) {
      const { records } = parseJournal(state, 'journal');
      const first = parseForRestoring(state, 'journal', null).records[0];
      const isSound = records.length >= count && isDeepStrictEqual(records, whole.slice(0, records.length));
      if (!isSound || !isDeepStrictEqual(first, whole[0]))
        faults.push(`${records.length} of ${count} records after a power cut`);
    }
  }
  return faults;
}
