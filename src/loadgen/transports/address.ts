import { TrituneError } from '#base/errors.ts';
import { shownUrl } from '#base/secrets.ts';
import { splitBasePath } from '#triton/wire/base-path.ts';

export interface Address {
  readonly host: string;
  readonly port: number;
}

/** Returns the parts of HOST:PORT or [IPV6]:PORT, with or without a base path. Errors: USAGE. */
export function parseAddress(url: string): Address {
  const match = /^(?:\[([^\]]+)\]|([^:/]+)):(\d+)$/.exec(splitBasePath(url).address);
  const port = Number(match?.[3]);
  if (!match || port > 65_535)
    throw new TrituneError(
      'USAGE',
      `'${shownUrl(url)}' is not a server address`,
      'write HOST:PORT, such as localhost:8001',
    );
  return { host: (match[1] ?? match[2]) as string, port };
}
