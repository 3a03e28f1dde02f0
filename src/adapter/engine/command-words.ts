import { TrituneError } from '#base/errors.ts';

/** A word, or the part of one, between quotes or outside of them. */
const PART = /'([^']*)'|"((?:[^"\\]|\\.)*)"|\\(.)|([^\s'"\\]+)|(\s+)/gsy;

/**
 * Splits a command line into words like a shell without expansion: at blanks, with '…', "…" and \
 * to keep them together. Errors: USAGE for an unclosed quote.
 */
export function commandWords(text: string): readonly string[] {
  const words: string[] = [];
  let word: string | null = null;
  let end = 0;
  for (const { 0: all, 1: single, 2: double, 3: escaped, 4: plain, 5: blank } of text.matchAll(PART)) {
    end += all.length;
    if (blank !== undefined) {
      if (word !== null) words.push(word);
      word = null;
      continue;
    }
    word = (word ?? '') + (single ?? double?.replace(/\\(.)/gs, '$1') ?? escaped ?? plain ?? '');
  }
  if (end < text.length) throw new TrituneError('USAGE', `a quote in '${text}' is not closed`, 'close the quote');
  return word === null ? words : [...words, word];
}
