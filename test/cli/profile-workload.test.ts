import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import type { Measurement } from '#profiler/measurement.ts';
import { callCli } from '../support/call-cli.ts';
import { emulatorForTest, everyKindProfile, smallProfile } from '../support/emulator.ts';
import { openAiServer } from '../support/openai-server.ts';
import { freshDirectory } from '../support/run-directory.ts';
import { ownObjects } from '../support/shared-memory-suite.ts';

const phases = [
  { durationS: 0.5, arrivals: { process: 'constant', perSecond: 40 } },
  { durationS: 0.5, arrivals: { process: 'poisson', perSecond: 80 }, weights: { small: 1, large: 1 } },
];
const twoClasses = {
  workloadVersion: 1,
  classes: {
    small: { weight: 1, limitMs: 10_000 },
    large: { weight: 0, limitMs: 0.001, requests: { batch: 4 } },
  },
  phases,
};

interface Levels {
  readonly stability: string;
  readonly levels: readonly Measurement[];
}

/** Writes the workload, runs `profile` with it, and reads what that wrote. */
async function profile(workload: object, args: readonly string[]) {
  const directory = await freshDirectory();
  const [file, json, csv] = ['w.yaml', 'r.json', 'r.csv'].map((name) => join(directory, name)) as [
    string,
    string,
    string,
  ];
  await writeFile(file, JSON.stringify(workload));
  const outcome = await callCli(['profile', '--workload', file, '--json', json, '-f', csv, ...args]);
  const read = async (): Promise<Levels> => JSON.parse(await readFile(json, 'utf8'));
  const rows = async () => {
    const [head = '', ...others] = (await readFile(csv, 'utf8')).trim().split('\n');
    return others.map((row) => new Map(head.split(',').map((name, at) => [name, row.split(',')[at] as string])));
  };
  return { ...outcome, read, rows };
}

/** Sockets, threads and passes of a second take long on a busy machine. */
const PATIENT = { timeout: 180_000 };

