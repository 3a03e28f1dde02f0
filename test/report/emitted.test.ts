import { createHash } from 'node:crypto';
import { mkdir, mkdtemp, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import { writeEmitted } from '#report/write-run.ts';

const sha256 = createHash('sha256').update('weights').digest('hex');

let folder: string;
let source: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'tritune-emitted-'));
  source = join(folder, 'model.onnx');
  await writeFile(source, 'weights');
});

const config = { path: 'm/config.pbtxt', text: 'name: "m"' };
const model = (more: object) => ({ path: 'm/1/model.onnx', ...more }) as { path: string; source: string };
const read = (...names: string[]): Promise<string> => readFile(join(folder, ...names), 'utf8');

describe('the files of a candidate', () => {
  it('lie beside the config, stay when the source goes, and are listed if they are missing', async () => {
    const documents = [config, model({ source, sha256 })];
    expect(await writeEmitted(folder, 'best', documents)).toBe(join(folder, 'best/m/config.pbtxt'));
    await rm(source);
    await writeEmitted(folder, 'best', documents);
    expect(await read('best/m/1/model.onnx')).toBe('weights');
    await writeEmitted(folder, 'other', documents);
    expect(await read('other/m/missing-files.txt')).toBe(`m/1/model.onnx is ${source}, which is not there\n`);
  });

  it('are not read where only a journal names them, and an earlier copy stays only with its content', async () => {
    const documents = [config, model({ was: source, sha256 })];
    await writeEmitted(folder, 'best', documents);
    expect(await readdir(join(folder, 'best/m'))).toEqual(['config.pbtxt', 'missing-files.txt']);
    expect(await read('best/m/missing-files.txt')).toContain(source);
    await writeEmitted(folder, 'best', [config, model({ source, sha256 })]);
    await writeEmitted(folder, 'best', documents);
    expect(await readdir(join(folder, 'best/m'))).toEqual(['1', 'config.pbtxt']);
    await writeFile(join(folder, 'best/m/1/model.onnx'), 'of another variant');
    await writeEmitted(folder, 'best', documents);
    expect(await readdir(join(folder, 'best/m/1'))).toEqual([]);
  });

  it('are copied only with the content of the study, and without the links of a folder', async () => {
    await writeFile(source, 'changed');
    await writeEmitted(folder, 'best', [config, model({ source, sha256 })]);
    expect(await readdir(join(folder, 'best/m'))).toEqual(['config.pbtxt', 'missing-files.txt']);
    await mkdir(join(folder, 'output/1'), { recursive: true });
    await writeFile(join(folder, 'output/1/model.plan'), 'engine');
    await symlink('/etc/passwd', join(folder, 'output/1/passwd'));
    await writeEmitted(folder, 'built', [config, { path: 'm', source: join(folder, 'output') }]);
    expect(await readdir(join(folder, 'built/m/1'))).toEqual(['model.plan']);
  });

  it.each(['../m/x', '/etc/x', 'm/../../x', 'm//x', 'm/./x', 'm\\..\\x', 'm/\u0000', ''])(
    'have names, and %j is none',
    async (path) => {
      const documents = [config, { path, text: 'fooled' }];
      await expect(writeEmitted(folder, 'best', documents)).rejects.toMatchObject({ code: 'OUTPUT_UNWRITABLE' });
      expect((await readdir(folder, { recursive: true })).sort()).toEqual([
        ...['best', 'best/m', 'best/m/config.pbtxt', 'model.onnx'],
      ]);
    },
  );
});
