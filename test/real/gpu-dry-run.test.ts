import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { recordsOf, summaryOf } from '../support/cli.ts';
import { fakeNvidiaSmi, pathWith } from '../support/nvidia-smi.ts';
import { installDirectory, realTriton } from '../support/real-triton.ts';

/** The whole way of bench/gpu, with models that compute little: pack, unpack, serve, tune, and the table of results. */
const gpu = resolve(import.meta.dirname, '../../bench/gpu');
const GPU = 'GPU-11111111-2222-3333-4444-555555555555';

let folder = '';
let env: NodeJS.ProcessEnv = process.env;
beforeAll(async () => {
  const { binDirectory } = await realTriton();
  folder = await mkdtemp(join(tmpdir(), 'tritune-gpu-run-'));
  const smi = await fakeNvidiaSmi([`${GPU}, 40, 2000, 8000, 120.5`]);
  // The Python of the machine is the one that Triton was installed with here; PyTorch is asked for by nothing that is tiny.
  env = { ...process.env, PATH: [dirname(process.execPath), binDirectory, pathWith(smi)].join(':') };
  const archive = join(folder, 'gpu.tar');
  await run(process.execPath, join(gpu, 'pack.ts'), '--triton', installDirectory, '--output', archive);
});
afterAll(() => rm(folder, { recursive: true, force: true }));

const run = (file: string, ...args: string[]) => promisify(execFile)(file, args, { env, cwd: folder, maxBuffer: 16e6 });
const part = (...args: string[]) =>
  run(join(gpu, 'run.sh'), 'gpu.tar', 'work', '--size', 'tiny', '--results', 'results', ...args);

describe('the proof on a GPU, dry', () => {
  it('tells what the machine has', async () => {
    const { stdout } = await part('check');
    expect(JSON.parse(stdout.slice(0, stdout.indexOf('\n}') + 2))).toMatchObject({
      archive: { triton: '2.51.0' },
      python: { executable: expect.stringContaining('python') },
    });
  });

  it('tunes a model of each kind with what the archive holds, and nothing else', async () => {
    const quickly = ['--', '--max-trials', '1', '--precision', '20', '--concurrency', '4:4'];
    for (const model of ['image', 'text']) {
      await part('tune', model, '150', ...quickly);
      const directory = join(folder, 'results', `${model}-150`);
      const summary = await summaryOf(directory);
      expect(summary).toMatchObject({
        model,
        server: { name: 'triton', version: '2.51.0' },
        feasible: true,
        counts: { trials: 2, failed: 0 },
      });
      const measured = (await recordsOf(directory)).filter((record) => record.type === 'trial-measured');
      for (const { measurement } of measured) {
        expect(measurement.device).toMatchObject({ gpuUtilizationPercent: 40, gpuMemoryMiB: 2000, gpuPowerW: 120.5 });
      }
    }
    const journal = await readFile(join(folder, 'results/image-150/journal.jsonl'), 'utf8');
    expect(journal).toContain(`"modelRepository":"${join(folder, 'work/models-image-tiny')}"`);
    const again = await part('tune', 'image', '150');
    expect(again.stdout).toMatch(/image-150 is finished/);
  });

  it('makes a table of it', async () => {
    const { stdout } = await run(process.execPath, join(gpu, 'table.ts'), 'results');
    const [, , header, , ...rows] = stdout.trim().split('\n');
    expect(header).toMatch(/^\| study \| p99 budget \| original config \| best \| gain \| .* \| prediction, ahead \|$/);
    expect(rows.map((row) => row.split(' | ')[0])).toEqual(['| image-150', '| text-150']);
    for (const row of rows) expect(row).toMatch(/\| 150 ms \| \d+\/s, p99 [\d.]+ ms at 4 \| \d+\/s, .*% of throughput/);
  });
});
