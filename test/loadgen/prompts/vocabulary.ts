import { mkdtemp, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** The letters of a byte-level vocabulary that these tests need; Ġ is the space before a word. */
const LETTERS = [...'abcdefghijklmnopqrstuvwxyz', 'Ġ'];

/**
 * Writes the tokenizer.json of a byte-level BPE in which each of these words is one token behind a
 * space, and any other a token a letter or a few.
 */
export async function writeTokenizer(words: readonly string[]): Promise<string> {
  const vocabulary = new Map(LETTERS.map((letter, index) => [letter, index]));
  const merges: [string, string][] = [];
  for (const word of words) {
    let left = 'Ġ';
    for (const letter of word) {
      const merged = left + letter;
      if (!vocabulary.has(merged)) {
        merges.push([left, letter]);
        vocabulary.set(merged, vocabulary.size);
      }
      left = merged;
    }
  }
  const byteLevel = { type: 'ByteLevel', add_prefix_space: false, trim_offsets: true, use_regex: true };
  const file = join(await mkdtemp(join(tmpdir(), 'tokenizer-')), 'tokenizer.json');
  await writeFile(
    file,
    JSON.stringify({
      version: '1.0',
      added_tokens: [],
      normalizer: null,
      pre_tokenizer: byteLevel,
      post_processor: null,
      decoder: byteLevel,
      model: { type: 'BPE', vocab: Object.fromEntries(vocabulary), merges, byte_fallback: false },
    }),
  );
  return file;
}
