import { stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { messageOf, TrituneError } from '../../base/errors.ts';
import { fileLimits, readText } from '../../base/read-file.ts';
import { estimatedTokens } from '../../base/tokens.ts';

/** Counts tokens as a model does, or approximately. */
export interface Tokenizer {
  /** The path of the vocabulary; null for the estimate. */
  readonly path: string | null;
  /** Returns the tokens of a text on its own, without those that begin and end a prompt. */
  count(text: string): number;
}

/** Counts approximately, without a vocabulary. */
export const estimate: Tokenizer = { path: null, count: estimatedTokens };

/** Opens the `tokenizer.json` of a model, or of its folder, as Hugging Face publishes it; fetches nothing. Errors: INPUT_INVALID. */
export async function openTokenizer(path: string): Promise<Tokenizer> {
  const file = await isFolder(path).then((is) => (is ? join(path, 'tokenizer.json') : path), unreadable(path));
  const vocabulary = await jsonAt(file).catch(unreadable(file));
  // Only a few vocabularies need this file.
  const config = await jsonAt(join(dirname(file), 'tokenizer_config.json')).catch(() => ({}));
  const { Tokenizer } = await import('@huggingface/tokenizers');
  try {
    const tokenizer = new Tokenizer(vocabulary, config);
    const count = (text: string): number => tokenizer.encode(text, { add_special_tokens: false }).ids.length;
    if (count('one two') < 1) throw new TypeError('it makes no tokens of a text');
    return { path: file, count };
  } catch (error) {
    return unreadable(file)(error);
  }
}

const isFolder = async (path: string): Promise<boolean> => (await stat(path)).isDirectory();
const jsonAt = async (path: string): Promise<object> => JSON.parse(await readText(path, fileLimits.tokenizer));

const unreadable =
  (path: string) =>
  (error: unknown): never => {
    throw new TrituneError(
      'INPUT_INVALID',
      `${path} is not a tokenizer: ${messageOf(error)}`,
      "give the model's tokenizer.json, or leave out --tokenizer for an estimate",
    );
  };
