import { readFile, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { type CapacityDocument, capacityDocumentSchema } from '#capacity/document-schema.ts';
import { loadProfile } from '#emulator/profile/profiles.ts';
import { connectHttp } from '#triton/control/connect.ts';
import { runCli } from '../support/cli.ts';
import { emulatorForTest, languageProfile, smallProfile } from '../support/emulator.ts';
import { listen } from '../support/misbehaving-server.ts';
import { freshDirectory } from '../support/run-directory.ts';

const SECONDS = 12;

/**
 * Runs the command as a user does, for a few seconds: the time is up before the answer is precise,
 * which is fine here.
 */
async function capacity(args: readonly string[]) {
  const json = join(await freshDirectory(), 'capacity.json');
  const outcome = await runCli(['capacity', '--time-budget', `${SECONDS}s`, '--json', json, ...args]);
  return { ...outcome, read: async (): Promise<CapacityDocument> => JSON.parse(await readFile(json, 'utf8')) };
}

function checkWhole(document: CapacityDocument): void {
  expect(capacityDocumentSchema.safeParse(document).error).toBeUndefined();
  expect(document.mostSeconds).toBe(SECONDS);
  expect(document.cutShort).toContain('search');
  expect(document.notes.join()).toContain(`the time (--time-budget, ${SECONDS} s) was up: the search ended there`);
  expect(document.probes.length + document.closedLoops.length).toBeGreaterThan(0);
  // The last replies, and a busy machine, take some time more; a search without its limit takes a
  // minute and more.
  expect(document.seconds).toBeLessThan(SECONDS + 30);
}

async function service(answer: (url: string) => number): Promise<string> {
  const server = createServer((request, response) => {
    request.resume();
    setTimeout(() => response.writeHead(answer(request.url ?? '')).end('{}'), 10);
  });
  const port = await listen(server);
  onTestFinished(async () => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  });
  return `http://127.0.0.1:${port}`;
}

