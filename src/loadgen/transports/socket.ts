import { connect as connectPlain, isIP, type OnReadOpts, type Socket } from 'node:net';
import { type ConnectionOptions, connect as connectSecure, createSecureContext } from 'node:tls';
import { secureOptions, type TlsOptions } from '../../triton/wire/tls.ts';
import { type Address, addressOf } from './address.ts';

/** The address of a transport's sockets, and how to open them. */
export interface Endpoint extends Address {
  /** Certificates and trust, built once for all connections; undefined for plaintext. */
  readonly secure: ConnectionOptions | undefined;
}

/** `protocol` is the ALPN name of the protocol to speak. Errors: USAGE for a bad address. */
export function endpointOf(url: string, tls: TlsOptions | undefined, protocol: 'h2' | 'http/1.1'): Endpoint {
  if (!tls) return { ...addressOf(url), secure: undefined };
  const address = addressOf(url);
  // Node sends the host name to the server only if told to; a server with many names otherwise shows the wrong certificate.
  const servername = tls.servername ?? (isIP(address.host) === 0 ? address.host : undefined);
  const options = secureOptions({ ...tls, servername }, [protocol]);
  return { ...address, secure: { ...options, secureContext: createSecureContext(options) } };
}

/** Opens a socket that reads into the given buffer; calls `ready` when it can be written to. */
export function openSocket({ host, port, secure }: Endpoint, onread: OnReadOpts, ready: () => void): Socket {
  const socket = secure
    ? connectSecure({ ...secure, host, port, onread } as ConnectionOptions)
    : connectPlain({ host, port, noDelay: true, onread });
  if (secure) socket.setNoDelay(true);
  return socket.once(secure ? 'secureConnect' : 'connect', ready);
}
