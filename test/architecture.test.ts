import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join, relative, resolve } from 'node:path';
import { describe, expect, it } from 'vitest';
import {
  circlesIn,
  type Import,
  importGraph,
  importsIn,
  importsOf,
  resolveImport,
  sourcesIn,
} from './support/import-graph.ts';
import { roomRows } from './support/room-rows.ts';

const root = resolve(import.meta.dirname, '../src');
const page = resolve(import.meta.dirname, '../docs/architecture.md');

/**
 * The rooms of `src/`, row by row, as docs/architecture.md has them: a room imports only from rows
 * above its own, and from itself.
 */
const rows = roomRows(readFileSync(page, 'utf8')).map(({ rooms }) => rooms);

/** Rooms that run the code of few others; types they take from every room above them. */
const runsOnly: Readonly<Record<string, readonly string[]>> = {
  // Pure: no sockets, no files of a study.
  perfmodel: ['base', 'queueing', 'stats', 'workload', 'space', 'profiler'],
  // What it prints was measured by others.
  headless: ['base', 'workload', 'spec', 'space', 'profiler', 'study', 'tuner', 'capacity', 'explain'],
  // What a program can do, the command line can: by the same code.
  library: ['base', 'spec', 'adapter', 'tuner', 'app'],
};

/**
 * What a candidate is to Triton only these rooms know: all others take a candidate as its adapter
 * made it.
 */
const knowsNoTriton: ReadonlySet<string> = new Set([
  ...['perfmodel', 'study', 'tuner', 'capacity', 'report', 'tui', 'headless', 'testing', 'watch'],
]);

/**
 * Packages that only the named rooms may use: the wire stays in the rooms of the wire, the command
 * line in its own.
 */
const keptTo: Readonly<Record<string, readonly string[]>> = {
  '@grpc/grpc-js': ['triton', 'loadgen'],
  protobufjs: ['triton', 'loadgen', 'emulator'],
  undici: ['triton', 'loadgen', 'profiler'],
  'node:http': ['loadgen', 'emulator', 'watch'],
  'node:http2': ['loadgen'],
  'node:net': ['http2', 'loadgen', 'emulator', 'launch', 'watch'],
  'node:child_process': ['launch'],
  execa: ['launch'],
  koffi: ['loadgen'],
  '@temporalio': ['fleet'],
  ws: ['loadgen'],
  '@msgpack/msgpack': ['loadgen'],
  commander: ['cli'],
  '@resvg/resvg-js': ['report'],
  echarts: ['report'],
  ink: ['tui'],
  react: ['tui'],
};

/** What the lab runs of `src` besides its commands and recordings: studies without a server. */
const offline = ['base', 'triton', 'queueing', 'stats', 'workload', 'spec', 'space', 'profiler', 'study', 'tuner'];
const LAB = resolve(root, '../lab');

const toRow = (room: string): number => rows.findIndex((row) => row.includes(room));

function faultsOf(file: string): string[] {
  const place = relative(root, file);
  return importsOf(file).flatMap((each) => faultOf(place, each) ?? []);
}

/** What is wrong with an import of the file at `place` in `src`; null when nothing is. */
function faultOf(place: string, { target, isTypeOnly }: Import): string | null {
  const room = place.split('/')[0] as string;
  const path = resolveImport(join(root, place), target);
  if (path === null) {
    const rooms = Object.entries(keptTo).find(([name]) => target === name || target.startsWith(`${name}/`))?.[1];
    return rooms && !rooms.includes(room) ? `${place}: '${target}' is kept to ${rooms.join(', ')}` : null;
  }
  const other = relative(root, path).split('/')[0] as string;
  if (other === '..') return null;
  if (other === room) return target.startsWith('#') ? `${place}: '${target}' is of the same room` : null;
  if (!target.startsWith('#')) return `${place}: '${target}' is of another room: #${relative(root, path)}`;
  if (toRow(other) < 0 || toRow(other) >= toRow(room)) return `${place}: '${room}' may not import '${other}'`;
  if (other === 'triton' && knowsNoTriton.has(room)) return `${place}: '${room}' knows no Triton`;
  const run = runsOnly[room];
  const isTaken = run === undefined || isTypeOnly || run.includes(other);
  return isTaken ? null : `${place}: '${room}' may import only types of '${other}'`;
}

