import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { callCli } from '../support/call-cli.ts';
import { emulatorForTest, smallProfile } from '../support/emulator.ts';
import { freshDirectory } from '../support/run-directory.ts';

const PICTURES = ['latency_parts.png', 'latency_parts.svg', 'throughput_vs_latency.png', 'throughput_vs_latency.svg'];

describe('pictures of a sweep', { timeout: 120_000 }, () => {
  it('are drawn by profile, and by plot from its CSV file', async () => {
    const { grpcUrl } = await emulatorForTest({ profile: smallProfile() });
    const folder = await freshDirectory();
    const [csv, drawn, again] = [join(folder, 'sweep.csv'), join(folder, 'drawn'), join(folder, 'again')];
    const sweep = [
      'profile',
      '-m',
      'm',
      '-i',
      'grpc',
      '-u',
      grpcUrl,
      '--concurrency-range',
      '1:3',
      '--precision',
      '20',
    ];
    const profiled = await callCli([...sweep, '-f', csv, '--plots', drawn]);
    expect(profiled, profiled.stderr).toMatchObject({ code: 0 });
    expect(profiled.stdout).toContain(join(drawn, 'latency_parts.svg'));
    expect((await readdir(drawn)).sort()).toEqual(PICTURES);
    const parts = await readFile(join(drawn, 'latency_parts.svg'), 'utf8');
    for (const word of ['queue', 'compute infer', 'client send', 'concurrency 3']) expect(parts).toContain(word);
    expect(await callCli(['plot', csv, '-o', again])).toMatchObject({ code: 0 });
    expect((await readdir(again)).sort()).toEqual(PICTURES);
    const two = await callCli([
      'plot',
      csv,
      join(drawn, '..', 'sweep.csv'),
      '-o',
      again,
      '--select',
      'table=other.csv',
    ]);
    expect(two).toMatchObject({ code: 2, stderr: expect.stringContaining('no rows with table=other.csv') });
  });

  it('are not drawn twice, nor from what is no table', async () => {
    const folder = await freshDirectory();
    const scenario = ['profile', '-m', 'm', '--scenario', 'online', '--plots', folder];
    expect(await callCli(scenario)).toMatchObject({ code: 2, stderr: expect.stringContaining('draws its own') });
    expect(await callCli(['plot', join(folder, 'none.csv')])).toMatchObject({ code: 2 });
  });
});
