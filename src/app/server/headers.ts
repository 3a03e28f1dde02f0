import { formatMessage, TrituneError } from '#base/errors.ts';
import { optionFlag } from '#base/option-flag.ts';
import { fileLimits, readTextSync } from '#base/read-file.ts';
import { HIDDEN, shownArgument, shownCommand, shownUrl } from '#base/secrets.ts';
import type { RequestHeader } from '#loadgen/types.ts';
import type { HeaderSpec } from '#spec/server-spec.ts';

/** The fields of a spec about headers. */
export const headerNames = ['header', 'headerEnv', 'headerFile', 'tokenEnv', 'tokenFile'] as const;
const sourceNames: readonly (keyof HeaderSpec)[] = headerNames.filter((name) => name !== 'header');

/** Longer headers might not fit into one HTTP/2 frame. */
const MAX_HEADER_BYTES = 8192;
const MAX_HEADERS = 32;
/** HTTP/2's Host; either name sets the one that the protocol has. */
const AUTHORITY = ':authority';
/** Headers that the transports set themselves, or that concern one connection. */
const taken = /^(grpc-.*|content-.*|inference-header-content-length|transfer-encoding|connection|te)$/;

/**
 * Returns the headers in the options, from whichever source. Headers that match `reserved` are
 * refused; the type of JSON is left out there, because commands copied from elsewhere have it.
 * Errors: USAGE, and INPUT_INVALID for a file that cannot be read; neither ever shows a value.
 */
export function readHeaders(flags: HeaderSpec, reserved = taken): readonly RequestHeader[] {
  const all = [
    ...(flags.header ?? []).map((text, index) => headerIn(text, `header ${index + 1}`)),
    ...(flags.headerEnv ?? []).map(headerFromEnvironment),
    ...(flags.headerFile ?? []).flatMap(headersInFile),
    ...readToken(flags),
  ];
  const headers = reserved.test('content-type') ? all.filter((header) => !isJsonType(header)) : all;
  const hosts = headers.filter(({ name }) => name === 'host').length;
  if (hosts > 1) throw usage("the header 'host' is stated twice", 'leave one of them out');
  const header = headers.find(({ name }) => reserved.test(name));
  if (header) throw usage(`the header '${header.name}' is set by tritune`, 'leave it out');
  const bytes = headers.reduce((sum, { name, value }) => sum + name.length + value.length, 0);
  if (bytes <= MAX_HEADER_BYTES && headers.length <= MAX_HEADERS) return headers;
  throw usage(
    'there are too many headers, or they are too long',
    `give at most ${MAX_HEADERS} headers of ${MAX_HEADER_BYTES} bytes in total`,
  );
}

const isJsonType = ({ name, value }: RequestHeader): boolean =>
  name === 'content-type' && /^application\/json\b/i.test(value);

/** `what` names the text in errors, which never show the text itself. */
function headerIn(text: string, what: string): RequestHeader {
  // The pattern backtracks over a long run of blanks.
  const match =
    text.length > 2 * MAX_HEADER_BYTES ? null : /^(:?[A-Za-z0-9_.-]+):[ \t]*([\x20-\x7e]*?)[ \t]*$/.exec(text);
  const name = match?.[1]?.toLowerCase() ?? '';
  if (!match || (name.startsWith(':') && name !== AUTHORITY))
    throw usage(`${what} is not NAME:VALUE in ASCII`, 'write NAME: VALUE');
  return { name: name === AUTHORITY ? 'host' : name, value: match[2] as string };
}

function headerFromEnvironment(text: string): RequestHeader {
  const at = text.indexOf(':');
  const variable = text.slice(at + 1).trim();
  if (at < 1 || !/^\w+$/.test(variable)) {
    throw usage('--header-env is not NAME:VARIABLE', 'write for example --header-env x-api-key:API_KEY');
  }
  return headerIn(`${text.slice(0, at)}:${variableNamed(variable)}`, `the header with the value of ${variable}`);
}

