import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { toModelConfig } from '#space/model-configs.ts';
import { fakeNvidiaSmi, pathWith } from '../support/nvidia-smi.ts';
import { installDirectory, realTriton } from '../support/real-triton.ts';
import { recordsOf, summaryOf } from '../support/run-directory.ts';

/**
 * The whole way of bench/gpu, with models that compute little: pack, unpack, serve, tune, and the
 * table of results.
 */
const gpu = resolve(import.meta.dirname, '../../bench/gpu');
const GPU = 'GPU-11111111-2222-3333-4444-555555555555';

let folder = '';
let env: NodeJS.ProcessEnv = process.env;
beforeAll(async () => {
  const { binDirectory } = await realTriton();
  folder = await mkdtemp(join(tmpdir(), 'tritune-gpu-run-'));
  const smi = await fakeNvidiaSmi([`${GPU}, 40, 2000, 8000, 120.5, 1980`]);
  // The Python of the machine is the one that Triton was installed with here; PyTorch is asked for
  // by nothing that is tiny.
  env = { ...process.env, PATH: [dirname(process.execPath), binDirectory, pathWith(smi)].join(':') };
  const archive = join(folder, 'gpu.tar');
  await run(process.execPath, join(gpu, 'pack.ts'), '--triton', installDirectory, '--output', archive);
}, 400_000);
afterAll(() => rm(folder, { recursive: true, force: true }));

const run = (file: string, ...args: string[]) => promisify(execFile)(file, args, { env, cwd: folder, maxBuffer: 16e6 });
const part = (...args: string[]) =>
  run(join(gpu, 'run.sh'), 'gpu.tar', 'work', '--size', 'tiny', '--results', 'results', ...args);

/**
 * Tests beside this one may leave the load generator too little of the machine: it says so, and
 * nothing is shown of what is tested here. Or the machine stalls in one of two measurements, and
 * what is no better looks so: there is a final, and the table has its counts.
 */
async function wasDisturbed(directory: string): Promise<boolean> {
  const records = await recordsOf(directory);
  const isStarved = records.some((each) => each.type === 'trial-finished' && each.failure?.kind === 'client-bound');
  return isStarved || records.some(({ type }) => type === 'final-measured');
}

/** Enough for a machine on which others work too. */
describe('the proof on a GPU, dry', { timeout: 400_000 }, () => {
  it('tells what the machine has', async () => {
    const { stdout } = await part('check');
    expect(JSON.parse(stdout.slice(0, stdout.indexOf('\n}') + 2))).toMatchObject({
      archive: { triton: '2.51.0' },
      python: { executable: expect.stringContaining('python') },
    });
    expect(stdout).toMatch(/models import: Python 3\.\d+\.\d+, numpy 1\./);
  });

  it('tunes a model with what the archive holds, and knows when it has', async () => {
    const asked = [`--candidates=${join(folder, 'candidates.json')}`, '--sampler=manual', '--concurrency=4:4'];
    // Single executions are no better than batches of four: there is nothing for a final to decide.
    const knobs = { precision: 'bf16', graphs: 'cuda', compile: 'inductor', instances: 1, max_batch_size: 1 };
    await writeFile(join(folder, 'candidates.json'), JSON.stringify([knobs]));
    const directory = join(folder, 'results/image-2000');
    for (let left = 5; left > 0; left--) {
      await rm(directory, { recursive: true, force: true });
      await part('tune', 'image', '2000', '--', '--precision=20', '--client-threads=2', ...asked);
      if (!(await wasDisturbed(directory))) break;
    }
    expect(await summaryOf(directory)).toMatchObject({
      server: { name: 'triton', version: '2.51.0' },
      feasible: true,
      counts: { trials: 2, failed: 0 },
      restored: { verified: true },
    });
    const records = await recordsOf(directory);
    const started = records.flatMap((record) => (record.type === 'trial-started' ? [record.candidate] : []));
    const [, candidate] = started;
    expect(candidate?.assignment).toEqual(knobs);
    expect(candidate && toModelConfig(candidate)).toMatchObject({ parameters: { graphs: { string_value: 'cuda' } } });
    for (const record of records.filter((each) => each.type === 'trial-measured')) {
      const { device, errorRate } = record.measurement;
      expect(errorRate).toBe(0);
      expect(device).toMatchObject({ gpuUtilizationPercent: 40, gpuMemoryMiB: 2000, gpuPowerW: 120.5 });
    }
    expect((await part('tune', 'image', '2000')).stdout).toMatch(/image-2000 is finished/);
  });

  it('compares transports', async () => {
    await part('transports', 'text', '--', '--concurrency-range=4', '--precision=20');
    for (const memory of ['none', 'system']) {
      const [head, row] = (await readFile(join(folder, `results/text-${memory}.csv`), 'utf8')).split('\n');
      expect(head).toMatch(/^Concurrency,Inferences\/Second,/);
      expect(row).toMatch(/^4,\d/);
    }
  });

  it('records a grid', async () => {
    await writeFile(join(folder, 'one.yaml'), 'name: one\nparameters:\n  instances: [1]\n');
    await part('record', 'text', '--', `--space=${join(folder, 'one.yaml')}`, '--concurrency=2', '--windows=1');
    expect(JSON.parse(await readFile(join(folder, 'results/text-grid.json'), 'utf8'))).toBeTruthy();
  });

  it('makes a table of the studies', async () => {
    const { stdout } = await run(process.execPath, join(gpu, 'table.ts'), 'results');
    const lines = stdout.trim().split('\n');
    expect(lines).toContainEqual(expect.stringMatching(/^Measured on .* cores, .*with the server/));
    const at = lines.findIndex((line) => line.startsWith('| study |'));
    const [header, , ...rows] = lines.slice(at);
    expect(header).toMatch(
      /^\| study \| p99 budget \| original config \| best \| a request then \| and now \| gain \| .* \| prediction, ahead \|$/,
    );
    expect(rows).toHaveLength(1);
    // The original config may be visited again, and where the machine made the candidate look
    // better each time there was a final.
    const directory = join(folder, 'results/image-2000');
    const records = await recordsOf(directory);
    const searched = records.filter(({ type }) => type === 'trial-measured').length;
    const changed = records.filter((record) => record.type === 'trial-applied' && record.change === 'full');
    const hasFinal = records.some(({ type }) => type === 'final-measured');
    const { measurements, reloads } = (await summaryOf(directory)).counts;
    expect(searched).toBeGreaterThanOrEqual(2);
    if (!hasFinal) expect({ measurements, reloads }).toEqual({ measurements: searched, reloads: changed.length });
    const counts = `\\| ${measurements} \\| ${reloads} \\| 0 \\| \\d+ s \\|`;
    expect(rows[0]).toMatch(
      new RegExp(`^\\| image-2000 \\| 2000 ms \\| \\d+/s, p99 [\\d.]+ ms at 4 \\| \\d+/s, .* ${counts}`),
    );
    expect(rows[0]).toMatch(/% of throughput, [\d.]+ % of p99 \(\d points\) \| – \|$/);
    expect(rows[0]).toContain(`(${searched} points)`);
    const [columns, ...points] = (await readFile(join(folder, 'results/prediction.csv'), 'utf8')).trim().split('\r\n');
    expect(columns).toBe(
      'study,way,trial,config,level,throughput,throughput_told,throughput_error,budget_latency_ms,budget_latency_ms_told,budget_latency_ms_error',
    );
    const trials = points.map((point) => /^image-2000,held-out,([01]),.*concurrency 4,/.exec(point)?.[1]);
    expect(new Set(trials)).toEqual(new Set(['0', '1']));
  });
});
