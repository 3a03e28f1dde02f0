import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import { describe, expect, it } from 'vitest';

/** The rooms of `src/`, row by row: a room imports only from rows above its own, and from itself. */
const rows = [
  ['base'],
  ['triton', 'queueing', 'stats', 'http2'],
  ['space', 'loadgen', 'emulator', 'launch'],
  ['profiler'],
  ['perfmodel'],
  ['study'],
  ['tuner'],
  ['report', 'tui', 'headless'],
  ['cli'],
  ['library'],
];

/** Packages that only the named rooms may use: the wire stays in the rooms of the wire, the command line in its own. */
const keptTo: Record<string, readonly string[]> = {
  '@grpc/grpc-js': ['triton', 'loadgen'],
  protobufjs: ['triton', 'loadgen', 'emulator'],
  undici: ['triton', 'loadgen', 'profiler'],
  'node:http': ['loadgen', 'emulator'],
  'node:http2': ['loadgen'],
  'node:net': ['http2', 'loadgen', 'emulator', 'launch'],
  'node:child_process': ['launch'],
  execa: ['launch'],
  koffi: ['loadgen'],
  commander: ['cli'],
  '@resvg/resvg-js': ['report'],
  echarts: ['report'],
  ink: ['tui'],
  react: ['tui'],
};

const root = resolve(import.meta.dirname, '../src');
const rowOf = (room: string): number => rows.findIndex((row) => row.includes(room));

function sources(directory: string): string[] {
  return readdirSync(directory, { withFileTypes: true }).flatMap((entry) => {
    const path = join(directory, entry.name);
    if (entry.isDirectory()) return sources(path);
    return /\.tsx?$/.test(entry.name) ? [path] : [];
  });
}

function importsOf(file: string): string[] {
  const text = readFileSync(file, 'utf8');
  return [...text.matchAll(/(?:from|import)\s*\(?\s*'([^']+)'/g)].map((match) => match[1] as string);
}

function faultsOf(file: string): string[] {
  const place = relative(root, file);
  const room = place.split('/')[0] as string;
  if (rowOf(room) < 0) return [`${place}: '${room}' is no room of DESIGN's table`];
  return importsOf(file).flatMap((target) => {
    if (!target.startsWith('.')) {
      const rooms = Object.entries(keptTo).find(([name]) => target === name || target.startsWith(`${name}/`))?.[1];
      return rooms && !rooms.includes(room) ? [`${place}: '${target}' is kept to ${rooms.join(', ')}`] : [];
    }
    const other = relative(root, resolve(dirname(file), target)).split('/')[0] as string;
    if (other === '..') return [];
    const allowed = other === room || (rowOf(other) >= 0 && rowOf(other) < rowOf(room));
    return allowed ? [] : [`${place}: '${room}' may not import '${other}'`];
  });
}

describe('architecture', () => {
  it('sees the sources', () => {
    expect(sources(root).length).toBeGreaterThan(10);
  });

  it('lets imports go one way only', () => {
    expect(sources(root).flatMap(faultsOf)).toEqual([]);
  });
});