function headersInFile(path: string): readonly RequestHeader[] {
  const lines = readHeaderFile(path).split(/\r?\n/);
  return lines.flatMap((line, index) => (line.trim() === '' ? [] : [headerIn(line, `line ${index + 1} of '${path}'`)]));
}

function readToken({ tokenEnv, tokenFile }: HeaderSpec): readonly RequestHeader[] {
  if (tokenEnv !== undefined && tokenFile !== undefined) {
    throw usage('--token-env and --token-file cannot be used together', 'leave one of them out');
  }
  if (tokenEnv !== undefined) return [bearer(variableNamed(tokenEnv), `the token in ${tokenEnv}`)];
  return tokenFile === undefined ? [] : [bearer(readHeaderFile(tokenFile), `the token in '${tokenFile}'`)];
}

/** RFC 6750; other characters are accepted too, but no spaces. */
function bearer(text: string, what: string): RequestHeader {
  const token = text.trim();
  if (/^[\x21-\x7e]+$/.test(token)) return { name: 'authorization', value: `Bearer ${token}` };
  throw usage(`${what} does not contain a token`, 'put one word in ASCII there, and nothing else');
}

function variableNamed(variable: string): string {
  // An object inherits names that are not variables of the environment.
  const value = Object.hasOwn(process.env, variable) ? process.env[variable] : undefined;
  if (value !== undefined && value !== '') return value.trim();
  throw usage(`the environment variable ${variable} is not set`, 'set it before you start tritune');
}

function readHeaderFile(path: string): string {
  try {
    return readTextSync(path, fileLimits.credential);
  } catch (error) {
    throw new TrituneError('INPUT_INVALID', `cannot read '${path}': ${formatMessage(error)}`, 'check the path');
  }
}

/** True when the flags include a secret. */
export const hasCredentials = ({ header = [], headerEnv = [], tokenEnv, tokenFile }: HeaderSpec): boolean =>
  tokenEnv !== undefined ||
  tokenFile !== undefined ||
  [...header, ...headerEnv].some((text) => /^authorization\s*:/i.test(text));

/**
 * Returns the headers in a form safe to store: names, and the names of variables and files, but no
 * values.
 */
export function withoutHeaderValues<O extends HeaderSpec>(options: O): O {
  const names = readHeaders(options).map(({ name }) => name);
  return names.length === 0 ? options : { ...options, header: names };
}

/** Addresses and options in which a person may have written a password or a token. */
interface Unsafe extends Pick<HeaderSpec, 'header'> {
  readonly url?: string | undefined;
  readonly controlUrl?: string | undefined;
  readonly metricsUrl?: string | undefined;
  readonly serverArg?: readonly string[] | undefined;
  readonly dockerArg?: readonly string[] | undefined;
  readonly launchCommand?: string | undefined;
}

const addressNames = ['url', 'controlUrl', 'metricsUrl'] as const;
const argumentNames = ['serverArg', 'dockerArg'] as const;
/**
 * Options that a resumed run takes only to have their secrets again, which the journal does not
 * hold.
 */
export const secretOptionNames = [...argumentNames, 'launchCommand'] as const;

/**
 * Returns the server of a spec in a form safe to store and show: without the values of headers, the
 * logins and query values of addresses, and the secrets in options of a launched server.
 */
export function withoutSecretValues<O extends HeaderSpec & Unsafe>(server: O): O {
  const addresses = addressNames.flatMap((name) => {
    const address = server[name];
    return address === undefined ? [] : [[name, shownUrl(address)] as const];
  });
  const lists = argumentNames.flatMap((name) => {
    const list = server[name];
    return list === undefined ? [] : [[name, list.map(shownArgument)] as const];
  });
  const { launchCommand } = server;
  return {
    ...withoutHeaderValues(server),
    ...Object.fromEntries<unknown>([...addresses, ...lists]),
    ...(launchCommand !== undefined && { launchCommand: shownCommand(launchCommand) }),
  };
}

