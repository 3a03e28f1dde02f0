/** A header that is sent, with a value that may be a secret. */
interface ValuedHeader {
  readonly name: string;
  readonly value: string;
}

/** A shorter value is hardly a secret, and would match ordinary words. */
const SHORTEST = 8;

/** What stands for a secret in texts. */
export const HIDDEN = '…';

/**
 * Returns the parts of header values that are secrets by themselves: the credentials in
 * `Bearer TOKEN`, the password in `Basic …`.
 */
function secretsIn(headers: readonly ValuedHeader[]): readonly string[] {
  // A server's name is no secret, and errors are about it.
  const values = headers.flatMap(({ name, value }) => {
    if (name === 'host') return [];
    const credentials = value.slice(value.indexOf(' ') + 1);
    const login = /^basic /i.test(value) ? Buffer.from(credentials, 'base64').toString('utf8') : '';
    return [value, credentials, login, login.slice(login.indexOf(':') + 1)];
  });
  return [...new Set(values)].filter((secret) => secret.length >= SHORTEST);
}

/**
 * Returns a text as it may be repeated: plain, within JSON, within an address, and within base64,
 * wherever it begins there.
 */
function listForms(secret: string): readonly string[] {
  const encoded = encodeURIComponent(secret.toWellFormed());
  const lower = (text: string): string => text.replace(/%[0-9A-F]{2}/g, (code) => code.toLowerCase());
  const quoted = JSON.stringify(secret).slice(1, -1);
  const forms = [
    ...[secret, quoted, JSON.stringify(quoted).slice(1, -1), quoted.replaceAll('/', '\\/')],
    ...[encoded, encoded.replaceAll('%20', '+')].flatMap((text) => [text, lower(text)]),
    ...[0, 1, 2].flatMap((offset) => inBase64(secret, offset)),
  ];
  return [...new Set(forms)];
}

/**
 * Returns the characters of base64 that a text determines if it begins `offset` bytes after a group
 * of three.
 */
function inBase64(text: string, offset: number): readonly string[] {
  const bytes = Buffer.concat([Buffer.alloc(offset), Buffer.from(text)]);
  const inner = bytes.toString('base64').slice(Math.ceil((offset * 8) / 6), Math.floor((bytes.length * 8) / 6));
  return [inner, inner.replaceAll('+', '-').replaceAll('/', '_')];
}

/** The longest first, because one may be a part of another. */
const sorted = (texts: readonly string[]): readonly string[] =>
  [...texts].sort((one, other) => other.length - one.length);

/**
 * Returns a function that removes these secrets, in any form, from a text. Those of fewer than
 * eight characters stay.
 */
export function withoutSecrets(secrets: readonly string[]): (text: string) => string {
  const forms = sorted(secrets.filter((secret) => secret.length >= SHORTEST).flatMap(listForms));
  return (text) => forms.reduce((left, form) => left.replaceAll(form, HIDDEN), text);
}

/**
 * Returns a function that removes the values of headers from a text: a server may repeat them in
 * its error. The credentials in `Bearer TOKEN` and the like also count by themselves.
 */
export const secretsOut = (headers: readonly ValuedHeader[]): ((text: string) => string) =>
  withoutSecrets(secretsIn(headers));

/** Replaces secrets in what a server says, and puts them back into what it is told. */
export interface Veil {
  /** Returns a value in which a name stands for each secret, in texts and keys at any depth. */
  hide<T>(value: T): T;
  /** Returns the value that `hide` had. */
  reveal<T>(value: T): T;
  /** Does the same for the text of a JSON. */
  revealJson(json: string): string;
}

/**
 * Returns the veil over the values of headers. A config that repeats one can be stored, changed and
 * loaded again without it being written anywhere.
 */
export function veilOver(headers: readonly ValuedHeader[]): Veil {
  const forms = sorted(secretsIn(headers).flatMap(listForms));
  const names = forms.map((_, index) => `(secret ${index + 1})`);
  const replaced = (from: readonly string[], to: readonly string[]) => (text: string) =>
    from.reduce((left, each, index) => left.replaceAll(each, () => to[index] as string), text);
  return {
    hide: (value) => mapTexts(value, replaced(forms, names)),
    reveal: (value) => mapTexts(value, replaced(names, forms)),
    revealJson: replaced(
      names,
      forms.map((form) => JSON.stringify(form).slice(1, -1)),
    ),
  };
}

