import { connect as connectPlain, isIP, type OnReadOpts, type Socket } from 'node:net';
import { type ConnectionOptions, connect as connectSecure, createSecureContext } from 'node:tls';
import { secureOptions, type TlsOptions } from '../../triton/wire/tls.ts';
import { type Address, addressOf } from './address.ts';

/** Where the sockets of a transport go, and how. */
export interface Endpoint extends Address {
  /** Certificates read and trust built once, for all connections; undefined for plaintext. */
  readonly secure: ConnectionOptions | undefined;
}

/** `protocol` is the ALPN name of what will be spoken. Errors: USAGE for a bad address. */
export function endpointOf(url: string, tls: TlsOptions | undefined, protocol: 'h2' | 'http/1.1'): Endpoint {
  if (!tls) return { ...addressOf(url), secure: undefined };
  const address = addressOf(url);
  // Node names the host to the server only when it is told to; a server of many names then shows the wrong certificate.
  const servername = tls.servername ?? (isIP(address.host) === 0 ? address.host : undefined);
  const options = secureOptions({ ...tls, servername }, [protocol]);
  return { ...address, secure: { ...options, secureContext: createSecureContext(options) } };
}

/** Opens a socket that reads into the given buffer; `ready` is called when it may be written to. */
export function openSocket({ host, port, secure }: Endpoint, onread: OnReadOpts, ready: () => void): Socket {
  const socket = secure
    ? connectSecure({ ...secure, host, port, onread } as ConnectionOptions)
    : connectPlain({ host, port, noDelay: true, onread });
  if (secure) socket.setNoDelay(true);
  return socket.once(secure ? 'secureConnect' : 'connect', ready);
}
