import { isTrituneError, TrituneError } from '#base/errors.ts';
import { MS_PER_S } from '#base/units.ts';
import { runAtTerminal } from './command-line.ts';
import { durationSeconds, positiveNumber, positiveWhole } from './options/option-values.ts';

/** Flags of hey (0.1.4) with a value, and what they are of `tritune profile`. */
const valued: Readonly<Record<string, (value: string) => readonly string[]>> = {
  m: (method) => ['--method', method],
  H: (header) => ['-H', header],
  A: (accept) => ['-H', `Accept: ${accept}`],
  T: (contentType) => ['-H', `Content-Type: ${contentType}`],
  host: (host) => ['-H', `Host: ${host}`],
  d: (body) => ['--body', body],
  D: (file) => ['--body-file', file],
  a: (user) => ['--basic-auth', user],
  t: (seconds) => ['--request-timeout', seconds],
  cpus: (threads) => ['--client-threads', threads],
};

/** Flags about how much is sent, which depend on each other. */
const amounts = ['n', 'c', 'q', 'z'] as const;
type Amount = (typeof amounts)[number];

/** Flags without a value; the others of these do what is done here anyway. */
const switches: Readonly<Record<string, readonly string[]>> = {
  'disable-keepalive': ['--disable-keepalive'],
  'disable-compression': [],
  'disable-redirects': [],
};

const refused: Readonly<Record<string, string>> = {
  o: 'give -f FILE to tritune profile for a table of levels, or --json FILE for each reply code',
  x: 'send to the server itself',
  h2: 'HTTP/1.1 is what is measured',
};

/**
 * Returns the command line of `tritune profile` for one of hey, whose defaults are 200 requests, 50
 * at once. Errors: USAGE.
 */
export function toProfileWords(args: readonly string[]): readonly string[] {
  const words: string[] = [];
  const typedAmounts: Partial<Record<Amount, string>> = {};
  const addresses: string[] = [];
  const rest = [...args];
  for (let word = rest.shift(); word !== undefined; word = rest.shift()) {
    const [, name, inWord] = /^--?([\w-]+)(?:=(.*))?$/s.exec(word) ?? [];
    if (name === undefined) addresses.push(word);
    else if (name === 'h' || name === 'help') return ['profile', '--help'];
    else if (Object.hasOwn(switches, name)) words.push(...(switches[name] ?? []));
    else if (Object.hasOwn(refused, name)) throw usage(`-${name} is not supported`, refused[name] as string);
    else {
      const value = inWord ?? rest.shift();
      if (value === undefined) throw usage(`-${name} needs a value`, 'give it after the flag');
      const amount = amounts.find((each) => each === name);
      if (amount) typedAmounts[amount] = value;
      else if (Object.hasOwn(valued, name))
        words.push(...(valued[name] as (value: string) => readonly string[])(value));
      else throw usage(`hey has no flag -${name}`, 'docs/plain-http.md lists them');
    }
  }
  const [address, ...others] = addresses;
  if (address === undefined || others.length > 0)
    throw usage('one address is needed, after the flags', 'such as tritune-hey -n 1000 http://localhost:8000/infer');
  return ['profile', '--service-kind', 'http', '-u', address, ...toLevel(typedAmounts), ...words];
}

/** `-q` is a rate of each client; `-z` measures for a time instead of a number of requests. */
function toLevel({ n = '200', c = '50', q, z }: Partial<Record<Amount, string>>): readonly string[] {
  const clients = readAmount('c', c, positiveWhole);
  const length =
    z === undefined
      ? ['--request-count', n]
      : ['-p', String(MS_PER_S * readAmount('z', z, durationSeconds)), '-r', '1'];
  const rate = q === undefined ? [] : ['--request-rate-range', String(readAmount('q', q, positiveNumber) * clients)];
  return ['--concurrency-range', String(clients), ...rate, ...length];
}

/** Errors: those of the parser, with the name of the flag. */
function readAmount(name: Amount, text: string, parse: (text: string) => number): number {
  try {
    return parse(text);
  } catch (error) {
    throw isTrituneError(error) ? usage(`-${name}: ${error.message}`, error.hint) : error;
  }
}

const usage = (message: string, hint: string): TrituneError => new TrituneError('USAGE', message, hint);

/**
 * The command of `hey-main.ts`: hey's flags, with the lines, figures and exit codes of `tritune
 * profile`. Errors: none; reports failures in one line.
 */
export const runHey = (): Promise<void> => runAtTerminal(async () => toProfileWords(process.argv.slice(2)));
