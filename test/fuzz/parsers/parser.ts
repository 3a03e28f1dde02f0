import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { ErrorCode } from '#base/errors.ts';
import { refusedOrAsync } from '../../support/fuzz.ts';
import type { Subject } from '../../support/guided-fuzz.ts';

/** A reader of what is not ours, and the files of `src` that it is made of. */
export interface Parser extends Subject {
  readonly sources: readonly string[];
}

type Read = (text: string, bytes: Buffer) => unknown;

/** A parser that refuses with these codes. */
export function refusing(
  codes: readonly ErrorCode[],
  { read, ...parser }: Omit<Parser, 'read'> & { readonly read: Read },
): Parser {
  return { ...parser, read: (bytes) => refusedOrAsync(async () => read(bytes.toString(), bytes), ...codes) };
}

/** A parser that refuses with such errors. */
export function throwing(
  refusals: readonly (abstract new (...parts: never[]) => Error)[],
  { read, ...parser }: Omit<Parser, 'read'> & { readonly read: Read },
): Parser {
  return {
    ...parser,
    read: async (bytes) => {
      try {
        return await read(bytes.toString(), bytes);
      } catch (error) {
        if (!refusals.some((kind) => error instanceof kind)) throw error;
        return undefined;
      }
    },
  };
}

const folder = mkdtempSync(join(tmpdir(), 'tritune-parsers-'));

/** A folder for the files of one parser. */
export const scratch = (name: string): string => mkdtempSync(join(folder, `${name}-`));

/** A reader of files for `refusing`: the bytes lie in a file of that name. */
export function inFile(name: string, read: (path: string) => unknown): Read {
  const path = join(scratch(name.replace(/\W.*/, '')), name);
  return (_, bytes) => {
    writeFileSync(path, bytes);
    return read(path);
  };
}
