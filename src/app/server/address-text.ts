import { TrituneError } from '#base/errors.ts';
import { shownUrl } from '#base/secrets.ts';
import type { Protocol } from '#spec/server-spec.ts';
import { splitAddresses } from '#triton/wire/address-list.ts';

/** The port of an https:// address without one, as everywhere. */
const HTTPS_PORT = 443;

/** Triton's own ports. */
export const DEFAULT_PORTS = { grpc: 8001, http: 8000, metrics: 8002 } as const;

/**
 * Returns HOST:PORT, and over HTTP the path of a gateway after it: HOST:PORT/BASE. A host alone
 * gets Triton's port of the protocol, or 443 after https://. Drops a leading http://, https://,
 * grpc:// or grpcs://, and KServe's own `/v2` at the end. Errors: USAGE.
 */
export function serverAddress(text: string, protocol: Protocol): string {
  const address = text.replace(/^(?:https?|grpcs?):\/\//, '').replace(/\/+$/, '');
  const match = /^(\[[0-9a-fA-F:]+\]|[^:/,\s]+)(?::(\d{1,5}))?(?:\/+([\w.~%/-]+))?$/.exec(address);
  const port = Number(match?.[2] ?? (text.startsWith('https://') ? HTTPS_PORT : DEFAULT_PORTS[protocol]));
  if (!match || port > 65535 || port === 0)
    throw notAddress(
      text,
      text.includes(',') ? 'give the address of one server here' : 'write HOST:PORT, such as localhost:8001',
    );
  const basePath = (match[3] ?? '').replace(/(^|\/)v2$/, '');
  if (protocol === 'grpc' && basePath !== '') throw notAddress(text, 'leave out its path, which gRPC does not have');
  return `${match[1]}:${port}${basePath && `/${basePath}`}`;
}

/** Does the same for the addresses of servers that serve as one, `A,B`. Errors: USAGE. */
export const serverAddresses = (text: string, protocol: Protocol): string =>
  splitAddresses(text)
    .map((each) => serverAddress(each, protocol))
    .join();

const notAddress = (text: string, hint: string): TrituneError =>
  new TrituneError('USAGE', `'${shownUrl(text)}' is not a server address`, hint);

/**
 * True if the address asks for TLS: https:// or grpcs://. False for http:// or grpc://. Undefined
 * without a scheme.
 */
export function tlsInAddress(text: string | undefined): boolean | undefined {
  const scheme = /^(http|grpc)(s?):\/\//.exec(text ?? '');
  return scheme ? scheme[2] === 's' : undefined;
}
