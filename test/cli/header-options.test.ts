import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import { flagsAgain, readHeaders, withHeadersAgain, withoutHeaderValues } from '#app/server/headers.ts';
import { warnIfInsecure } from '#app/server/tls.ts';
import { secretsOut } from '#base/secrets.ts';
import type { HeaderSpec } from '#spec/server-spec.ts';
import { freshDirectory } from '../support/run-directory.ts';

let directory: string;
beforeAll(async () => {
  directory = await freshDirectory();
});
afterEach(() => {
  vi.unstubAllEnvs();
});

async function fileOf(text: string): Promise<string> {
  const path = join(directory, 'secret');
  await writeFile(path, text);
  return path;
}

describe('headers from elsewhere', () => {
  it('are read from variables and files', async () => {
    vi.stubEnv('A_KEY', 'secret-a');
    const headerFile = [await fileOf('X-B: secret-b\r\n\nx-c:secret: c\n')];
    expect(readHeaders({ header: ['x-0: 0'], headerEnv: ['X-A:A_KEY'], headerFile })).toEqual([
      { name: 'x-0', value: '0' },
      { name: 'x-a', value: 'secret-a' },
      { name: 'x-b', value: 'secret-b' },
      { name: 'x-c', value: 'secret: c' },
    ]);
    expect(readHeaders({ tokenFile: await fileOf(' secret-t\n') })).toEqual([
      { name: 'authorization', value: 'Bearer secret-t' },
    ]);
    vi.stubEnv('A_TOKEN', 'secret-t');
    expect(readHeaders({ tokenEnv: 'A_TOKEN' })).toEqual([{ name: 'authorization', value: 'Bearer secret-t' }]);
  });

  it.each([
    ['is not NAME:', 'x: secret\r\nno colon but secret'],
    ['is not NAME:', 'x: sécret'],
    ['set by tritune', 'content-length: secret'],
  ])('are refused without a word of their value: %s', async (words, text) => {
    const path = await fileOf(text);
    const fault = faultOf({ headerFile: [path] });
    expect(fault).toMatchObject({ code: 'USAGE', message: expect.stringContaining(words) });
    expect(`${fault.message} ${fault.hint} ${fault.stack}`.replaceAll(path, '')).not.toMatch(/s[eé]cret/);
  });

  it.each(['', ' \n', 'two secrets', 'sécret', 'a\nsecret'])('take no token that is none: %j', async (text) => {
    const path = await fileOf(text);
    const fault = faultOf({ tokenFile: path });
    expect(fault).toMatchObject({ code: 'USAGE', message: expect.stringContaining('does not contain a token') });
    expect(`${fault.message} ${fault.stack}`.replaceAll(path, '')).not.toMatch(/s[eé]cret/);
  });

  it('are missed where they are not', () => {
    expect(faultOf({ tokenEnv: 'NOT_THERE' })).toMatchObject({
      code: 'USAGE',
      message: expect.stringMatching(/NOT_THERE is not set/),
    });
    expect(faultOf({ tokenFile: '/not/there' })).toMatchObject({ code: 'INPUT_INVALID' });
    expect(faultOf({ tokenEnv: 'A', tokenFile: 'b' })).toMatchObject({
      message: expect.stringMatching(/--token-env and --token-file/),
    });
    expect(faultOf({ headerEnv: ['x-a'] })).toMatchObject({ message: expect.stringMatching(/NAME:VARIABLE/) });
  });

  it('are written down by where they are, and read again when a run is resumed', () => {
    vi.stubEnv('A_TOKEN', 'secret-t');
    const kept = withoutHeaderValues({ tokenEnv: 'A_TOKEN', batch: 1 });
    expect(kept).toEqual({ tokenEnv: 'A_TOKEN', batch: 1, header: ['authorization'] });
    expect(withHeadersAgain(kept, {})).toEqual({ tokenEnv: 'A_TOKEN', batch: 1 });
    const anew = { header: ['Authorization: Bearer another'] };
    expect(withHeadersAgain(kept, anew)).toEqual({ ...anew, batch: 1 });
    expect(() => withHeadersAgain(kept, { header: ['x: y'] })).toThrow(/resumed with x/);
    expect(() => withHeadersAgain({ header: ['x'] }, {})).toThrow(/resumed with no header/);
    expect(readHeaders(flagsAgain(kept, {}))).toEqual([{ name: 'authorization', value: 'Bearer secret-t' }]);
    expect(readHeaders(flagsAgain(kept, { header: ['x: y'] }))).toEqual([{ name: 'x', value: 'y' }]);
  });
});

describe('secrets', () => {
  it('are taken out of texts, with and without their scheme, and short values are not', () => {
    const clear = secretsOut([
      { name: 'authorization', value: 'Bearer abcdefgh' },
      { name: 'x-key', value: 'abcdefgh-and-more' },
      { name: 'x-room', value: '7' },
    ]);
    expect(clear("'Bearer abcdefgh' abcdefgh abcdefgh-and-more of 77")).toBe("'…' … … of 77");
  });

  it('that go over a network in plaintext are worth a word', () => {
    const told = (flags: HeaderSpec & { readonly url?: string; readonly tls?: boolean }): number => {
      const lines: string[] = [];
      warnIfInsecure(flags, { tell: (line) => lines.push(line) });
      return lines.length;
    };
    const tokenEnv = 'A_TOKEN';
    expect(told({ tokenEnv, url: 'gpu.example:8001' })).toBe(1);
    expect(told({ header: ['authorization:x'], url: 'http://gpu.example:8000' })).toBe(1);
    expect(told({ tokenEnv, url: 'https://gpu.example' })).toBe(0);
    expect(told({ tokenEnv, url: 'gpu.example:8001', tls: true })).toBe(0);
    expect(told({ header: ['x-room: 7'], url: 'gpu.example:8001' })).toBe(0);
    for (const url of [undefined, 'localhost:8001', '127.0.0.1:8001', 'grpc://[::1]:8001'])
      expect(told({ tokenEnv, ...(url && { url }) })).toBe(0);
    expect(told({ tokenEnv, url: 'localhost.example:8001' })).toBe(1);
  });
});

function faultOf(flags: HeaderSpec): Error & { readonly hint?: string } {
  try {
    readHeaders(flags);
  } catch (error) {
    return error as Error;
  }
  throw new Error('the headers were taken');
}
