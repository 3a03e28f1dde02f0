/** Writes words so that a POSIX shell reads the same ones: `'a b'`. */
export const shellLine = (words: readonly string[]): string => words.map(shellWord).join(' ');

const shellWord = (word: string): string =>
  /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`;
