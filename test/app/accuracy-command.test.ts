import { describe, expect, it } from 'vitest';
import { collectOutputs, parseAccuracyCommand, runAccuracyCommand } from '#app/traffic/accuracy-command.ts';
import { encodeTexts } from '#loadgen/input-data/text-elements.ts';
import { freshDirectory } from '../support/run-directory.ts';

const never = new AbortController().signal;
const raw = (values: ArrayBufferView): Uint8Array => new Uint8Array(values.buffer);

async function run(command: string, limit = 'top1>=0.75') {
  const outputs = collectOutputs();
  outputs.add(0, [{ name: 'Y', datatype: 'FP32', raw: raw(new Float32Array([0.5, 2])) }]);
  return runAccuracyCommand(parseAccuracyCommand([command, limit]), outputs, await freshDirectory(), never);
}

describe('the command of a task metric', () => {
  it('reads outputs as lines of JSON, as Python writes numbers', () => {
    const { add, read } = collectOutputs();
    add(0, [
      { name: 'Y', datatype: 'FP32', shape: [1, 4], raw: raw(new Float32Array([0.5, Number.NaN, -Infinity, 3])) },
      { name: 'B', datatype: 'BOOL', raw: new Uint8Array([0, 1]) },
    ]);
    add(1, [
      { name: 'I', datatype: 'INT64', shape: [1], raw: raw(new BigInt64Array([2n ** 60n + 1n])) },
      { name: 'T', datatype: 'BYTES', raw: encodeTexts(['cat', 'naïve "dog"']) },
    ]);
    expect(read().split('\n')).toEqual([
      '{"request":0,"outputs":{"Y":{"datatype":"FP32","shape":[1,4],"data":[0.5,NaN,-Infinity,3]},"B":{"datatype":"BOOL","data":[false,true]}}}',
      '{"request":1,"outputs":{"I":{"datatype":"INT64","shape":[1],"data":[1152921504606846977]},"T":{"datatype":"BYTES","data":["cat","naïve \\"dog\\""]}}}',
      '',
    ]);
  });

  it('prints it by its name, or alone in the last line', async () => {
    expect(await run('echo top1 0.8')).toEqual({ name: 'top1', value: 0.8, required: 'top1>=0.75', holds: true });
    expect(await run('echo top1=0.7; echo done')).toMatchObject({ value: 0.7, holds: false });
    expect(await run('echo "Top1: 7.5e-1"')).toMatchObject({ value: 0.75, holds: true });
    expect(await run('grep -c 0.5 "$TRITUNE_OUTPUTS"', 'lines < 2')).toMatchObject({ value: 1, holds: true });
    expect(await run('echo 4', 'mae<=3%')).toMatchObject({ required: 'mae<=0.03', holds: false });
  });

  it('may fail, or print none', async () => {
    await expect(run('echo no labels >&2; exit 3')).rejects.toMatchObject({
      code: 'USAGE',
      message: 'the accuracy command ended with code 3: no labels',
      hint: expect.stringContaining('command.log'),
    });
    await expect(run('echo 0.9 of 1')).rejects.toMatchObject({
      message: "the accuracy command printed no value of 'top1', but: 0.9 of 1",
    });
  });

  it.each([
    [['x'], 'not a limit'],
    [['', 'top1>=1'], 'no command'],
    [['x', 'top1=>1'], 'not a limit'],
    [['x', 'top1>=much'], 'not a limit'],
  ])('is refused without a limit: %j', (words, reason) => {
    expect(() => parseAccuracyCommand(words)).toThrow(new RegExp(reason));
  });
});
