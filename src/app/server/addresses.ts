import { isTrituneError, TrituneError } from '#base/errors.ts';
import { shownUrl } from '#base/secrets.ts';
import { findEmulatedProfile } from '#emulator/wire/server-identity.ts';
import type { LaunchedServer } from '#launch/types.ts';
import type { RequestHeader } from '#loadgen/types.ts';
import type { AddressSpec, Protocol } from '#spec/server-spec.ts';
import type { ServerIdentity } from '#study/records/records.ts';
import { connectGrpc, connectHttp } from '#triton/control/connect.ts';
import type { TritonClient } from '#triton/types.ts';
import { splitAddresses } from '#triton/wire/address-list.ts';
import { splitBasePath } from '#triton/wire/base-path.ts';
import type { TlsOptions } from '#triton/wire/tls.ts';
import { DEFAULT_PORTS, serverAddress, tlsInAddress } from './address-text.ts';
import { readHeaders } from './headers.ts';
import { wantsTls } from './tls.ts';

/** The addresses of one server for traffic, control calls and metrics. */
export interface Addresses {
  readonly protocol: Protocol;
  readonly url: string;
  /** TLS of the traffic, and of control over HTTP; undefined for plaintext. */
  readonly tls?: TlsOptions | undefined;
  /**
   * A gRPC address; null for control over HTTP. `isGuess`: it is a default, so nothing may listen
   * there.
   */
  readonly control: {
    readonly url: string;
    readonly tls?: TlsOptions | undefined;
    readonly isGuess: boolean;
  } | null;
  readonly metricsUrl: string;
  /** Headers of the control calls; the traffic has its own. Metrics requests have none. */
  readonly headers?: readonly RequestHeader[];
}

/**
 * Returns the addresses of each server of the options: of one, or of several that serve as one.
 * `metricsUrl` is that of the first. Errors: USAGE for an address that is there twice, and for
 * control addresses that are not as many.
 */
export function listServers({
  url,
  controlUrl,
  metricsUrl,
  ...rest
}: AddressSpec): readonly [AddressSpec, ...AddressSpec[]] {
  const addresses = splitAddresses(url ?? '');
  const [first, ...others] = addresses;
  const again = addresses.find((each, place) => addresses.indexOf(each) !== place);
  if (again !== undefined) throw new TrituneError('USAGE', `-u has ${shownUrl(again)} twice`, 'name each server once');
  const controls = controlUrl === undefined ? [] : splitAddresses(controlUrl);
  if (controls.length > 0 && controls.length !== others.length + 1)
    throw new TrituneError(
      'USAGE',
      `--control-url has ${controls.length} addresses, and -u has ${others.length + 1}`,
      'give one for each server, in the same order',
    );
  const serverAt = (each: string | undefined, place: number): AddressSpec => ({
    ...rest,
    ...(each !== undefined && { url: each }),
    ...(controls[place] !== undefined && { controlUrl: controls[place] }),
  });
  const servers = others.map((each, place) => serverAt(each, place + 1));
  return [{ ...serverAt(first, 0), ...(metricsUrl !== undefined && { metricsUrl }) }, ...servers];
}

/** Returns the addresses in the options, with `tls` for those that use it. Errors: USAGE. */
export function resolveAddresses(options: AddressSpec, tls: TlsOptions): Addresses {
  const { protocol } = options;
  if (tlsInAddress(options.url) === false && wantsTls(options)) {
    throw new TrituneError(
      'USAGE',
      `the address '${shownUrl(options.url ?? '')}' excludes TLS, but there are TLS options`,
      'write https:// or grpcs://, or HOST:PORT',
    );
  }
  const traffic = { tls: (tlsInAddress(options.url) ?? wantsTls(options)) ? tls : undefined };
  const url = serverAddress(options.url ?? 'localhost', protocol);
  const { address } = splitBasePath(url);
  const host = address.slice(0, address.lastIndexOf(':'));
  const metricsUrl = options.metricsUrl ?? `http://${host}:${DEFAULT_PORTS.metrics}/metrics`;
  const control = controlAddress(options, { url, host, ...traffic }, tls);
  return { protocol, url, ...traffic, control, metricsUrl, headers: readHeaders(options) };
}

