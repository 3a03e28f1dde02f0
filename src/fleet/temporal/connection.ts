import type { GrpcRetryOptions } from '@temporalio/client';
import type { DataConverter } from '@temporalio/common';
import { realClock } from '#base/clock.ts';
import { formatMessage, TrituneError } from '#base/errors.ts';
import { entryPath } from '#base/package.ts';
import { fleetCodec } from './codec.ts';
import { clientPackages } from './packages.ts';

/** How to reach Temporal: the contents of files and variables, not their names. */
export interface TemporalAddress {
  /** HOST:PORT. */
  readonly address: string;
  readonly namespace: string;
  /** Absent for plaintext. */
  readonly tls?: {
    readonly ca?: Buffer | undefined;
    readonly cert?: Buffer | undefined;
    readonly key?: Buffer | undefined;
    readonly serverName?: string | undefined;
  };
  readonly apiKey?: string;
  /** The key of the payload codec, 32 bytes; null for none. */
  readonly payloadKey: Buffer | null;
}

/** Returns the options for both kinds of the SDK's connections. */
export function connectionOptions({ address, tls, apiKey }: TemporalAddress) {
  return {
    address,
    ...(apiKey !== undefined && { apiKey }),
    ...(tls && {
      tls: {
        ...(tls.ca && { serverRootCACertificate: tls.ca }),
        ...(tls.serverName !== undefined && { serverNameOverride: tls.serverName }),
        ...(tls.cert && tls.key && { clientCertPair: { crt: tls.cert, key: tls.key } }),
      },
    }),
  };
}

export const failureConverterPath = entryPath('fleet/temporal/failure-converter');

export const createDataConverter = ({ payloadKey }: TemporalAddress): DataConverter => ({
  payloadCodecs: [fleetCodec(payloadKey)],
  failureConverterPath,
});

/** Opens a client. Errors: UNSUPPORTED without the packages, SERVER_UNREACHABLE. */
export async function openClient(at: TemporalAddress) {
  const { client: sdk } = await clientPackages();
  const retries = new Retries(sdk.defaultGrpcRetryOptions());
  const interceptors = [sdk.makeGrpcRetryInterceptor(retries)];
  const connection = await sdk.Connection.connect({ ...connectionOptions(at), interceptors }).catch(
    (error: unknown) => {
      throw unreachable(at.address, error);
    },
  );
  const client = new sdk.Client({ connection, namespace: at.namespace, dataConverter: createDataConverter(at) });
  const close = async (): Promise<void> => {
    await retries.end();
    await connection.close();
  };
  return { client, connection, close };
}

/**
 * The SDK retries calls after a while, perhaps on a connection that is closed by then. That would
 * end the process.
 */
class Retries implements GrpcRetryOptions {
  readonly #usual: GrpcRetryOptions;
  #isOpen = true;
  #lastMs = 0;

  constructor(usual: GrpcRetryOptions) {
    this.#usual = usual;
  }

  readonly retryableDecider: GrpcRetryOptions['retryableDecider'] = (attempt, status) =>
    this.#isOpen && this.#usual.retryableDecider(attempt, status);

  readonly delayFunction: GrpcRetryOptions['delayFunction'] = (attempt, status) => {
    const delayMs = this.#usual.delayFunction(attempt, status);
    this.#lastMs = Math.max(this.#lastMs, performance.now() + delayMs);
    return delayMs;
  };

  /**
   * Stops all retries from here on. Resolves when the waiting ones have begun, after at most five
   * seconds.
   */
  async end(): Promise<void> {
    this.#isOpen = false;
    const waitMs = this.#lastMs - performance.now();
    if (waitMs > 0) await realClock.sleep(waitMs + BEGUN_MS);
  }
}

const BEGUN_MS = 50;

export type FleetClient = Awaited<ReturnType<typeof openClient>>['client'];

export const unreachable = (address: string, error: unknown): TrituneError =>
  new TrituneError(
    'SERVER_UNREACHABLE',
    `cannot reach Temporal at ${address}: ${formatMessage(error)}`,
    'check that Temporal is running there, and check the --temporal-tls options',
    { cause: error },
  );
