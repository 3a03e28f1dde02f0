import { formatMessage, TrituneError } from '#base/errors.ts';
import { fileLimits, readBytes } from '#base/read-file.ts';
import type { TlsSpec } from '#spec/server-spec.ts';
import { checkTls, type TlsOptions } from '#triton/wire/tls.ts';

/**
 * Reads the files that the options name. Errors: INPUT_INVALID for a file that cannot be read,
 * USAGE for a useless one.
 */
export async function readTls(flags: TlsSpec): Promise<TlsOptions> {
  const [ca, cert, key] = await Promise.all([flags.tlsCa, flags.tlsCert, flags.tlsKey].map(readOptional));
  const tls = { ca, cert, key, servername: flags.tlsServerName, verify: flags.tlsInsecure !== true };
  checkTls(tls);
  return tls;
}

async function readOptional(path: string | undefined): Promise<Buffer | undefined> {
  if (path === undefined) return undefined;
  return readBytes(path, fileLimits.credential).catch((error: unknown) => {
    throw new TrituneError(
      'INPUT_INVALID',
      `cannot read '${path}': ${formatMessage(error)}`,
      'give the path of a PEM file',
    );
  });
}
