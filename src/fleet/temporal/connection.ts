import { extname, join } from 'node:path';
import type { DataConverter } from '@temporalio/common';
import { messageOf, TrituneError } from '../../base/errors.ts';
import { fleetCodec } from './codec.ts';
import { clientPackages } from './packages.ts';

/** Where Temporal is, and how to speak with it: with what files and variables hold, not their names. */
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
  /** Of the payload codec: 32 bytes; null for none. */
  readonly payloadKey: Buffer | null;
}

/** In the options of the SDK's two kinds of connections. */
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

export const failureConverterPath = join(import.meta.dirname, `failure-converter${extname(import.meta.filename)}`);

export const dataConverterOf = ({ payloadKey }: TemporalAddress): DataConverter => ({
  payloadCodecs: [fleetCodec(payloadKey)],
  failureConverterPath,
});

/** A client, and its end. Errors: UNSUPPORTED without the packages, SERVER_UNREACHABLE. */
export async function openClient(at: TemporalAddress) {
  const { client: sdk } = await clientPackages();
  const connection = await sdk.Connection.connect(connectionOptions(at)).catch((error: unknown) => {
    throw unreachable(at.address, error);
  });
  const client = new sdk.Client({ connection, namespace: at.namespace, dataConverter: dataConverterOf(at) });
  return { client, connection, close: () => connection.close() };
}

export type FleetClient = Awaited<ReturnType<typeof openClient>>['client'];

export const unreachable = (address: string, error: unknown): TrituneError =>
  new TrituneError(
    'SERVER_UNREACHABLE',
    `cannot reach Temporal at ${address}: ${messageOf(error)}`,
    'check that Temporal is running there, and check the --temporal-tls options',
    { cause: error },
  );