describe('tritune capacity', { timeout: 180_000 }, () => {
  it('finds the capacity of several models under their mix', async () => {
    const emulator = await emulatorForTest({ profile: loadProfile('two-tenants') });
    const file = join(await freshDirectory(), 'tenants.yaml');
    const workload = {
      workloadVersion: 1,
      name: 'tenants',
      classes: {
        detect: { weight: 1, model: 'detector', limitMs: 4000, requests: { batch: 2 } },
        forecast: { weight: 3, model: 'forecaster', limitMs: 4000 },
      },
      phases: [{ durationS: 1, arrivals: { process: 'constant', perSecond: 20 } }],
    };
    await writeFile(file, JSON.stringify(workload));
    const where = ['-u', emulator.grpcUrl, '-i', 'grpc'];
    const { code, stdout, read } = await capacity([...where, '--workload', file, '--passes', '1']);
    expect(code).toBe(0);
    const document = await read();
    checkWhole(document);
    expect(document).toMatchObject({ model: 'detector, forecaster', arrivals: 'tenants' });
    expect(document.batch).toBeCloseTo(1.25, 6);
    expect(stdout).toMatch(/^20 requests\/s: 100 % good, met/m);
    const client = connectHttp(emulator.httpUrl, {});
    onTestFinished(() => client.close());
    const [detector, forecaster] = await Promise.all(
      ['detector', 'forecaster'].map(async (model) => (await client.statistics(model))[0]?.inferenceCount ?? 0),
    );
    expect((forecaster as number) / (detector as number)).toBeCloseTo(3 / 2, 0);
  });

  it('plays a workload file in whole passes over shared memory, with the limits of its classes', async () => {
    const emulator = await emulatorForTest({ profile: smallProfile({ a: 10, b: 0.1 }) });
    const file = join(await freshDirectory(), 'day.yaml');
    const workload = {
      workloadVersion: 1,
      name: 'day',
      classes: {
        small: { weight: 1, limitMs: 5000 },
        large: { weight: 1, limitMs: 8000, requests: { batch: 3 } },
      },
      phases: [
        { durationS: 0.5, arrivals: { process: 'constant', perSecond: 10 } },
        { durationS: 0.5, arrivals: { process: 'poisson', perSecond: 30 } },
      ],
    };
    await writeFile(file, JSON.stringify(workload));
    const where = ['-m', 'm', '-u', emulator.grpcUrl, '-i', 'grpc'];
    const shared = ['--shared-memory', 'system'];
    const { code, stdout, read } = await capacity([...where, ...shared, '--workload', file, '--passes', '2']);
    expect(code).toBe(0);
    const client = connectHttp(emulator.httpUrl);
    expect(await client.sharedMemoryRegions()).toEqual([]);
    await client.close();
    const document = await read();
    checkWhole(document);
    expect(document).toMatchObject({ arrivals: 'day', closedLoops: [] });
    expect(document.batch).toBeCloseTo(2, 0);
    expect(document.limit.limits).toBe('the limits of the workload');
    for (const { seconds, perSecond, servedPerSecond } of document.probes) {
      // Two passes of a second; on a busy machine the last reply of one comes late.
      expect(seconds).toBeGreaterThan(1.5);
      expect(seconds).toBeLessThan(6);
      // Samples are not requests.
      expect(servedPerSecond).toBeLessThanOrEqual(1.001 * perSecond);
    }
    expect(document.probes[0]?.perSecond).toBeCloseTo(20, 6);
    expect(stdout).toMatch(/^20 requests\/s: [\d.]+ % good, met/m);
    const long = await capacity([...where, '--workload', file, '--time-scale', '60']);
    expect([long.code, long.stderr]).toEqual([
      2,
      expect.stringMatching(/'day' takes 1 min, but --time-budget is 12 s/),
    ]);
  });

  it('finds the goodput of a language model by its first token and the gaps between tokens', async () => {
    const emulator = await emulatorForTest({ profile: languageProfile({ step: { floor_ms: 20 } }) });
    const { code, stdout, read } = await capacity([
      ...['-u', emulator.httpUrl, '--endpoint', 'openai', '--goodput', 'ttft<=4s itl<=2s', '--percentile', '90'],
      ...['--input-tokens', '20', '--output-tokens', '4', '--server-gpus', '2'],
    ]);
    expect(code).toBe(0);
    const document = await read();
    checkWhole(document);
    expect(document).toMatchObject({ model: 'talk', protocol: 'http', arrivals: 'poisson' });
    expect(document.server.emulated).toBe('language');
    expect(document.limit).toEqual({ percentile: 90, budgetMs: null, limits: 'ttft 4,000 ms, itl 2,000 ms' });
    expect(document.closedLoops[0]?.concurrency).toBe(1);
    // A machine that is busy with other tests has time for one reading only, which is no estimate
    // yet.
    const { capacity: found, tokens, gpus, probes } = document;
    expect(found === null).toBe(probes.length < 2 || probes.every(({ isKept }) => !isKept));
    if (found === null) return;
    expect(tokens?.outputPerRequest).toBeCloseTo(4, 0);
    expect(gpus).toMatchObject({ count: 2, requestsPerSecond: { value: found.value / 2 } });
    expect(stdout).toMatch(/requests\/s \(.*\) and [\d.,]+ output tokens\/s for each of 2 GPUs/);
  });

  it('finds what a plain HTTP service sustains, and counts no refusal as a reply in time', async () => {
    const url = await service((path) => (path === '/infer' ? 200 : 404));
    const http = ['--service-kind', 'http', '--latency-budget', '2000'];
    const { code, stdout, read } = await capacity([...http, '-u', `${url}/infer`, '--body', '{"x": 1}']);
    expect(code).toBe(0);
    const document = await read();
    checkWhole(document);
    expect(document).toMatchObject({ model: `${url}/infer`, protocol: 'http', server: { name: 'http' }, batch: 1 });
    expect(stdout).toMatch(/^closed loop of 1: [\d.,]+ requests\/s, p99/m);
    const refused = await capacity([...http, '-u', `${url}/nothing`]);
    expect([refused.code, refused.stderr]).toEqual([4, expect.stringContaining('every reply had the status 404')]);
  });
});
