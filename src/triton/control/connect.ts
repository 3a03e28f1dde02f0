import { TrituneError } from '#base/errors.ts';
import { secretsOut, shownUrl, veilOver } from '#base/secrets.ts';
import type { TritonClient } from '../types.ts';
import { splitBasePath } from '../wire/base-path.ts';
import { grpcWire } from '../wire/grpc.ts';
import { httpWire } from '../wire/http.ts';
import { diagnoseTls, type TlsOptions } from '../wire/tls.ts';
import { hostAndPort, isHostAndPort, type Wire, WireFault, type WireHeader } from '../wire/wire.ts';
import { clientOver, type Deadlines } from './client.ts';

export interface ConnectOptions extends Partial<Deadlines> {
  /** If absent, the connection is in plaintext. */
  readonly tls?: TlsOptions | undefined;
  /**
   * Sent with every call, as HTTP headers or gRPC metadata; no reply and no error repeats their
   * values.
   */
  readonly headers?: readonly WireHeader[] | undefined;
}

const defaultDeadlines: Deadlines = { defaultTimeoutMs: 10_000, loadTimeoutMs: 600_000 };

/**
 * Returns a client over gRPC to the server at HOST:PORT. Connects on the first call. Errors: USAGE
 * for any other form of address.
 */
export function connectGrpc(url: string, options: ConnectOptions = {}): TritonClient {
  return over(grpcWire(checked(url), options), options);
}

/**
 * Returns a client over HTTP to the server at HOST:PORT[/BASE]. Connects on the first call. Errors:
 * USAGE for any other form of address.
 */
export function connectHttp(url: string, options: ConnectOptions = {}): TritonClient {
  checked(splitBasePath(url).address);
  return over(httpWire(url, options), options);
}

const over = (wire: Wire, options: ConnectOptions): TritonClient =>
  clientOver(redacting(diagnosed(wire, options.tls), options.headers ?? []), { ...defaultDeadlines, ...options });

function checked(url: string): string {
  if (isHostAndPort(url)) return url;
  throw new TrituneError(
    'USAGE',
    `'${shownUrl(url)}' is not a server address`,
    'write HOST:PORT, such as localhost:8001',
  );
}

/** Returns the wire, which checks whether TLS is the cause if a server does not respond. */
function diagnosed(wire: Wire, tls: TlsOptions | undefined): Wire {
  let open = true;
  const seenAgain = withFaults(wire, async (fault) => {
    if (!open || !/^(unreachable|wrong-protocol)$/.test(fault.kind)) return fault;
    const trouble = await diagnoseTls(hostAndPort(wire.url), tls);
    return trouble ? new WireFault('tls', trouble.message, { cause: fault, hint: trouble.hint }) : fault;
  });
  return {
    ...seenAgain,
    close: () => {
      open = false;
      return wire.close();
    },
  };
}

/**
 * Wraps a wire so that no reply and no fault repeats the value of a header: names, configs and
 * messages are printed and stored.
 */
function redacting(wire: Wire, headers: readonly WireHeader[]): Wire {
  if (headers.length === 0) return wire;
  const clear = secretsOut(headers);
  const veil = veilOver(headers);
  const veiled: Wire = {
    ...wire,
    call: async (operation, limits) => {
      const shownOperation =
        operation.kind === 'load' && operation.configJson !== undefined
          ? { ...operation, model: veil.reveal(operation.model), configJson: veil.revealJson(operation.configJson) }
          : veil.reveal(operation);
      return veil.hide(await wire.call(shownOperation, limits));
    },
  };
  return withFaults(
    veiled,
    ({ kind, message, hint }) => new WireFault(kind, clear(message), hint === undefined ? {} : { hint }),
  );
}

/** Returns the wire with its faults transformed by `made`. */
function withFaults(wire: Wire, made: (fault: WireFault) => WireFault | Promise<WireFault>): Wire {
  return {
    ...wire,
    call: async (operation, limits) => {
      try {
        return await wire.call(operation, limits);
      } catch (error) {
        throw error instanceof WireFault ? await made(error) : error;
      }
    },
  };
}
