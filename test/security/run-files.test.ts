import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { link, mkdir, mkdtemp, readdir, readFile, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join, relative } from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import { writeAllDocuments, writeAllPlots } from '#app/run-documents.ts';
import { openStudy } from '#app/study/open-study.ts';
import { toSpec } from '#spec/spec-of-options.ts';
import { checkOverwritten } from '../../lab/recording/write-recording.ts';
import { hostileRecords } from '../support/hostile-study.ts';
import { sourcesIn } from '../support/import-graph.ts';

const gridNames = readdirSync(join(import.meta.dirname, '../../lab/grids')).filter((name) => name.endsWith('.json'));
const SECRET = 'the user has this for nobody else';

let root: string;
let run: string;
/** A folder of the user's beside the run's directory. */
let home: string;
beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), 'tritune-run-files-'));
  [run, home] = [join(root, 'run'), join(root, 'home')];
  for (const folder of [run, home]) await mkdir(folder);
  await writeFile(join(home, 'start.sh'), SECRET);
});

const saveJournal = (records: readonly object[]): Promise<void> =>
  writeFile(join(run, 'journal.jsonl'), records.map((record) => `${JSON.stringify(record)}\n`).join(''));

/** The journal of a study whose best candidate has a file of a variant. */
function withFiles(files: object, more: object = {}): readonly object[] {
  const artifact = { variant: 'v', digest: 'd'.repeat(64), files, ...more };
  return hostileRecords('m').map((record) => {
    const text = JSON.stringify(record);
    return JSON.parse(text, (key, value) =>
      key === 'value' && value?.models !== undefined ? { ...value, artifact } : value,
    );
  });
}

/** Nothing beside the run's directory was added or changed. */
async function expectUnharmed(): Promise<void> {
  expect(await readdir(root)).toEqual(['home', 'run']);
  expect(await readdir(home)).toEqual(['start.sh']);
  expect(await readFile(join(home, 'start.sh'), 'utf8')).toBe(SECRET);
}

describe('documents written from the journal of somebody else', () => {
  it.each(['../../home/start.sh', '/tmp/tritune-never', '1/../../../../home/start.sh', '../best/x', '1/\u0000'])(
    'stay in the directory where a file of a variant is named %j',
    async (place) => {
      await saveJournal(withFiles({ [place]: { path: '', sha256: 'a'.repeat(64), bytes: 1, text: 'fooled' } }));
      await expect(writeAllDocuments(run)).rejects.toMatchObject({ code: 'OUTPUT_UNWRITABLE' });
      await expectUnharmed();
    },
  );

  it.each(['../../home/start.sh', '/etc/x', '..', '.', 'a/b', '\\\\host\\x', 'con', '__proto__'])(
    'stay in the directory where the model is named %j',
    async (model) => {
      await saveJournal(hostileRecords(model));
      await writeAllDocuments(run);
      await expectUnharmed();
      const [segment = '', ...others] = await readdir(join(run, 'best'));
      expect(others).toEqual([]);
      expect(await readdir(join(run, 'best', segment))).toEqual(['config.pbtxt']);
    },
  );

  it('stay in the directory where a model beside it is named by a path', async () => {
    const beside = '"models":{"../../home":{"name":"x"},';
    const text = JSON.stringify(hostileRecords('m')).replaceAll('"models":{', beside);
    expect(text).toContain(beside);
    await saveJournal(JSON.parse(text) as object[]);
    await writeAllDocuments(run);
    expect((await readdir(join(run, 'best'))).sort()).toEqual(['__.._home', 'm']);
    await expectUnharmed();
  });

  it('contain no file that the journal names', async () => {
    const sha256 = createHash('sha256').update(SECRET).digest('hex');
    const path = join(home, 'start.sh');
    for (const file of [
      { path, sha256, bytes: SECRET.length },
      { path: home, sha256, bytes: 0 },
    ]) {
      await saveJournal(withFiles({ '1/model.onnx': file }));
      await writeAllDocuments(run);
      const entries = await readdir(run, { recursive: true, withFileTypes: true });
      const files = entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name));
      for (const each of files) expect(await readFile(each, 'latin1')).not.toContain(SECRET);
      expect(await readFile(join(run, 'best/m/missing-files.txt'), 'utf8')).toContain('only the journal names');
    }
  });

  it('keep an error code where a file of a variant has another form', async () => {
    for (const files of [{ '1/x': null }, { '1/x': { path: 5 } }, 7])
      for (const more of [{}, { digest: '../../../home' }, { build: 1 }]) {
        await saveJournal(withFiles(files as object, more));
        await expect(writeAllDocuments(run)).rejects.toMatchObject({ code: 'JOURNAL_INVALID' });
      }
  });
});