function mapTexts<T>(value: T, map: (text: string) => string): T {
  const inner = (each: unknown): unknown => {
    if (typeof each === 'string') return map(each);
    if (Array.isArray(each)) return each.map(inner);
    if (each === null || typeof each !== 'object') return each;
    const prototype: unknown = Object.getPrototypeOf(each);
    // Bytes, maps and numbers of 64 bits stay as they are.
    if (prototype !== Object.prototype && prototype !== null) return each;
    return Object.fromEntries(Object.entries(each).map(([key, item]) => [map(key), inner(item)]));
  };
  return inner(value) as T;
}

/**
 * Returns the secrets in an address: its login and its password, alone and together, and the values
 * of its query.
 */
export function secretsInUrl(url: string): readonly string[] {
  const login = LOGIN.exec(url)?.[2] ?? '';
  const [, query = ''] = url.split(/\?(.*)/s);
  const values = query
    .split('#', 1)
    .flatMap((text) => text.split('&').map((pair) => pair.slice(pair.indexOf('=') + 1)));
  const written = [login, ...login.split(/:(.*)/s), ...values].filter((text) => text !== '');
  return [...new Set(written.flatMap((text) => [text, decoded(text)]))];
}

/**
 * Returns an address in a form safe to show: without its login, its fragment and the values of its
 * query.
 */
export function shownUrl(url: string): string {
  const [address = '', query] = url
    .replace(LOGIN, '$1')
    .replace(/#.*$/s, '')
    .split(/\?(.*)/s);
  if (query === undefined) return address;
  return `${address}?${query.replace(/[^&]+/g, (pair) => (pair.includes('=') ? `${pair.split('=', 1)[0]}=${HIDDEN}` : HIDDEN))}`;
}

/** A scheme, and what stands before the last @ of the host. */
const LOGIN = /^((?:[^/?#]*:)?(?:\/\/)?)([^/?#]*)@/;

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

const SECRET_NAME =
  /token(?!s)|secret|passw|passphrase|api[-_]?key|access[-_]?key|private[-_]?key|credential|restricted|authorization|\bauth\b|signature|session[-_]?key/i;

/** True for a name of an option or variable whose value is probably a secret. */
export const isSecretName = (name: string): boolean =>
  SECRET_NAME.test(name) && !/(?:file|path|dir|length)$/i.test(name);

/** The variables that an option of `docker run` sets. */
const VARIABLE = /^(--(?:env|e)=)([^=]*)=(.*)$/s;

/**
 * Returns the value that must not be shown of an option `--NAME=VALUE`: of one with a secret's
 * name, or of a variable of a container; null for none.
 */
export function secretInArgument(argument: string): string | null {
  const variable = VARIABLE.exec(argument);
  if (variable) return variable[3] || null;
  const [, name = '', value = ''] = /^-{0,2}([^=]+)=(.*)$/s.exec(argument) ?? [];
  return value !== '' && isSecretName(name) ? value : null;
}

/** Returns the option without the value that must not be shown: `--env=HF_TOKEN=…`. */
export function shownArgument(argument: string): string {
  const secret = secretInArgument(argument);
  return secret === null ? argument : argument.slice(0, argument.length - secret.length) + HIDDEN;
}

/** Words of a command line as a person writes it, each with its quotes. */
const WRITTEN_WORD = /(?:[^\s"']|"[^"]*"|'[^']*')+/g;
const QUOTES = /["']/g;

/**
 * Returns a command line without the values that must not be shown: of options with a secret's
 * name, in one word or two, and of variables, of the command and of a container.
 */
export function shownCommand(line: string): string {
  let before = '';
  return line.replace(WRITTEN_WORD, (written) => {
    const word = written.replace(QUOTES, '');
    const shown = /^(?:-e|--env)$/.test(before)
      ? shownArgument(`--env=${word}`).slice('--env='.length)
      : shownWord(before, word);
    before = word;
    return shown === word ? written : shown;
  });
}

const shownWord = (before: string, word: string): string =>
  secretAfter(before, word) === null ? shownArgument(word) : HIDDEN;

/** Returns the value of `--api-key VALUE`; null for none. */
export const secretAfter = (before: string | undefined, word: string): string | null =>
  before?.startsWith('--') && !before.includes('=') && isSecretName(before) && !word.startsWith('--') ? word : null;
