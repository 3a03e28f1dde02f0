import { TrituneError } from '../../base/errors.ts';
import { shownUrl } from '../../base/secrets.ts';

/** The port of an https:// address without one, as everywhere. */
const HTTPS_PORT = 443;

/**
 * Returns HOST:PORT. A host alone gets the default port, or 443 after https://. Drops a leading
 * http://, https://, grpc:// or grpcs://.
 */
export function serverAddress(text: string, defaultPort: number): string {
  const address = text.replace(/^(?:https?|grpcs?):\/\//, '').replace(/\/+$/, '');
  const match = /^(\[[0-9a-fA-F:]+\]|[^:/\s]+)(?::(\d{1,5}))?$/.exec(address);
  const port = Number(match?.[2] ?? (text.startsWith('https://') ? HTTPS_PORT : defaultPort));
  if (!match || port > 65535 || port === 0)
    throw new TrituneError(
      'USAGE',
      `'${shownUrl(text)}' is not a server address`,
      'write HOST:PORT, such as localhost:8001',
    );
  return `${match[1]}:${port}`;
}

/**
 * True if the address asks for TLS: https:// or grpcs://. False for http:// or grpc://. Undefined
 * without a scheme.
 */
export function tlsInAddress(text: string | undefined): boolean | undefined {
  const scheme = /^(http|grpc)(s?):\/\//.exec(text ?? '');
  return scheme ? scheme[2] === 's' : undefined;
}
