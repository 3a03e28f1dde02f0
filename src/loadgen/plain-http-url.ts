import { TrituneError } from '#base/errors.ts';
import { shownUrl } from '#base/secrets.ts';

/** The parts of a web address that a request needs. */
export interface PlainHttpUrl {
  /** HOST:PORT to connect to. */
  readonly address: string;
  /** The Host header: omits the port if it is the scheme's default. */
  readonly host: string;
  /** Path and query. */
  readonly target: string;
  /** From its scheme; undefined without one. */
  readonly isSecure: boolean | undefined;
  /** 'USER:PASSWORD' if it holds them. */
  readonly credentials: string | undefined;
}

/**
 * Parses [http[s]://][USER:PASSWORD@]HOST[:PORT][/PATH][?QUERY]; `securely` decides if there is no
 * scheme. Errors: USAGE.
 */
export function plainHttpUrl(text: string, securely: boolean): PlainHttpUrl {
  const scheme = /^([A-Za-z][A-Za-z0-9+.-]*):\/\//.exec(text)?.[1]?.toLowerCase();
  if (scheme !== undefined && scheme !== 'http' && scheme !== 'https') {
    throw new TrituneError('USAGE', `'${scheme}' is not supported for plain HTTP`, 'write http:// or https://');
  }
  const url = parsed(scheme === undefined ? `${securely ? 'https' : 'http'}://${text}` : text);
  const isHttps = url.protocol === 'https:';
  const credentials = `${decoded(url.username)}:${decoded(url.password)}`;
  return {
    address: `${url.hostname}:${url.port === '' ? (isHttps ? 443 : 80) : url.port}`,
    host: url.host,
    target: `${url.pathname}${url.search}`,
    isSecure: scheme === undefined ? undefined : isHttps,
    credentials: credentials === ':' ? undefined : credentials,
  };
}

function parsed(text: string): URL {
  const url = URL.canParse(text) ? new URL(text) : null;
  if (url && url.hostname !== '' && url.port !== '0') return url;
  // The text before an @ may be a password, in any form.
  const shown = text.includes('@') ? 'what was given' : `'${shownUrl(text)}'`;
  throw new TrituneError('USAGE', `${shown} is not an address`, 'write for example http://localhost:8000/inference');
}

function decoded(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}