function controlAddress(
  options: AddressSpec,
  { url, host, ...traffic }: { readonly url: string; readonly host: string; readonly tls: TlsOptions | undefined },
  tls: TlsOptions,
): Addresses['control'] {
  if (options.controlUrl !== undefined) {
    const isSecure = tlsInAddress(options.controlUrl) ?? traffic.tls !== undefined;
    return {
      url: serverAddress(options.controlUrl, 'grpc'),
      tls: isSecure ? tls : undefined,
      isGuess: false,
    };
  }
  if (options.protocol === 'grpc') return { url, ...traffic, isGuess: false };
  if (url !== `${host}:${DEFAULT_PORTS.http}`) return null;
  return { url: `${host}:${DEFAULT_PORTS.grpc}`, ...traffic, isGuess: true };
}

/** Returns the addresses of a server that was started for the run. */
export function addressesOfLaunched(server: LaunchedServer, protocol: Protocol): Addresses {
  return {
    protocol,
    url: protocol === 'grpc' ? server.grpcUrl : server.httpUrl,
    control: { url: server.grpcUrl, isGuess: false },
    metricsUrl: server.metricsUrl,
  };
}

/** How to reach a Triton. */
export type TritonIdentity = ServerIdentity & { readonly protocol: Protocol; readonly controlProtocol: Protocol };

export interface ControlConnection {
  readonly client: TritonClient;
  readonly server: TritonIdentity;
}

/**
 * Connects for control calls, over gRPC if possible: an HTTP load call blocks one of the server's
 * HTTP workers, and inference with it. Errors: SERVER_UNREACHABLE if neither address answers, or if
 * the port speaks the other protocol.
 */
export async function connectControl(addresses: Addresses): Promise<ControlConnection> {
  const client = await controlClient(addresses);
  try {
    if (!(await client.live())) {
      throw new TrituneError(
        'SERVER_FAILED',
        `the server at ${client.url} reports that it is not live`,
        'wait until it has started, or restart it',
      );
    }
    const metadata = await client.serverMetadata();
    return {
      client,
      server: {
        name: metadata.name,
        version: metadata.version,
        url: addresses.url,
        protocol: addresses.protocol,
        controlUrl: client.url,
        controlProtocol: client.protocol,
        emulated: findEmulatedProfile(metadata),
      },
    };
  } catch (error) {
    await client.close();
    throw await orOtherProtocol(error, addresses);
  }
}

/** The longest time for a server to say whether it is live. */
const PROBE_TIMEOUT_MS = 2_000;

/** True if the server of the requests answers in their protocol, be it with a refusal. */
export async function speaks({ protocol, url, tls, headers }: Addresses): Promise<boolean> {
  const connect = protocol === 'grpc' ? connectGrpc : connectHttp;
  const client = connect(url, { tls, headers });
  try {
    await client.live({ timeoutMs: PROBE_TIMEOUT_MS });
    return true;
  } catch (error) {
    if (!isTrituneError(error)) throw error;
    return protocol === 'http' && error.code === 'SERVER_FAILED';
  } finally {
    await client.close();
  }
}

const NAMES = { grpc: 'gRPC', http: 'HTTP' } as const;

/**
 * Returns the error of a connection, or one that names the protocol that the port speaks instead of
 * the given one.
 */
async function orOtherProtocol(error: unknown, addresses: Addresses): Promise<unknown> {
  if (!isTrituneError(error, 'SERVER_UNREACHABLE')) return error;
  const { protocol, url } = addresses;
  const other = protocol === 'grpc' ? 'http' : 'grpc';
  // gRPC has no base path.
  const isOther = splitBasePath(url).basePath === '' && (await speaks({ ...addresses, protocol: other }));
  if (!isOther) return error;
  const message = `${url} speaks ${NAMES[other]}, not ${NAMES[protocol]}`;
  return new TrituneError(error.code, message, `leave out -i, or give -i ${other}`, { cause: error });
}

async function controlClient(addresses: Addresses): Promise<TritonClient> {
  const { headers } = addresses;
  if (addresses.control === null) return connectHttp(addresses.url, { tls: addresses.tls, headers });
  const grpc = connectGrpc(addresses.control.url, { tls: addresses.control.tls, headers });
  if (!addresses.control.isGuess) return grpc;
  try {
    await grpc.live({ timeoutMs: PROBE_TIMEOUT_MS });
    return grpc;
  } catch (error) {
    if (!isTrituneError(error)) throw error;
    await grpc.close();
    return connectHttp(addresses.url, { tls: addresses.tls, headers });
  }
}
