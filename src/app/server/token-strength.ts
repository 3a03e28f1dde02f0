/** Bits of a token that cannot be guessed over a network. */
export const MIN_BITS = 60;
/** What a repetition, a run or a known word adds, however long it is. */
const KNOWN_BITS = 8;
const MIN_REPEATED = 3;

/** The words of most tokens that people make up. */
const words = [
  ...[
    'password',
    'passw0rd',
    'secret',
    'token',
    'admin',
    'administrator',
    'root',
    'user',
    'login',
    'welcome',
    'letmein',
  ],
  ...[
    'changeme',
    'default',
    'test',
    'testing',
    'example',
    'triton',
    'tritune',
    'nvidia',
    'agent',
    'agents',
    'controller',
  ],
  ...['qwertyuiop', 'qwerty', 'asdfghjkl', 'asdfgh', 'zxcvbnm', 'iloveyou', 'monkey', 'dragon', 'master', 'access'],
  ...['server', 'private', 'hello', 'world', 'foobar', 'production', 'staging', 'development'],
].sort((a, b) => b.length - a.length);

/** The sizes of the alphabets that a text may draw from. */
const alphabets: readonly (readonly [RegExp, number])[] = [
  [/[a-z]/, 26],
  [/[A-Z]/, 26],
  [/\d/, 10],
  [/[^a-zA-Z\d]/, 33],
];

/**
 * Estimates the bits that a guesser lacks, at most: characters count by the alphabet; repetitions
 * of what came before, runs such as `aaaa`, `1234` or `dcba`, and common words count little.
 */
export function tokenBits(token: string): number {
  const size = alphabets.reduce((sum, [pattern, letters]) => sum + (pattern.test(token) ? letters : 0), 0);
  const characterBits = Math.log2(Math.max(2, size));
  let bits = 0;
  for (let at = 0; at < token.length; ) {
    const known = Math.max(wordAt(token, at), repeatAt(token, at), runAt(token, at));
    bits += known >= MIN_REPEATED ? Math.min(KNOWN_BITS, known * characterBits) : characterBits;
    at += known >= MIN_REPEATED ? known : 1;
  }
  return bits;
}

const wordAt = (token: string, at: number): number => {
  const rest = token.slice(at).toLowerCase();
  return words.find((word) => rest.startsWith(word))?.length ?? 0;
};

/** The longest piece from here that begins earlier, too. */
function repeatAt(token: string, at: number): number {
  let length = 0;
  while (at + length < token.length && token.indexOf(token.slice(at, at + length + 1)) < at) length++;
  return length;
}

/** The length of steps of one character code up, down, or none. */
function runAt(token: string, at: number): number {
  const step = token.charCodeAt(at + 1) - token.charCodeAt(at);
  if (!(Math.abs(step) <= 1)) return 1;
  let length = 2;
  while (token.charCodeAt(at + length) - token.charCodeAt(at + length - 1) === step) length++;
  return length;
}