describe('architecture', () => {
  it('has one row for every room, and a room for every row', () => {
    const folders = readdirSync(root, { withFileTypes: true }).map(({ name }) => name);
    expect(rows.flat().sort()).toEqual(folders.sort());
  });

  it('has two levels of folders in a room at most', () => {
    const places = sourcesIn(root).map((file) => relative(root, file));
    expect(places.filter((place) => place.split('/').length > 4)).toEqual([]);
  });

  it('lets imports go one way only', () => {
    expect(sourcesIn(root).flatMap(faultsOf)).toEqual([]);
  });

  it('has no circles of files', () => {
    expect(circlesIn(importGraph(root))).toEqual([]);
    expect(circlesIn(importGraph(LAB))).toEqual([]);
  });

  it('lets the problems of the lab send nothing, and no room of the product run the lab', () => {
    const run = ['problems', 'engines', 'pipelines', 'workloads'].flatMap((name) =>
      sourcesIn(join(LAB, name)).flatMap((file) =>
        importsOf(file).flatMap(({ target, isTypeOnly }) => {
          const path = resolveImport(file, target);
          const [top, room = ''] = path === null ? [] : relative(resolve(root, '..'), path).split('/');
          return top === 'src' && !isTypeOnly && !offline.includes(room) ? [`${file}: ${target}`] : [];
        }),
      ),
    );
    expect(run).toEqual([]);
    const targets = sourcesIn(root).flatMap((file) => importsOf(file).map(({ target }) => target));
    expect(targets.filter((target) => target.includes('../lab/'))).toEqual([]);
  });
});

/**
 * Files that read files by themselves: none that a person or a document names, and none that a
 * stranger may have written.
 */
const readsFiles: Readonly<Record<string, string>> = {
  'base/read-file.ts': 'the reader of all others',
  'base/flush-folders.ts': 'no file: it flushes folders',
  'base/package.ts': "tritune's own package",
  'report/page/assets.ts': "tritune's own package",
  'fleet/temporal/workflow-bundle.ts': 'an installed package',
  'launch/command.ts': 'the log that it writes',
  'launch/supervise.ts': '/proc',
  'loadgen/client/host-cpu.ts': '/proc',
  'loadgen/workers/pause-watch.ts': '/proc',
  'loadgen/shared-memory/owner.ts': '/proc',
  'loadgen/shared-memory/shared-object.ts': '/dev/shm',
  'loadgen/shared-memory/memory.ts': '/dev/shm',
  'emulator/wire/shared-memory.ts': '/dev/shm',
  'study/records/journal.ts': 'the journal that it writes',
  'study/records/journal-lock.ts': '/proc',
};

