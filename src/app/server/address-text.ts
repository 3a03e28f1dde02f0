import { TrituneError } from '../../base/errors.ts';

/** HOST:PORT; a host alone gets the default port, http://, https://, grpc:// or grpcs:// in front is dropped. */
export function serverAddress(text: string, defaultPort: number): string {
  const address = text.replace(/^(?:https?|grpcs?):\/\//, '').replace(/\/+$/, '');
  const match = /^(\[[0-9a-fA-F:]+\]|[^:/\s]+)(?::(\d{1,5}))?$/.exec(address);
  const port = Number(match?.[2] ?? defaultPort);
  if (!match || port > 65535 || port === 0)
    throw new TrituneError('USAGE', `'${text}' is not a server address`, 'write HOST:PORT, such as localhost:8001');
  return `${match[1]}:${port}`;
}

/** Whether the address says by itself that TLS is spoken there: https:// and grpcs:// yes, http:// and grpc:// no. */
export function tlsInAddress(text: string | undefined): boolean | undefined {
  const scheme = /^(http|grpc)(s?):\/\//.exec(text ?? '');
  return scheme ? scheme[2] === 's' : undefined;
}