describe('links in a run directory', () => {
  const places = ['report.html', 'summary.json', 'results', 'best', 'best/m', 'best/m/config.pbtxt', 'results.csv'];

  it.each(places)('are refused at %s', async (place) => {
    await saveJournal(hostileRecords('m'));
    await mkdir(dirname(join(run, place)), { recursive: true });
    await symlink(place.includes('.') ? join(home, 'start.sh') : home, join(run, place));
    await expect(writeAllDocuments(run)).rejects.toMatchObject({
      code: 'OUTPUT_UNWRITABLE',
      message: expect.stringContaining('link'),
    });
    await expectUnharmed();
  });

  it('are not written through by half-written files, and names that share a file with the user keep it', async () => {
    await saveJournal(hostileRecords('m'));
    await symlink(join(home, 'start.sh'), join(run, 'report.html.part'));
    await link(join(home, 'start.sh'), join(run, 'results.csv'));
    await writeAllDocuments(run);
    await expectUnharmed();
    expect(await readFile(join(run, 'report.html'), 'utf8')).toContain('<html');
  });

  it('are refused for charts, and for a study of a series', async () => {
    await saveJournal(hostileRecords('m'));
    await symlink(home, join(run, 'plots'));
    await expect(writeAllPlots(run)).rejects.toMatchObject({ code: 'OUTPUT_UNWRITABLE' });
    await expectUnharmed();
  });
});

describe('a new run', () => {
  it.each(['report.html', 'best', 'results', 'summary.json'])('does not overwrite %s of the user', async (name) => {
    await writeFile(join(run, name), SECRET);
    const spec = toSpec({ model: 'm', output: run } as never);
    await expect(openStudy(spec, {}, 0)).rejects.toMatchObject({ code: 'OUTPUT_EXISTS' });
    expect(await readdir(run)).toEqual([name]);
  });
});

describe('a recording', () => {
  it('overwrites a recording, and nothing else that a journal may name', async () => {
    const place = join(home, 'start.sh');
    expect(() => checkOverwritten(place)).toThrow(/is no recording/);
    expect(() => checkOverwritten(join(home, 'new.json'))).not.toThrow();
    const grid = join(import.meta.dirname, '../../lab/grids', gridNames[0] ?? '');
    expect(() => checkOverwritten(grid)).not.toThrow();
  });
});

/** All other code that opens files to write, with what they are. */
const writers: Readonly<Record<string, string>> = {
  'base/run-files.ts': 'the files of a run, by names',
  'adapter/triton/sent-requests.ts': "notes in the user's folder for state, by digests",
  'adapter/variants/cache.ts': "builds in the user's cache, by digests",
  'app/capacity/documents.ts': 'a file that the user named',
  'app/profile/documents.ts': 'files that the user named',
  'app/study/series-directory.ts': 'series.json, only if it is new',
  'app/study/twin-of-run.ts': 'a file that the user named',
  'app/save-workload.ts': 'a file that the user named',
  'base/flush-folders.ts': 'nothing: it flushes folders',
  'base/read-file.ts': 'read only: the reader of files',
  'cli/commands/run-calibrate.ts': 'a file that the user named',
  'cli/commands/run-compare.ts': 'files that the user named',
  'cli/commands/run-config.ts': 'a file that the user named',
  'emulator/wire/shared-memory.ts': 'shared memory',
  'fleet/temporal/workflow-bundle.ts': 'a part of the package',
  'launch/command.ts': 'the log of a build, in the cache',
  'launch/supervised.ts': 'the log of a server, at a path of base/run-files.ts',
  'launch/triton-install.ts': 'an installation in a folder that the user named',
  'loadgen/shared-memory/memory.ts': 'shared memory',
  'loadgen/shared-memory/shared-object.ts': 'shared memory',
  'loadgen/workers/pause-watch.ts': 'read only: the schedule of a thread',
  'report/growing-file.ts': 'a file that the user named, only if it is new',
  'study/records/journal-lock.ts': 'locks, only if they are new',
  'study/records/journal.ts': 'the journal',
  'study/records/run-key.ts': "the user's key, only if it is new",
};

const OPENS = /\b(?:writeFile|appendFile|copyFile|cp|rename|symlink|link|open)(?:Sync)?\b|\bcreateWriteStream\b/;

describe('code that writes files', () => {
  it('takes names and no paths, or writes what the user named', () => {
    const src = join(import.meta.dirname, '../../src');
    const imported = /import (?:type )?\{([^}]*)\} from 'node:fs(?:\/promises)?'/g;
    const isWriter = (file: string): boolean =>
      [...readFileSync(file, 'utf8').matchAll(imported)].some(([, names = '']) => OPENS.test(names));
    const found = sourcesIn(src).filter(isWriter);
    expect(found.map((file) => relative(src, file)).sort()).toEqual(Object.keys(writers).sort());
  });
});
