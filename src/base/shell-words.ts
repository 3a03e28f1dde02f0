/**
 * Nothing in such a word means anything to a shell; a first = does to zsh, and a first ~ to all.
 */
const PLAIN = /^[\w@%+:,./-][\w@%+=:,./-]*$/;
/**
 * Characters that a line must not contain, because they break it or act on its reader
 * (`inertLine`).
 */
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
const UNSEEN = /[\u0000-\u001f\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff]/g;

/** Writes words so that a POSIX shell reads the same ones, for a script: `'a b'`. */
export const shellLine = (words: readonly string[]): string => words.map(quoted).join(' ');

/** Writes words as one line that a person types, or pastes, into a shell. */
export const typedLine = (words: readonly string[]): string => words.map(typedWord).join(' ');

/**
 * Returns a word as a shell reads it back, on one line. A word with control characters or direction
 * marks is quoted as bash, zsh, ksh and newer POSIX shells read it: `$'a\012b'`. No shell can hold
 * a NUL, which is left out.
 */
export function typedWord(word: string): string {
  if (word.search(UNSEEN) < 0) return quoted(word);
  const escaped = word
    .replace(/\0/g, '')
    .replace(/['\\]/g, '\\$&')
    .replace(UNSEEN, (character) => [...Buffer.from(character)].map(octal).join(''));
  return `$'${escaped}'`;
}

const quoted = (word: string): string => (PLAIN.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`);

/** Three octal digits, so that a digit after them is one of its own. */
const octal = (byte: number): string => `\\${byte.toString(8).padStart(3, '0')}`;
