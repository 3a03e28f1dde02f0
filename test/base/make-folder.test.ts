import { existsSync } from 'node:fs';
import { mkdtemp, stat, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { makeFolder } from '#base/make-folder.ts';

const folder = await mkdtemp(join(tmpdir(), 'tritune-test-'));

describe('a folder', () => {
  it('is made with those above it, once', async () => {
    const path = join(folder, 'a/b/c');
    await Promise.all([makeFolder(path), makeFolder(path), makeFolder(join(folder, 'a/b'))]);
    await makeFolder(`${path}/`);
    expect((await stat(path)).isDirectory()).toBe(true);
  });

  it('is not made in or over a file, or over a link to nothing', async () => {
    await writeFile(join(folder, 'file'), '');
    await symlink(join(folder, 'none'), join(folder, 'link'));
    await expect(makeFolder(join(folder, 'file'))).rejects.toThrow('EEXIST');
    await expect(makeFolder(join(folder, 'file/a'))).rejects.toThrow('ENOTDIR');
    await expect(makeFolder(join(folder, 'link'))).rejects.toThrow('ENOENT');
  });

  it.runIf(existsSync('/proc/1'))('is refused where the system takes none', async () => {
    await expect(makeFolder('/proc/1/x')).rejects.toThrow('ENOENT');
    await expect(makeFolder('/proc/1/x/y')).rejects.toThrow('ENOENT');
  });
});