const isAddressName = (name: string): boolean => (addressNames as readonly string[]).includes(name);

/** Returns the command line in a form safe to store. */
export function commandLineWithoutValues(args: readonly string[], unsafe: Unsafe): readonly string[] {
  const shown: readonly (readonly [text: string, instead: string])[] = [
    ...(unsafe.header ?? []).map((text) => [text, `${text.split(':', 1)[0]}:…`] as const),
    ...addressNames.flatMap((name) => unsafe[name] ?? []).map((text) => [text, shownUrl(text)] as const),
    ...argumentNames.flatMap((name) => unsafe[name] ?? []).map((text) => [text, shownArgument(text)] as const),
    ...[unsafe.launchCommand ?? []].flat().map((text) => [text, shownCommand(text)] as const),
  ];
  return args.map((arg) => shown.reduce((text, [from, to]) => (from === to ? text : text.replaceAll(from, to)), arg));
}

/**
 * Returns a stored server with what `withoutSecretValues` left out, from the options that are given
 * again. Errors: USAGE if one is missing, or differs in what is stored of it.
 */
export function withSecretsAgain<O extends Unsafe>(kept: O, unsafe: Unsafe): O {
  const again = [...addressNames, ...secretOptionNames].flatMap((name) => {
    const [stored, now] = [kept[name], unsafe[name]];
    const texts = stored === undefined ? [] : [stored].flat();
    const isHidden = texts.some((text) => text.includes(HIDDEN));
    if (!isHidden && (now === undefined || isAddressName(name))) return [];
    const flag = optionFlag(name);
    if (now === undefined)
      throw usage(`the journal does not store the secret in ${flag} ${texts.join(' ')}`, `give ${flag} again`);
    const shown = typeof now === 'string' ? shownCommand(now) : now.map(shownArgument).join('\n');
    if (!isAddressName(name) && shown !== texts.join('\n'))
      throw usage(
        `a resumed study cannot change its ${flag}`,
        isHidden ? `give ${texts.join(' ')} with its secret` : 'leave that out, or start a new study',
      );
    return [[name, now] as const];
  });
  return { ...kept, ...Object.fromEntries<unknown>(again) };
}

/**
 * Returns a section of an earlier run's spec with headers that can be sent: the ones given now, or
 * else those from the stored variables and files. Errors: USAGE if the names of the headers differ.
 */
export function withHeadersAgain<O extends HeaderSpec>(kept: O, spec: HeaderSpec): O {
  const flags = flagsAgain(kept, spec);
  checkSameHeaders(kept.header ?? [], readHeaders(flags));
  const others = Object.entries(kept).filter(([name]) => !(headerNames as readonly string[]).includes(name));
  return { ...(Object.fromEntries(others) as O), ...flags };
}

/**
 * Returns the headers of an earlier run that can be sent again: the ones given now, or else those
 * from the stored variables and files.
 */
export const flagsAgain = (kept: HeaderSpec, spec: HeaderSpec): HeaderSpec =>
  isSilent(spec) ? pick(kept, sourceNames) : pick(spec, headerNames);

/** True if the flags have no header. */
export const isSilent = (flags: HeaderSpec): boolean => headerNames.every((name) => flags[name] === undefined);

const pick = (flags: HeaderSpec, names: readonly (keyof HeaderSpec)[]): HeaderSpec =>
  Object.fromEntries(names.flatMap((name) => (flags[name] === undefined ? [] : [[name, flags[name]]])));

function checkSameHeaders(kept: readonly string[], headers: readonly RequestHeader[]): void {
  const named = (names: readonly string[]): string => [...names].sort().join(', ') || 'no header';
  const names = headers.map(({ name }) => name);
  if (named(kept) === named(names)) return;
  throw usage(
    `the study was started with ${named(kept)}, but resumed with ${named(names)}`,
    'give every header again, because the journal does not store values: -H "NAME: VALUE"',
  );
}

const usage = (message: string, hint: string): TrituneError => new TrituneError('USAGE', message, hint);
