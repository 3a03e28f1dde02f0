import { stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { createContext, Script } from 'node:vm';
import { formatMessage, TrituneError } from '#base/errors.ts';
import { fileLimits, readText } from '#base/read-file.ts';
import { estimatedTokens } from '#base/tokens.ts';

/** Counts tokens as a model does, or approximately. */
export interface Tokenizer {
  /** The path of the vocabulary; null for the estimate. */
  readonly path: string | null;
  /** Returns the tokens of a text on its own, without those that begin and end a prompt. */
  count(text: string): number;
}

/** Counts approximately, without a vocabulary. */
export const estimate: Tokenizer = { path: null, count: estimatedTokens };

/**
 * Opens the `tokenizer.json` of a model, or of its folder, as Hugging Face publishes it; fetches
 * nothing. Errors: INPUT_INVALID, also from `count`.
 */
export async function openTokenizer(path: string, mostMs = MAX_MS): Promise<Tokenizer> {
  const file = await isFolder(path).then((is) => (is ? join(path, 'tokenizer.json') : path), unreadable(path));
  const vocabulary = await jsonAt(file).catch(unreadable(file));
  // Only a few vocabularies need this file.
  const config = await jsonAt(join(dirname(file), 'tokenizer_config.json')).catch(() => ({}));
  const { Tokenizer } = await import('@huggingface/tokenizers');
  try {
    const tokenizer = new Tokenizer(vocabulary, config);
    const within = deadline(mostMs);
    const count = (text: string): number => {
      try {
        return within(() => tokenizer.encode(text, { add_special_tokens: false }).ids.length);
      } catch (error) {
        return unreadable(file)(error);
      }
    };
    if (count('one two') < 1) throw new TypeError('it makes no tokens of a text');
    return { path: file, count };
  } catch (error) {
    return error instanceof TrituneError ? Promise.reject(error) : unreadable(file)(error);
  }
}

/** Far above what a text of millions of tokens takes. */
const MAX_MS = 30_000;

/**
 * Returns a function that ends work which takes too long: the patterns of a tokenizer come from
 * elsewhere, and may look ahead, so that no engine of linear time can run them.
 */
function deadline(timeout: number): (work: () => number) => number {
  const box = { work: (): number => 0 };
  const context = createContext(box);
  const script = new Script('work()');
  return (work) => {
    box.work = work;
    return Number(script.runInContext(context, { timeout }));
  };
}

const isFolder = async (path: string): Promise<boolean> => (await stat(path)).isDirectory();
const jsonAt = async (path: string): Promise<object> => JSON.parse(await readText(path, fileLimits.tokenizer));

const unreadable =
  (path: string) =>
  (error: unknown): never => {
    throw new TrituneError(
      'INPUT_INVALID',
      `${path} is not a tokenizer: ${formatMessage(error)}`,
      "give the model's tokenizer.json, or leave out --tokenizer for an estimate",
    );
  };
