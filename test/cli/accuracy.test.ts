import { readFileSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { callCli } from '../support/call-cli.ts';
import { emulatorForTest, smallProfile } from '../support/emulator.ts';
import { failuresIn, freshDirectory, recordsOf } from '../support/run-directory.ts';

/** A study of the original and one other setting, whose outputs a command judges. */
async function prepare() {
  const { grpcUrl } = await emulatorForTest({ profile: smallProfile() });
  const folder = await freshDirectory();
  const data = join(folder, 'data.json');
  await writeFile(data, JSON.stringify({ data: [{ IN: [1, 2, 3, 4] }, { IN: [5, 6, 7, 8] }] }));
  const space = join(folder, 'space.yaml');
  await writeFile(space, 'parameters: { precision: { path: parameters.precision, values: [fp16] } }');
  const output = join(folder, 'run');
  const study = ['tune', '-m', 'm', '-u', grpcUrl, '--space', space, '--sampler', 'grid', '--ui', 'lines'];
  const rest = ['--concurrency', '1:2', '--precision', '20', '-o', output];
  return { folder, data, output, args: [...study, ...rest] };
}

describe('tune --accuracy-command', () => {
  it('refuses a candidate that misses the limit, with the figure', { timeout: 120_000 }, async () => {
    const { folder, data, output, args } = await prepare();
    const seen = join(folder, 'seen');
    // The first candidate that is judged is the original.
    const command = `cat "$TRITUNE_OUTPUTS" >> ${seen}; if [ -e ${seen}2 ]; then echo top1 0.5; else echo top1 0.9; touch ${seen}2; fi`;
    const words = ['--accuracy-command', command, 'top1>=0.75', '--input-data', data];
    const outcome = await callCli([...args, ...words]);
    expect(outcome, outcome.stderr).toMatchObject({ code: 0 });
    expect(outcome.stdout).toContain('accuracy: top1 0.9');
    expect(await failuresIn(output)).toMatchObject([{ kind: 'inaccurate', reason: 'top1 0.5; required: top1>=0.75' }]);
    const applied = (await recordsOf(output)).flatMap((each) =>
      each.type === 'trial-applied' ? (each.accuracy ?? []) : [],
    );
    expect(applied[0]?.metric).toEqual({ name: 'top1', value: 0.9, required: 'top1>=0.75', holds: true });
    const { request, outputs } = JSON.parse(readFileSync(seen, 'utf8').split('\n')[1] ?? '');
    expect({ request, outputs }).toEqual({
      request: 1,
      outputs: { OUT: { datatype: 'FP32', shape: [1, 4], data: [0, 0, 0, 0] } },
    });
  });

  it('ends a study whose command fails, with what it printed', { timeout: 120_000 }, async () => {
    const { data, args } = await prepare();
    const words = ['--accuracy-command', 'echo no labels; exit 2', 'top1>=0.75', '--input-data', data];
    expect(await callCli([...args, ...words])).toMatchObject({
      code: 2,
      stderr: expect.stringMatching(/the accuracy command ended with code 2: no labels/),
    });
  });

  it.each([
    [['--accuracy-command', 'python top1.py'], /command/],
    [['--accuracy-command', 'python top1.py', 'top1'], /'top1' is not a limit/],
    [['--accuracy-command', 'python top1.py', 'top1>=1'], /cannot be used with made-up requests/],
    [['--atol', 'OTHER=1'], /model 'm' has no output 'OTHER'.*its outputs are OUT/s],
    [['--atol', 'OUT=1,OUT=2'], /names an output twice/],
    [['--atol', 'OUT=much'], /not a number/],
  ])('is refused: %j', async (words, reason) => {
    const { args } = await prepare();
    expect(await callCli([...args, ...words])).toMatchObject({ code: 2, stderr: expect.stringMatching(reason) });
  });
});
