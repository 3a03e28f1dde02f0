import type { LookupAddress } from 'node:dns';
import { connect as connectPlain, isIP, type LookupFunction, type OnReadOpts, Socket } from 'node:net';
import { type ConnectionOptions, connect as connectSecure, createSecureContext } from 'node:tls';
import { secureOptions, type TlsOptions } from '#triton/wire/tls.ts';
import { type Address, parseAddress } from './address.ts';

/** Decides about the sockets to one server: how many are opened, and to which addresses. */
export interface SocketGate {
  /** The only addresses to connect to, of whatever name; null for any. */
  readonly addresses: readonly LookupAddress[] | null;
  /** Takes the place of a socket; returns why there is none, or null. */
  take(): Error | null;
  release(): void;
}

/** The address of a transport's sockets, and how to open them. */
export interface Endpoint extends Address {
  readonly gate: SocketGate | undefined;
  /** Certificates and trust, built once for all connections; undefined for plaintext. */
  readonly secure: ConnectionOptions | undefined;
}

/** `protocol` is the ALPN name of the protocol to speak. Errors: USAGE for a bad address. */
export function createEndpoint(
  url: string,
  tls: TlsOptions | undefined,
  protocol: 'h2' | 'http/1.1',
  gate?: SocketGate,
): Endpoint {
  if (!tls) return { ...parseAddress(url), secure: undefined, gate };
  const address = parseAddress(url);
  // Node sends the host name to the server only if told to; a server with many names otherwise
  // shows the wrong certificate.
  const servername = tls.servername ?? (isIP(address.host) === 0 ? address.host : undefined);
  const options = secureOptions({ ...tls, servername }, [protocol]);
  return { ...address, secure: { ...options, secureContext: createSecureContext(options) }, gate };
}

/** Opens a socket that reads into the given buffer; calls `ready` when it can be written to. */
export function openSocket({ host, port, secure, gate }: Endpoint, onread: OnReadOpts, ready: () => void): Socket {
  const refusal = gate?.take();
  if (refusal) return new Socket().destroy(refusal);
  const to = { host, port, onread, ...gateOptions(gate) };
  const socket = secure
    ? connectSecure({ ...secure, ...to } as ConnectionOptions)
    : connectPlain({ ...to, noDelay: true });
  if (secure) socket.setNoDelay(true);
  if (gate) watchSocket(socket, gate);
  return socket.once(secure ? 'secureConnect' : 'connect', ready);
}

/** Options that make names stand for the gate's addresses. */
export const gateOptions = (gate: SocketGate | undefined): { readonly lookup?: LookupFunction } =>
  gate?.addresses ? { lookup: lookupAmong(gate.addresses) } : {};

const lookupAmong =
  (addresses: readonly LookupAddress[]): LookupFunction =>
  (_name, { all }, done) => {
    const [first] = addresses as [LookupAddress];
    process.nextTick(() => (all ? done(null, [...addresses]) : done(null, first.address, first.family)));
  };

/**
 * Releases the place of the socket when it closes, and closes it if it got an address that the gate
 * does not allow.
 */
export function watchSocket(socket: Socket, gate: SocketGate): void {
  socket.once('close', () => gate.release());
  socket.once('connect', () => {
    const { remoteAddress = '' } = socket;
    if (gate.addresses?.every(({ address }) => address !== remoteAddress))
      socket.destroy(new Error(`it may not connect to ${remoteAddress}`));
  });
}