describe('profile --workload', PATIENT, () => {
  it('plays whole passes at its own rate, and tells of each class', async () => {
    const emulator = await emulatorForTest({ profile: smallProfile() });
    const args = ['-m', 'm', '-u', emulator.grpcUrl, '-i', 'grpc', '--passes', '2', '--percentile', '90'];
    const { code, stdout, read, rows } = await profile(twoClasses, args);
    expect(code).toBe(0);
    expect(stdout).toContain('Measuring 2 whole passes of the workload');
    expect(stdout).toMatch(/^ {4}small: \d+ requests, [\d.]+ good of [\d.]+ requests\/s; avg .*, p90 /m);
    const { stability, levels } = await read();
    const [level] = levels as [Measurement];
    expect(stability).toBe('passes');
    expect([level.level, level.windows]).toEqual([{ mode: 'request-rate', value: 60 }, 2]);
    // 40 small ones and 20 large ones of four samples in a pass.
    const [small, large] = level.classes ?? [];
    expect([small?.name, large?.name]).toEqual(['small', 'large']);
    expect(Math.abs((small?.requests ?? 0) - 80)).toBeLessThan(8);
    expect(Math.abs((large?.requests ?? 0) - 40)).toBeLessThan(8);
    expect(level.throughput.value).toBeCloseTo((40 + 20 * 4) * Math.min(1, level.throughput.value / 120), 5);
    expect([small?.goodput?.value, large?.goodput?.value]).toEqual([small?.throughput.value, 0]);
    expect(level.goodput?.value).toBeCloseTo(small?.throughput.value ?? 0, 6);
    const [row] = await rows();
    expect([...(row as Map<string, string>).keys()].slice(-10)).toContain('large p99 latency');
    expect(row?.get('small Requests')).toBe(`${small?.requests}`);
    expect(Number(row?.get('Goodput'))).toBeCloseTo(level.goodput?.value ?? 0, 6);
  });

  it('plays several rates, over several threads, longer or shorter', async () => {
    const emulator = await emulatorForTest({ profile: smallProfile() });
    const args = ['-m', 'm', '-u', emulator.httpUrl, '--passes', '1', '--time-scale', '2', '--client-threads', '2'];
    const { code, read } = await profile(twoClasses, [...args, '--request-rate', '50:100:50']);
    expect(code).toBe(0);
    const { levels } = await read();
    expect(levels.map(({ level }) => level.value)).toEqual([50, 100]);
    for (const { requests, level, durationMs, errorRate, classes } of levels) {
      expect(durationMs / 2000).toBeCloseTo(1, 0);
      expect(requests / (2 * level.value)).toBeCloseTo(1, 0);
      expect(errorRate).toBe(0);
      expect((classes ?? []).reduce((sum, each) => sum + each.requests, 0)).toBe(requests);
    }
  });

  it.each(['grpc', 'http'])('sends classes of several sizes over shared memory, by %s', async (protocol) => {
    const emulator = await emulatorForTest({ profile: smallProfile() });
    const url = protocol === 'grpc' ? emulator.grpcUrl : emulator.httpUrl;
    const args = ['-m', 'm', '-u', url, '-i', protocol, '--passes', '1', '--shared-memory', 'system'];
    const { code, stderr, read } = await profile(twoClasses, args);
    expect([code, stderr]).toEqual([0, '']);
    const [{ classes, errorRate }] = (await read()).levels as [Measurement];
    expect(errorRate).toBe(0);
    expect(classes?.every(({ requests }) => requests > 10)).toBe(true);
    expect(ownObjects()).toEqual([]);
  });

  it('sends the classes of several models at the same time', async () => {
    const emulator = await emulatorForTest({ profile: everyKindProfile() });
    const workload = {
      ...twoClasses,
      classes: { small: { weight: 1, model: 'm', limitMs: 10_000 }, large: { weight: 0, model: 'second' } },
    };
    const { code, stdout, stderr, read } = await profile(workload, [
      '-u',
      emulator.grpcUrl,
      '-i',
      'grpc',
      '--passes',
      '1',
    ]);
    expect(stderr).toBe('');
    expect(code).toBe(0);
    expect(stdout).toMatch(/^ {4}large \(second\): \d+ requests/m);
    const [level] = (await read()).levels as [Measurement];
    expect(level.fronts?.map(({ model, level: own }) => [model, Math.round(own.value)])).toEqual([
      ['m', 40],
      ['second', 20],
    ]);
    expect(level.classes?.map(({ name, model }) => [name, model])).toEqual([
      ['small', 'm'],
      ['large', 'second'],
    ]);
    expect(level.goodput?.value).toBeCloseTo(level.fronts?.[0]?.goodput?.value ?? Number.NaN, 6);
  });

  it('asks a language model by classes, with limits on tokens', async () => {
    const pieces = [' a', ' b', ' c'].map((text) => ({ afterMs: 0, text }));
    const server = await openAiServer({ reply: () => ({ pieces, usage: { input: 7, output: 3 } }) });
    onTestFinished(() => server.close());
    const prompts = { inputTokens: { kind: 'constant', value: 8 }, prompts: 4 };
    const workload = {
      ...twoClasses,
      classes: {
        small: { weight: 1, ttftMs: 10_000, prompts },
        large: { weight: 0, ttftMs: 0.000_001, prompts },
      },
    };
    const { code, stdout, read } = await profile(workload, ['--endpoint', 'openai', '-u', server.url, '--passes', '1']);
    expect(code).toBe(0);
    expect(stdout).toMatch(/Goodput: [\d.]+/);
    const [{ classes, goodput, tokens }] = (await read()).levels as [Measurement];
    expect(classes?.map(({ name, goodput: own }) => [name, (own?.value ?? 0) > 0])).toEqual([
      ['small', true],
      ['large', false],
    ]);
    expect(tokens?.goodput).toEqual(goodput);
  });

  it.each([
    [['--concurrency-range', '2'], '--concurrency-range cannot be used with --workload'],
    [['--request-count', '50'], 'a workload is measured over whole passes'],
    [['--stability', 'perf-analyzer'], 'a workload is measured over whole passes'],
    [['--goodput', 'ttft<=5ms'], '--goodput limits ttft, which tensor requests do not have'],
  ])('refuses %s beside it', async (args, message) => {
    const { code, stderr } = await profile(twoClasses, ['-m', 'm', ...args]);
    expect([code, stderr]).toEqual([2, expect.stringContaining(message)]);
  });

  it('refuses what only it has a use for, and a model that nobody names', async () => {
    for (const args of [
      ['--passes', '2'],
      ['--time-scale', '2'],
    ]) {
      expect(await callCli(['profile', '-m', 'm', ...args])).toMatchObject({
        code: 2,
        stderr: expect.stringContaining('needs a workload'),
      });
    }
    expect((await profile(twoClasses, [])).stderr).toContain("class 'small' names no model");
  });
});

describe('profile --goodput', PATIENT, () => {
  it('counts the requests of tensors that end in time', async () => {
    const emulator = await emulatorForTest({ profile: smallProfile({ a: 3 }) });
    const json = join(await freshDirectory(), 'r.json');
    const at = async (limit: string): Promise<Measurement> => {
      const args = ['profile', '-m', 'm', '-u', emulator.grpcUrl, '-i', 'grpc', '--precision', '30', '--json', json];
      const { code } = await callCli([...args, '--goodput', limit]);
      expect(code).toBe(0);
      return JSON.parse(await readFile(json, 'utf8')).levels[0];
    };
    const all = await at('e2e<=10s');
    expect(all.goodput).toEqual(all.throughput);
    // An execution alone takes longer.
    expect((await at('e2e<=2ms')).goodput?.value).toBe(0);
  });
});