const READS =
  /(?<![\w.#])(?:fs\.)?(?:readFile|readFileSync|createReadStream|openSync|readSync|openAsBlob)\(|(?<![\w.#]|async )open\(/;
/** True for a text that opens a file of the file system for reading by itself. */
const opensFiles = (text: string): boolean => READS.test(text) && /from 'node:fs(?:\/promises)?'/.test(text);

describe('the reader of files', () => {
  it('is the only one, but for files that no stranger writes', () => {
    const others = sourcesIn(root).filter((file) => opensFiles(readFileSync(file, 'utf8')));
    expect(others.map((file) => relative(root, file)).sort()).toEqual(Object.keys(readsFiles).sort());
  });

  it.each(['readFile(path)', 'readFileSync(path)', 'createReadStream(path)', 'openSync(path)', 'open(path)'])(
    'would find %s',
    (call) => {
      expect(opensFiles(`import { x } from 'node:fs/promises';\nconst a = await ${call};`)).toBe(true);
      expect(opensFiles(`import { x } from './y.ts';\nconst a = await ${call};`)).toBe(false);
    },
  );
});

/** Files that write to a terminal or a log by themselves, and why what they write is inert. */
const writesText: Readonly<Record<string, string>> = {
  'cli/terminal.ts': 'the one door: it makes every line inert',
  'launch/supervise.ts': "a log, with the system's own words",
  'tui/mouse.ts': 'two constants',
};

const WRITES_TEXT = /\bconsole\.\w|\bprocess\.std(?:out|err)\b|\bstd(?:out|err)\.write\(/;

describe('the terminal', () => {
  it('is written to through one door, but for constants and the full screen', () => {
    const writers = sourcesIn(root).filter((file) => WRITES_TEXT.test(readFileSync(file, 'utf8')));
    expect(writers.map((file) => relative(root, file)).sort()).toEqual(Object.keys(writesText).sort());
  });

  it.each([
    'console.log(name)',
    'process.stdout.write(name)',
    'const { write } = process.stderr',
    'stdout.write(name)',
  ])('would find %s', (text) => expect(WRITES_TEXT.test(text)).toBe(true));
});

describe('the rules of the architecture', () => {
  const fault = (place: string, target: string, isTypeOnly = false) => faultOf(place, { target, isTypeOnly });

  it('find an import of a room below, beside, or not in the table', () => {
    expect(fault('stats/a.ts', '#study/b.ts')).toContain("may not import 'study'");
    expect(fault('stats/a.ts', '#queueing/b.ts')).toContain("may not import 'queueing'");
    expect(fault('stats/a.ts', '#elsewhere/b.ts')).toContain("may not import 'elsewhere'");
    expect(fault('study/records/a.ts', '#stats/b.ts')).toBeNull();
    expect(fault('study/records/a.ts', '../../stats/b.ts')).toContain('#stats/b.ts');
    expect(fault('study/records/a.ts', '#study/types.ts')).toContain('of the same room');
    expect(fault('study/records/a.ts', '../types.ts')).toBeNull();
    expect(fault('study/records/a.ts', '../../../package.json')).toBeNull();
  });

  it('find code run where only types may be taken', () => {
    expect(fault('perfmodel/a.ts', '#loadgen/b.ts')).toContain("only types of 'loadgen'");
    expect(fault('perfmodel/a.ts', '#loadgen/b.ts', true)).toBeNull();
  });

  it('find the wire and the model config of Triton where no server is known', () => {
    for (const isTypeOnly of [true, false]) {
      expect(fault('study/records/a.ts', '#triton/config/model-config.ts', isTypeOnly)).toContain('no Triton');
      expect(fault('tuner/a.ts', '#triton/types.ts', isTypeOnly)).toContain('no Triton');
      expect(fault('adapter/triton/a.ts', '#triton/types.ts', isTypeOnly)).toBeNull();
    }
  });

  it('find a package out of its rooms', () => {
    expect(fault('tuner/a.ts', 'undici')).toContain('kept to');
    expect(fault('report/a.ts', 'echarts/core')).toBeNull();
  });

  it('read every kind of import', () => {
    const text = [
      "import type { A } from './a.ts';",
      "import { type B, type C } from './b.ts';",
      "import {\n  type D,\n  E,\n} from './d.ts';",
      "import * as f from './f.ts';",
      "export { type G, H } from './g.ts';",
      "export type { I } from './i.ts';",
      "import './j.ts';",
      "  const { run } = await import('./k.ts');",
      "/** As in `import … from 'tritune'`. */",
    ].join('\n');
    const types = ['a', 'b', 'i'];
    expect(importsIn(text)).toEqual(
      ['a', 'b', 'd', 'f', 'g', 'i', 'j', 'k'].map((name) => ({
        target: `./${name}.ts`,
        isTypeOnly: types.includes(name),
      })),
    );
  });

  it('find circles of two, of three, and of one', () => {
    const edges = { a: ['b', 'c'], b: ['a'], c: ['d'], d: ['e'], e: ['c'], f: ['f', 'a'], g: ['f'] };
    expect(circlesIn(new Map(Object.entries(edges))).sort()).toEqual([['a', 'b'], ['c', 'd', 'e'], ['f']]);
  });
});

const repository = resolve(root, '..');

/**
 * Files, folders and pages of this repository that a text names, such as `src/base/clock.ts` or
 * docs/search.md.
 */
function citedIn(text: string): string[] {
  const cited = text.matchAll(/(?<![\w./-])(?:src|lab|test|bench|docs|search-spaces|examples)\/[\w./-]*\w/g);
  return [...cited].map(([path]) => path).filter((path) => !path.includes('NAME'));
}

it('cites only what is in the repository, in its sources, tests and pages', () => {
  const folders = ['src', 'lab', 'test', 'bench', 'examples'].flatMap((name) => sourcesIn(join(repository, name)));
  const pages = readdirSync(join(repository, 'docs'), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.md'))
    .map((name) => join(repository, 'docs', name));
  const missing = [...folders, ...pages, join(repository, 'README.md'), join(repository, 'CONTRIBUTING.md')].flatMap(
    (file) =>
      citedIn(readFileSync(file, 'utf8'))
        .filter((path) => !existsSync(join(repository, path)))
        .map((path) => `${relative(repository, file)}: ${path}`),
  );
  expect(missing).toEqual([]);
});
