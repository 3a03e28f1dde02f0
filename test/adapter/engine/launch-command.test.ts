import { mkdtemp, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { commandWords } from '#adapter/engine/command-words.ts';
import { emulatedProfileIn, readLaunchCommand, toStart } from '#adapter/engine/launch-command.ts';
import { shellLine } from '#base/shell-words.ts';
import type { EngineSettings } from '#space/engine.ts';
import type { EngineTraits } from '#space/types.ts';

const traits: EngineTraits = {
  name: 'vllm',
  words: 'hyphens',
  off: 'no',
  health: '/health',
  metrics: null,
  defaults: {},
  varying: [],
};
const place = { port: '7001', configFile: '/logs/start-1.json' };
const wordsWith = (command: string, settings: EngineSettings, others: Partial<EngineTraits> = {}): string =>
  toStart(readLaunchCommand(command), settings, { ...traits, ...others }, place).words.join(' ');

describe('the words of a command line', () => {
  it('are split as a shell does, and written so that a shell reads the same', () => {
    const words = commandWords(`sh -c 'a "b"' "c \\" d" e\\ f ''  g="h i"`);
    expect(words).toEqual(['sh', '-c', 'a "b"', 'c " d', 'e f', '', 'g=h i']);
    expect(commandWords(shellLine(words))).toEqual(words);
    expect(() => commandWords("a 'b")).toThrow(expect.objectContaining({ code: 'USAGE' }));
  });
});

describe('a launch command', () => {
  it('has a place for the port, and for flags at the end where it names none', () => {
    expect(wordsWith('vllm serve m --port {port}', { engine: {} })).toBe('vllm serve m --port 7001');
    expect(() => readLaunchCommand('vllm serve m')).toThrow(expect.objectContaining({ code: 'USAGE' }));
    expect(wordsWith('a {flags} --port={port}', { engine: { n: 1 } })).toBe('a --n 1 --port=7001');
  });

  it('knows the settings that its own flags say', () => {
    const { originalSettings: own } = readLaunchCommand(
      'v serve m --max-num-seqs 8 --dtype=auto --enforce-eager --no-log-stats --port {port}',
    );
    expect(own).toEqual({ engine: { max_num_seqs: 8, dtype: 'auto', enforce_eager: true, log_stats: false } });
  });

  it.each([
    ['tritune emulate --profile llama-7b-a10 --port {port}', 'llama-7b-a10'],
    ['npx tritune emulate -p ./mine.yaml --port {port} {flags}', './mine.yaml'],
    ['node dist/cli/main.js emulate --port {port}', ''],
    ['vllm serve emulate --profile m --port {port}', null],
    ['tritune serve --profile m --port {port}', null],
  ])('knows whether it starts the emulator: %s', (command, profile) => {
    expect(emulatedProfileIn(readLaunchCommand(command))).toBe(profile);
  });

  it('replaces flags of its own that a candidate sets anew, and keeps the others as they are', () => {
    const command = 'v serve m --max-num-seqs 8 --dtype=auto --no-cache --port {port} {flags} --quiet';
    const own = { max_num_seqs: 8, dtype: 'auto', cache: false, quiet: true };
    expect(wordsWith(command, { engine: own })).toBe(
      'v serve m --max-num-seqs 8 --dtype=auto --no-cache --port 7001 --quiet',
    );
    expect(wordsWith(command, { engine: { ...own, max_num_seqs: 16, dtype: 'half', cache: true } })).toBe(
      'v serve m --port 7001 --max-num-seqs 16 --dtype half --cache --quiet',
    );
  });

  it('says switches and values as the engine wants them', () => {
    const engine = { a_b: true, c_d: false, e: { x: 1 } };
    expect(wordsWith('v --port {port}', { engine })).toBe('v --port 7001 --a-b --no-c-d --e {"x":1}');
    expect(wordsWith('v --port {port}', { engine }, { words: 'underscores', off: 'nothing' })).toBe(
      'v --port 7001 --a_b --e {"x":1}',
    );
  });

  it('names a file of options, over those of a file of the user', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'tritune-engine-'));
    await writeFile(join(folder, 'own.yaml'), 'a: 1\nb: { c: 2 }\n');
    const command = readLaunchCommand(`t --opts {config:${join(folder, 'own.yaml')}} --port {port}`);
    expect(command.originalSettings.config_file).toEqual({ a: 1, b: { c: 2 } });
    const start = toStart(command, { config_file: { a: 3 }, environment: { X: 5 } }, traits, place);
    expect(start).toEqual({
      words: ['t', '--opts', '/logs/start-1.json', '--port', '7001'],
      environment: { X: '5' },
      config: '{\n  "a": 3\n}\n',
    });
    const without = readLaunchCommand('t --port {port}');
    expect(() => toStart(without, { config_file: { a: 3 } }, traits, place)).toThrow(/names no file/);
  });
});
