import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, symlink, truncate, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { pathBelow, readBytes, readEndSync, readPieces, readStart, readText, readTextSync } from '#base/read-file.ts';

const folder = await mkdtemp(join(tmpdir(), 'tritune-test-'));
const file = async (name: string, content: string | Buffer): Promise<string> => {
  await writeFile(join(folder, name), content);
  return join(folder, name);
};

const collect = async (pieces: AsyncIterable<Buffer>): Promise<Buffer> => {
  const all: Buffer[] = [];
  for await (const piece of pieces) all.push(piece);
  return Buffer.concat(all);
};

const readers: readonly (readonly [string, (path: string, limit: number) => Promise<unknown>])[] = [
  ['readText', readText],
  ['readTextSync', async (path, limit) => readTextSync(path, limit)],
  ['readPieces', (path, limit) => collect(readPieces(path, limit))],
  ['readStart', (path) => readStart(path, 10)],
  ['readEndSync', async (path) => readEndSync(path)],
];

describe.each(readers)('%s', (name, read) => {
  it('refuses what is no regular file, without waiting for it', async () => {
    const pipe = join(folder, `pipe-${name}`);
    execFileSync('mkfifo', [pipe]);
    await expect(read(pipe, 100)).rejects.toThrow('it is a pipe, not a file');
    await expect(read(folder, 100)).rejects.toThrow('it is a directory, not a file');
    await expect(read('/dev/zero', 100)).rejects.toThrow('it is a device, not a file');
    await expect(read(join(folder, 'none'), 100)).rejects.toThrow('ENOENT');
  });

  it('refuses a link to a device', async () => {
    const link = join(folder, `link-${name}`);
    await symlink('/dev/zero', link);
    await expect(read(link, 100)).rejects.toThrow('it is a device');
  });
});

describe.each(readers.slice(0, 3))('the limit of %s', (name, read) => {
  it('lets a file of just that length through, and no longer one', async () => {
    const path = await file(`limit-${name}`, 'x'.repeat(2048));
    expect(String(await read(path, 2048))).toBe('x'.repeat(2048));
    await expect(read(path, 2047)).rejects.toThrow('it is longer than');
  });

  it('refuses a large file before it takes any of it', async () => {
    const path = await file(`sparse-${name}`, '');
    await truncate(path, 2 ** 42);
    await expect(read(path, 2 ** 20)).rejects.toThrow('it is longer than 1 MiB');
  });

  it.runIf(existsSync('/proc/self/status'))('counts what comes, not what the system says of the size', async () => {
    // The size of a file in /proc is 0.
    await expect(read('/proc/self/status', 20)).rejects.toThrow('it is longer than');
    expect(String(await read('/proc/self/status', 2 ** 20))).toContain('Name:');
  });
});

describe('a file that is read', () => {
  it('is returned whole, in pieces or from its ends', async () => {
    const bytes = Buffer.alloc(5 * 2 ** 20 + 3, 'abcdefg');
    const path = await file('long', bytes);
    expect((await readBytes(path, 2 ** 24)).equals(bytes)).toBe(true);
    expect((await collect(readPieces(path, 2 ** 24))).equals(bytes)).toBe(true);
    expect((await readStart(path, 9)).toString()).toBe('abcdefgab');
    expect(bytes.toString().endsWith(readEndSync(path))).toBe(true);
    expect(readEndSync(path)).toHaveLength(4 * 2 ** 20);
    expect(readTextSync(await file('empty', ''), 10)).toBe('');
  });
});

describe('a path in a document', () => {
  it('stays below the folder of the document, also through links', async () => {
    const inner = join(folder, 'inner');
    await mkdir(inner);
    await symlink(folder, join(inner, 'out'));
    await symlink(join(inner, 'a'), join(inner, 'in'));
    const other = join(folder, 'other');
    await symlink(inner, other);
    expect(pathBelow(inner, 'a/b.yaml')).toBe(join(inner, 'a/b.yaml'));
    expect(pathBelow(inner, join(inner, 'a'))).toBe(join(inner, 'a'));
    expect(pathBelow(inner, '..a')).toBe(join(inner, '..a'));
    expect(pathBelow(inner, 'in')).toBe(join(inner, 'in'));
    expect(pathBelow(other, 'a')).toBe(join(other, 'a'));
    for (const named of ['..', '../a', 'a/../../b', '/etc/passwd', 'out/a', 'out/none/a']) {
      expect(pathBelow(inner, named)).toBeUndefined();
    }
  });
});
