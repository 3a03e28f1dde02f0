import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { gunzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { loadProfile } from '#emulator/profile/profiles.ts';
import { connectGrpc } from '#triton/control/connect.ts';
import { callCli } from '../support/call-cli.ts';
import { runCli } from '../support/cli.ts';
import { emulatorForTest } from '../support/emulator.ts';
import { freshDirectory } from '../support/run-directory.ts';

const fixture = (name: string): string => fileURLToPath(new URL(`../fixtures/queueing/${name}`, import.meta.url));

describe('calibrate', { timeout: 180_000 }, () => {
  it('prints what it fitted, predicts the other rows, and writes a profile that an emulator runs', async () => {
    const directory = await freshDirectory();
    const [table, profile] = [join(directory, 'results.csv'), join(directory, 'my-t4.yaml')];
    await writeFile(table, gunzipSync(await readFile(fixture('tft-results.csv.gz'))));
    const select = ['--select', 'gpu=t4', '--select', 'backend=pytorch', '--select', 'dataset=traffic'];
    const { code, stdout, stderr } = await runCli([
      'calibrate',
      table,
      '--config',
      fixture('tft.pbtxt'),
      ...select,
      '-o',
      profile,
    ]);
    expect(stderr).toBe('');
    expect(code).toBe(0);
    expect(stdout).toMatch(/11 batch sizes timed alone and 3 rows of traffic/);
    expect(stdout).toMatch(/interference per further instance: \S+ \(95 %: \S+ to \S+\)/);
    expect(stdout.match(/^ +\d+ .* %.* %/gm)).toHaveLength(32);
    expect(stdout.match(/fitted$/gm)).toHaveLength(3);
    expect(stdout).toMatch(/rows held out: median error \d\.\d % in throughput, \d\.\d % in p50/);

    const written = loadProfile(profile);
    expect(written).toMatchObject({ name: 'my-t4', device: { name: 'T4 (emulated)' } });
    expect(written.source).toMatch(/results\.csv.*8, 64, 256 clients.*held out are met/s);
    expect(written.models[0]?.config).toMatchObject({ name: 'tft', backend: 'pytorch', max_batch_size: 1024 });
    const { grpcUrl } = await emulatorForTest({ profile: written });
    const client = connectGrpc(grpcUrl);
    expect(await client.ready().finally(() => client.close())).toBe(true);
  });

  it('takes the batching from a table that states it, and asks for the config of one that does not', async () => {
    const directory = await freshDirectory();
    const [table, profile] = [join(directory, 'pictures.csv'), join(directory, 'pictures.yaml')];
    const rows = (columns: string, values: string) =>
      writeFile(
        table,
        [
          `concurrency,batch,inferences_per_s,avg_ms,instances${columns}`,
          `1,1,240,4.1,2${values}`,
          `1,8,500,15.9,2${values}`,
          `8,1,460,17.2,2${values}`,
          `16,1,560,28.4,2${values}`,
        ].join('\n'),
      );
    await rows(',max_batch,preferred,delay_us', ',8,4 8,100');
    const { code, stdout } = await callCli(['calibrate', table, '-o', profile]);
    expect(stdout).toMatch(/2 batch sizes timed alone/);
    expect(code).toBe(0);
    expect(loadProfile(profile).models[0]?.config).toMatchObject({
      name: 'pictures',
      max_batch_size: 8,
      instance_group: [{ count: 2 }],
      dynamic_batching: { preferred_batch_size: [4, 8], max_queue_delay_microseconds: 100 },
    });
    await rows('', '');
    const refused = await callCli(['calibrate', table]);
    expect(refused).toMatchObject({
      code: 2,
      stderr: expect.stringMatching(/does not say how batches were formed for .*--config/s),
    });
  });

  it('fits tables of one server together', async () => {
    const directory = await freshDirectory();
    const [header = '', ...rows] = gunzipSync(await readFile(fixture('tft-results.csv.gz')))
      .toString()
      .split('\n');
    const files = await Promise.all(
      ['offline', 'online'].map(async (scenario) => {
        const file = join(directory, `results_${scenario}.csv`);
        await writeFile(file, [header, ...rows.filter((row) => row.includes(`,${scenario},`))].join('\n'));
        return file;
      }),
    );
    const select = ['--select', 'gpu=t4', '--select', 'backend=pytorch', '--select', 'dataset=traffic'];
    const { code, stdout } = await callCli(['calibrate', ...files, '-c', fixture('tft.pbtxt'), ...select]);
    expect(code).toBe(0);
    expect(stdout).toMatch(/11 batch sizes timed alone and 3 rows of traffic/);
  });

  it('fits the levels asked for, of a table without offline rows', async () => {
    const { code, stdout } = await callCli([
      'calibrate',
      fixture('yolov7-rtx4090.csv'),
      '-c',
      fixture('yolov7.pbtxt'),
      '--fit',
      '8,16,32,64',
    ]);
    expect(code).toBe(0);
    expect(stdout.match(/fitted$/gm)).toHaveLength(4);
    const [, throughput, p50] = /median error (\S+) % in throughput, (\S+) % in p50/.exec(stdout) ?? [];
    expect(Number(throughput)).toBeLessThan(5);
    expect(Number(p50)).toBeLessThan(10);
  });

  it('fits the engine of a language model, and writes a profile of it', async () => {
    const directory = await freshDirectory();
    const [table, profile] = [join(directory, 'series.csv'), join(directory, 'engine.yaml')];
    const rows = ['4,60,8.1', '8,75,8.6', '16,105,9.6', '32,160,11.7', '64,270,15.8'];
    const written = [
      'concurrency,isl,osl,backend,ttft_ms,tpot_ms',
      ...rows.map((row) => row.replace(',', ',512,256,vllm,')),
    ];
    await writeFile(table, written.join('\n'));
    const { code, stdout } = await callCli(['calibrate', table, '-o', profile]);
    expect(code).toBe(0);
    expect(stdout).toMatch(/^512, 256, vllm: fitted to 3 rows\n {2}a step: \S+ ms \+ at least \S+ ms/);
    expect(stdout.match(/ fitted$/gm)).toHaveLength(3);
    expect(stdout).toMatch(/rows held out: median error \d\.\d % in TTFT, \d\.\d % in TPOT/);
    expect(loadProfile(profile).models[0]).toMatchObject({
      config: { name: 'engine', backend: 'vllm' },
      language: { answer_tokens: { mean: 256 }, engine: { max_model_len: 768 } },
    });

    const { grpcUrl } = await emulatorForTest({ profile: loadProfile(profile) });
    const client = connectGrpc(grpcUrl);
    expect(await client.ready().finally(() => client.close())).toBe(true);
    expect(await callCli(['calibrate', table, '--config', fixture('tft.pbtxt')])).toMatchObject({
      code: 2,
      stderr: expect.stringMatching(/no use for --config/),
    });
    expect(await callCli(['calibrate', table, '--fit', '5'])).toMatchObject({
      code: 2,
      stderr: expect.stringMatching(/no rows with 5 clients.*--fit from 4, 8, 16, 32, 64/s),
    });
  });

  it.each<[string, string[], RegExp]>([
    [
      'a table that is none',
      [fixture('tft.pbtxt'), '-c', fixture('tft.pbtxt')],
      /INPUT_INVALID.*no rows with a concurrency/,
    ],
    ['no file', ['/nowhere.csv', '-c', fixture('tft.pbtxt')], /INPUT_INVALID.*cannot read \/nowhere\.csv/],
    [
      'a set-up that is not there',
      [fixture('yolov7-rtx4090.csv'), '-c', fixture('yolov7.pbtxt'), '--select', 'gpu=h200'],
      /INPUT_INVALID.*no rows with gpu=h200/,
    ],
  ])('refuses %s', async (_, args, words) => {
    const { code, stderr } = await callCli(['calibrate', ...args]);
    expect(code).toBe(2);
    expect(stderr).toMatch(words);
  });
});
