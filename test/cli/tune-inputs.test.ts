import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { startEmulator } from '#emulator/start-emulator.ts';
import { callCli } from '../support/call-cli.ts';
import { emulatorForTest, smallProfile } from '../support/emulator.ts';
import { freshDirectory, recordsOf } from '../support/run-directory.ts';

const emulator = await startEmulator({ profile: smallProfile() });
afterAll(() => emulator.close());

const tune = (...more: string[]) =>
  callCli([
    'tune',
    '-m',
    'm',
    '-u',
    emulator.grpcUrl,
    '--concurrency',
    '1:1',
    '--max-trials',
    '1',
    '--precision',
    '20',
    // What is sent shows in the first measurements.
    '--time-budget',
    '4s',
    ...more,
  ]);
const step = (value: number) => ({ IN: [value, 2, 3, 4] });

/** The emulator answers with zeros. */
async function dataFile(expected: number): Promise<string> {
  const path = join(await freshDirectory(), 'data.json');
  const outputs = { OUT: [0, 0, 0, expected] };
  await writeFile(
    path,
    JSON.stringify({ data: [step(1), step(2), step(3)], validation_data: [outputs, outputs, outputs] }),
  );
  return path;
}

describe('tune with data of the user', { timeout: 180_000 }, () => {
  it('sends it, checks the replies, and keeps no header value', async () => {
    const output = await freshDirectory();
    const header = ['-H', 'Authorization: Bearer secret', '--request-parameter', 'priority:1:int'];
    const outcome = await tune('--input-data', await dataFile(0), '-b', '2', ...header, '-o', output);
    expect(outcome).toMatchObject({ code: 0, stderr: '' });
    const records = await recordsOf(output);
    expect(records.find(({ type }) => type === 'study-started')).toMatchObject({
      spec: { server: { header: ['authorization'] } },
    });
    const measured = records.flatMap((each) => (each.type === 'trial-measured' ? [each.measurement] : []));
    expect(measured.map(({ failures, errorRate }) => [failures, errorRate])).toEqual(measured.map(() => [[], 0]));
    expect(measured[0]?.server?.batches.map(({ size }) => size)).toEqual([2]);
    for (const file of ['journal.jsonl', 'summary.json', 'report.html']) {
      expect(await readFile(join(output, file), 'utf8')).not.toContain('secret');
    }
    expect(outcome.stdout).not.toContain('secret');
    expect(await callCli(['tune', '--resume', output])).toMatchObject({
      code: 2,
      stderr: expect.stringMatching(/^tritune: USAGE: .*started with authorization, but resumed with no header.*\n$/),
    });
  });

  it('counts replies that are not as expected', async () => {
    const output = await freshDirectory();
    const outcome = await tune('--input-data', await dataFile(0.5), '--output-tolerance', '0.1', '-o', output);
    expect(outcome.code).not.toBe(0);
    const measured = (await recordsOf(output)).find((record) => record.type === 'trial-measured');
    expect(measured).toMatchObject({
      measurement: {
        errorRate: 1,
        failures: [
          {
            kind: 'mismatch',
            firstMessage: "output 'OUT' differs in 1 of 4 values: value 3 is 0 where 0.5 was expected",
          },
        ],
      },
    });
  });

  it('says what was chosen for the user, before and in a run', async () => {
    const input = [
      { name: 'IN', data_type: 'TYPE_FP32', dims: [4] },
      { name: 'OPEN', data_type: 'TYPE_INT32', dims: [-1, 2] },
      { name: 'WIDE', data_type: 'TYPE_FP32', dims: [-1] },
      { name: 'MAYBE', data_type: 'TYPE_STRING', dims: [1], optional: true },
    ];
    const open = await emulatorForTest({ profile: smallProfile({ config: { input } }) });
    const args = [
      'tune',
      '-m',
      'm',
      '-u',
      open.grpcUrl,
      '--concurrency',
      '1:1',
      '--max-trials',
      '1',
      '--precision',
      '20',
    ];
    const assumed = /input 'WIDE': shape \[1\] for \[-1\].*\ninput 'MAYBE': left out: it is optional.*\n/;
    const sized = [...args, '--shape', 'OPEN:3,2'];
    expect(await callCli([...sized, '--dry-run'])).toMatchObject({ code: 0, stdout: expect.stringMatching(assumed) });
    const outcome = await callCli([...sized, '-o', await freshDirectory()]);
    expect(outcome).toMatchObject({ code: 0, stderr: expect.stringMatching(assumed) });
    const shapes = ['--shape', 'OPEN:3,2', '--shape', 'WIDE:8', '--shape', 'MAYBE:1'];
    const told = await callCli([...args, '--dry-run', ...shapes]);
    expect(told).toMatchObject({ code: 0, stdout: expect.not.stringContaining('OPEN') });
  });

  it.each([
    ['of pictures', { name: 'IMAGE', data_type: 'TYPE_FP32', dims: [3, -1, -1] }, {}, '--shape IMAGE:3,224,224,'],
    ['of tokens', { name: 'input_ids', data_type: 'TYPE_INT64', dims: [-1] }, {}, '--shape input_ids:128,'],
    [
      'of the warm-up',
      { name: 'SOUND', data_type: 'TYPE_FP32', dims: [-1] },
      {
        model_warmup: [
          {
            name: 'w',
            batch_size: 1,
            inputs: { SOUND: { data_type: 'TYPE_FP32', dims: ['16000'], zero_data: true } },
          },
        ],
      },
      '--shape SOUND:16000,',
    ],
    ['of nothing it knows', { name: 'ROWS', data_type: 'TYPE_FP32', dims: [-1] }, {}, '--shape NAME:D1,D2,'],
  ])('asks for sizes instead of the smallest, and proposes those %s', async (_, input, more, proposed) => {
    const { grpcUrl } = await emulatorForTest({ profile: smallProfile({ config: { input: [input], ...more } }) });
    for (const end of [['--dry-run'], ['-o', await freshDirectory()]]) {
      const { code, stderr } = await callCli(['tune', '-m', 'm', '-u', grpcUrl, '--max-trials', '1', ...end]);
      expect(code, stderr).toBe(2);
      expect(stderr).toContain(`INPUT_INVALID: 'm' takes inputs of any size, and no size is stated: '${input.name}'`);
      expect(stderr).toContain(proposed);
    }
  });

  it('takes one text where any number of texts fits', async () => {
    const input = [{ name: 'TEXT', data_type: 'TYPE_STRING', dims: [-1] }];
    const { grpcUrl } = await emulatorForTest({ profile: smallProfile({ config: { input } }) });
    expect(await callCli(['tune', '-m', 'm', '-u', grpcUrl, '--dry-run'])).toMatchObject({ code: 0 });
  });

  it('says in each document what was made up for it', async () => {
    const input = [
      { name: 'IMAGE', data_type: 'TYPE_FP32', dims: [3, -1, -1] },
      { name: 'SCALE', data_type: 'TYPE_FP32', dims: [-1] },
      { name: 'token_type_ids', data_type: 'TYPE_INT32', dims: [4] },
    ];
    const { grpcUrl } = await emulatorForTest({ profile: smallProfile({ config: { input } }) });
    const assumptions = [
      "input 'IMAGE': shape [3, 1, 1] for [3, -1, -1]; --shape changes that",
      "input 'token_type_ids': values 0 to 1, by its name; --integers changes that",
    ];
    const output = await freshDirectory();
    const args = ['tune', '-m', 'm', '-u', grpcUrl, '--concurrency', '1:1', '--max-trials', '1', '--precision', '20'];
    const { stdout } = await callCli([...args, '--shape', 'SCALE:2', '--time-budget', '4s', '-o', output]);
    for (const line of assumptions) expect(stdout).toContain(`assumed    ${line}\n`);
    const [started] = await recordsOf(output);
    expect(started).toMatchObject({ assumptions });
    expect(JSON.parse(await readFile(join(output, 'summary.json'), 'utf8'))).toMatchObject({ assumptions });
    expect(await readFile(join(output, 'report.html'), 'utf8')).toContain(
      'Assumed, and so measured: input &#39;IMAGE&#39;: shape [3, 1, 1]',
    );
    const compared = await callCli(['compare', output, output]);
    expect(compared.stdout).toContain(`assumed on both sides: ${assumptions[0]}`);
  });

  it('says in the documents of profile and capacity what was made up for them', async () => {
    const input = [{ name: 'IMAGE', data_type: 'TYPE_FP32', dims: [3, -1, -1] }];
    const { grpcUrl } = await emulatorForTest({ profile: smallProfile({ config: { input } }) });
    const assumptions = ["input 'IMAGE': shape [3, 1, 1] for [3, -1, -1]; --shape changes that"];
    const json = join(await freshDirectory(), 'profile.json');
    const profile = ['profile', '-m', 'm', '-u', grpcUrl, '--request-count', '5', '--json', json];
    expect(await callCli(profile)).toMatchObject({ code: 0 });
    expect(JSON.parse(await readFile(json, 'utf8'))).toMatchObject({ assumptions });
    const output = await freshDirectory();
    const capacity = ['capacity', '-m', 'm', '-u', grpcUrl, '-l', '500', '--time-budget', '3s', '--precision', '90'];
    await callCli([...capacity, '-o', output]);
    expect(JSON.parse(await readFile(join(output, 'capacity.json'), 'utf8'))).toMatchObject({ assumptions });
    const compared = await callCli(['compare', json, json]);
    expect(compared.stdout).toContain(`assumed on both sides: ${assumptions[0]}`);
  });

  it('says what is wrong with it before anything is sent', async () => {
    const path = join(await freshDirectory(), 'data.json');
    await writeFile(path, JSON.stringify({ data: [{ IN: [1, 2, 3, '4'] }] }));
    expect(await tune('--input-data', path, '-o', await freshDirectory())).toMatchObject({
      code: 2,
      stderr: expect.stringMatching(
        /^tritune: INPUT_INVALID: .*data\.json, stream 0, step 0, input 'IN': value 3 is "4".*\n$/,
      ),
    });
    expect(await tune('--input-data', path, '--dry-run')).toMatchObject({ code: 2 });
    expect(await tune('--input-data', 'zero', '--input-data', path, '-o', await freshDirectory())).toMatchObject({
      code: 2,
    });
  });
});
