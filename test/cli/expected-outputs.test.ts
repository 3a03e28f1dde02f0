import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import type { CapacityDocument } from '#capacity/document-schema.ts';
import { startEmulator } from '#emulator/start-emulator.ts';
import type { Measurement } from '#profiler/measurement.ts';
import { callCli } from '../support/call-cli.ts';
import { emulatorForTest, everyKindProfile } from '../support/emulator.ts';
import { freshDirectory, recordsOf } from '../support/run-directory.ts';

/**
 * Answers with zeros; each request to `stream` has three replies, and `seq` has a slot for each of
 * many sequences.
 */
const profile = everyKindProfile({ instances: 64 });
const emulator = await startEmulator({ profile });
afterAll(() => emulator.close());

const where = (model: string, { grpcUrl } = emulator) => ['-m', model, '-u', grpcUrl, '-i', 'grpc'];
const kinds = { stream: ['--streaming'], seq: [] };
const step = { IN: [1, 2, 3, 4] };
const reply = (last: number) => ({ OUT: [0, 0, 0, last] });

/**
 * A file of two steps in one stream, with these expected replies to the second; those to the first
 * are right.
 */
async function dataFile(model: keyof typeof kinds, second: unknown): Promise<string> {
  const first = model === 'stream' ? [reply(0), reply(0), reply(0)] : reply(0);
  const path = join(await freshDirectory(), 'data.json');
  await writeFile(path, JSON.stringify({ data: [[step, step]], validation_data: [[first, second]] }));
  return path;
}

async function profiled(model: keyof typeof kinds, second: unknown, ...more: string[]) {
  const json = join(await freshDirectory(), 'r.json');
  const data = ['--input-data', await dataFile(model, second), '--request-count', '20', '--json', json];
  const outcome = await callCli(['profile', ...where(model), ...kinds[model], ...data, ...more]);
  const level = async (): Promise<Measurement> => JSON.parse(await readFile(json, 'utf8')).levels[0];
  return { ...outcome, level };
}

const right = { stream: [reply(0), reply(0), reply(0)], seq: reply(0) };
const wrong = { stream: [reply(0), reply(0), reply(5)], seq: reply(5) };

describe.each(['stream', 'seq'] as const)('the expected outputs of %s', { timeout: 180_000 }, (model) => {
  it('are found by profile', async () => {
    const { code, level } = await profiled(model, right[model]);
    expect(code).toBe(0);
    expect(await level()).toMatchObject({ errorRate: 0, failures: [] });
  });

  it('are missed by profile, in each second step', async () => {
    const { level } = await profiled(model, wrong[model]);
    const { errorRate, failures } = await level();
    expect(errorRate).toBeGreaterThan(0.2);
    expect(errorRate).toBeLessThan(0.8);
    const whose = model === 'stream' ? ' of reply 3' : '';
    const firstMessage = `output 'OUT'${whose} differs in 1 of 4 values: value 3 is 0 where 5 was expected`;
    expect(failures).toMatchObject([{ kind: 'mismatch', firstMessage }]);
  });

  it.each(['right', 'wrong'])('count in tune, when they are %s', async (which) => {
    const output = await freshDirectory();
    const data = ['--input-data', await dataFile(model, which === 'right' ? right[model] : wrong[model])];
    const short = ['--concurrency', '1:1', '--space', 'base', '--max-trials', '1', '--precision', '20'];
    const args = [...where(model), ...kinds[model], ...data, ...short, '--time-budget', '4s', '-o', output];
    const { stderr } = await callCli(['tune', '--metrics-url', emulator.metricsUrl, ...args]);
    expect(stderr).not.toContain('USAGE');
    const measured = (await recordsOf(output)).flatMap((each) =>
      each.type === 'trial-measured' ? [each.measurement] : [],
    );
    expect(measured.length).toBeGreaterThan(0);
    for (const { failures, errorRate } of measured) {
      expect(failures.map(({ kind }) => kind)).toEqual(which === 'right' ? [] : ['mismatch']);
      expect(errorRate > 0.2).toBe(which === 'wrong');
    }
  });

  it.each(['right', 'wrong'])('count in capacity, when they are %s', async (which) => {
    const data = ['--input-data', await dataFile(model, which === 'right' ? right[model] : wrong[model])];
    const json = join(await freshDirectory(), 'capacity.json');
    // Replies take a few milliseconds. A search that ends early may leave sequences open.
    const limits = ['-l', '1000', '--time-budget', '20s', '--precision', '20', '--json', json];
    const at = where(model, await emulatorForTest({ profile }));
    await callCli(['capacity', ...at, ...kinds[model], ...data, ...limits]);
    const { closedLoops, probes }: CapacityDocument = JSON.parse(await readFile(json, 'utf8'));
    const failures = [...closedLoops, ...probes].flatMap((each) => ('failure' in each ? (each.failure ?? []) : []));
    if (which === 'right') expect(failures).toEqual([]);
    else expect(failures.join()).toContain("output 'OUT'");
  });
});

describe('expected outputs', { timeout: 180_000 }, () => {
  it('count the replies of a stream', async () => {
    const { level } = await profiled('stream', reply(0));
    expect((await level()).failures).toMatchObject([
      { kind: 'mismatch', firstMessage: 'it had 3 replies instead of 1' },
    ]);
  });

  it('are refused in shared memory, where replies overwrite each other', async () => {
    const { code, stderr } = await profiled('stream', right.stream, '--shared-memory', 'system');
    expect([code, stderr]).toEqual([2, expect.stringContaining("'stream' is decoupled: its replies overwrite")]);
    expect((await profiled('seq', right.seq, '--shared-memory', 'system')).code).toBe(0);
  });
});
