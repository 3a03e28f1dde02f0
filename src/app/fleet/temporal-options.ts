import { formatMessage, TrituneError } from '#base/errors.ts';
import { fileLimits, readBytes } from '#base/read-file.ts';
import { HOW_TO_MAKE_ONE } from '#fleet/temporal/codec.ts';
import type { TemporalAddress } from '#fleet/temporal/connection.ts';

/** The command line options for Temporal. They name files and variables, never contents. */
export interface TemporalFlags {
  readonly temporalNamespace: string;
  readonly temporalTls?: boolean;
  readonly temporalTlsCa?: string;
  readonly temporalTlsCert?: string;
  readonly temporalTlsKey?: string;
  readonly temporalTlsServerName?: string;
  readonly temporalApiKeyEnv?: string;
  readonly temporalApiKeyFile?: string;
  readonly payloadKeyEnv?: string;
  readonly payloadKeyFile?: string;
}

/**
 * Reads the files and variables that the flags name. Errors: INPUT_INVALID for a missing file or
 * variable or a wrong key; USAGE for a certificate without its key.
 */
export async function temporalAddress(address: string, flags: TemporalFlags): Promise<TemporalAddress> {
  const { temporalNamespace: namespace, temporalTlsCert: certFile, temporalTlsKey: keyFile } = flags;
  if ((certFile === undefined) !== (keyFile === undefined))
    throw new TrituneError(
      'USAGE',
      '--temporal-tls-cert and --temporal-tls-key need each other',
      'give both or neither',
    );
  const [ca, cert, key] = await Promise.all([flags.temporalTlsCa, certFile, keyFile].map(optionalFile));
  const apiKey = await readSecret(flags.temporalApiKeyEnv, flags.temporalApiKeyFile);
  const wantsTls = flags.temporalTls || ca || cert || flags.temporalTlsServerName !== undefined || apiKey !== null;
  const payloadKey = await readSecret(flags.payloadKeyEnv, flags.payloadKeyFile);
  return {
    address: address.includes(':') ? address : `${address}:7233`,
    namespace,
    ...(wantsTls && { tls: { ca, cert, key, serverName: flags.temporalTlsServerName } }),
    ...(apiKey !== null && { apiKey }),
    payloadKey: payloadKey === null ? null : keyBytes(payloadKey),
  };
}

const optionalFile = (path: string | undefined): Promise<Buffer | undefined> =>
  path === undefined ? Promise.resolve(undefined) : fileAt(path);

async function readSecret(variable: string | undefined, path: string | undefined): Promise<string | null> {
  if (path !== undefined) return (await fileAt(path)).toString('utf8').trim();
  if (variable === undefined) return null;
  const value = process.env[variable];
  if (value) return value.trim();
  throw new TrituneError(
    'INPUT_INVALID',
    `the environment variable ${variable} is not set`,
    'set it, or give a file instead',
  );
}

function keyBytes(text: string): Buffer {
  const key = Buffer.from(text, 'base64');
  if (key.length === 32) return key;
  throw new TrituneError('INPUT_INVALID', 'the payload key is not 32 bytes in base64', HOW_TO_MAKE_ONE);
}

function fileAt(path: string): Promise<Buffer> {
  return readBytes(path, fileLimits.credential).catch((error: unknown) => {
    throw new TrituneError(
      'INPUT_INVALID',
      `cannot read '${path}': ${formatMessage(error)}`,
      'give the path of a file',
    );
  });
}
