import { createReadStream } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { isTrituneError } from '#base/errors.ts';
import { type ReadTraces, readTraces } from '#triton/control/trace-file.ts';

/** Written by Triton 2.51 with an ensemble, before it had closed the file. */
const real = join(import.meta.dirname, '../fixtures/trace/triton-2.51.trace');

async function* cut(bytes: Uint8Array, size: number): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size);
}

const read = (text: string | Uint8Array, size = 7): Promise<ReadTraces> =>
  readTraces([{ name: 'f', chunks: cut(Buffer.from(text), size) }]);

const fault = (text: string): Promise<unknown> =>
  read(text, 4096).then(
    () => 'read',
    (error: unknown) => (isTrituneError(error) ? `${error.code}: ${error.message}` : error),
  );

const begin = (id: number, more: object = {}) => ({ id, model_name: 'm', model_version: 1, ...more });
const stamp = (id: number, name: string, ns: number) => ({ id, timestamps: [{ name, ns }] });

describe('reading a trace file', () => {
  it('reads what a real server wrote', async () => {
    const { traces, nameless, unfinished } = await readTraces([{ name: 'f', chunks: createReadStream(real) }]);
    expect({ count: traces.length, nameless, unfinished }).toEqual({ count: 22, nameless: 0, unfinished: ['f'] });
    const part = traces.find(({ id }) => id === 33);
    expect(part).toMatchObject({ model: 'sleeper', parentId: 25, version: 1, requestId: '' });
    expect(part?.momentsNs.get('COMPUTE_INPUT_END')).toBe(16_654_442_019_557);
  });

  it('joins what is of one trace, in whatever order and over several files', async () => {
    const one = JSON.stringify([stamp(1, 'REQUEST_END', 9), begin(1, { request_id: 'r"}],[', parent_id: 2 })]);
    const other = JSON.stringify([
      stamp(1, 'REQUEST_START', 4),
      stamp(1, 'REQUEST_START', 3),
      stamp(7, 'REQUEST_END', 1),
    ]);
    const outcome = await readTraces(
      [one, other].map((text, i) => ({ name: `${i}`, chunks: cut(Buffer.from(text), 3) })),
    );
    expect(outcome).toMatchObject({ nameless: 1, unfinished: [] });
    expect(outcome.traces).toEqual([
      {
        id: 1,
        parentId: 2,
        model: 'm',
        version: 1,
        requestId: 'r"}],[',
        momentsNs: new Map([
          ['REQUEST_END', 9],
          ['REQUEST_START', 3],
        ]),
        inputs: new Map(),
      },
    ]);
  });

  it('reads the names and the form of older servers, level MAX included', async () => {
    const file = join(import.meta.dirname, '../fixtures/trace/older-max.trace');
    const outcome = await readTraces([{ name: 'f', chunks: createReadStream(file) }]);
    // A request that came no further than the protocol has neither model nor id.
    expect(outcome).toMatchObject({ nameless: 1, timeless: 0, unknownMoments: [], unfinished: [] });
    const [http, grpc] = outcome.traces;
    expect(http).toMatchObject({ id: 1, model: 'simple', version: -1 });
    expect([...(http?.momentsNs.keys() ?? [])].join(' ')).toBe(
      'HTTP_RECV_START HTTP_RECV_END REQUEST_START QUEUE_START COMPUTE_START COMPUTE_INPUT_END COMPUTE_OUTPUT_START COMPUTE_END REQUEST_END HTTP_SEND_START HTTP_SEND_END',
    );
    expect([...(grpc?.momentsNs.keys() ?? [])]).toContain('GRPC_WAITREAD_END');
  });

  it('tells traces of tensors alone from those with times, as a real server writes both', async () => {
    const file = join(import.meta.dirname, '../fixtures/trace/triton-2.51-tensors.trace');
    const outcome = await readTraces([{ name: 'f', chunks: createReadStream(file) }]);
    expect(outcome).toMatchObject({ nameless: 0, timeless: 1 });
    expect(outcome.traces.map(({ id }) => id)).toEqual([2]);
    expect(outcome.traces.map(({ inputs }) => [...inputs])).toEqual([[['INPUT', 'FP32 [1,8]']]]);
  });

  it('takes tensors that name the model again, before and after its beginning', async () => {
    const tensor = { ...begin(1), activity: 'TENSOR_BACKEND_OUTPUT', tensor: {} };
    const text = JSON.stringify([tensor, begin(1), stamp(1, 'REQUEST_START', 1), tensor]);
    expect((await read(text)).traces).toHaveLength(1);
    expect(await fault(JSON.stringify([begin(1), tensor, begin(1)]))).toMatch(/begins twice/);
  });

  it('names what it does not know', async () => {
    const text = JSON.stringify([begin(1), stamp(1, 'tea time', 1), stamp(1, 'REQUEST_START', 2)]);
    expect(await read(text)).toMatchObject({ unknownMoments: ['tea time'] });
  });

  it('passes over tensors and over what it does not know', async () => {
    const tensor = { id: 1, activity: 'TENSOR_QUEUE_INPUT', tensor: { name: 'IN', data: '1,2' } };
    const { traces } = await read(JSON.stringify([begin(1), tensor, stamp(1, '__proto__', 1), { id: 1, new: [{}] }]));
    expect(traces.map(({ momentsNs }) => momentsNs.size)).toEqual([0]);
  });

  it.each([
    ['', /INPUT_INVALID: .*empty/],
    ['hello', /INPUT_INVALID: .*begin with \[/],
    ['[1]', /an object should follow \[/],
    ['[{"id":1}{"id":2}]', /at fragment 1: , or \]/],
    ['[{"id":1},]', /at fragment 1: an object should follow a comma/],
    ['[] x', /nothing should follow \]/],
    ['[{"id":]}]', /at fragment 1: /],
    ['[{"no":1}]', /at fragment 1: id/],
    ['[{"id":-1}]', /at fragment 1: id/],
    [JSON.stringify([begin(1, { model_name: 5 })]), /model_name/],
    [JSON.stringify([stamp(1, 'X', -4)]), /at fragment 1/],
    [JSON.stringify([begin(1), begin(1)]), /trace 1 begins twice/],
    ['{"resourceSpans":[{"scopeSpans":[]}]}', /UNSUPPORTED: .*OpenTelemetry/],
    ['[{"traceId":"5982fe77008310cc80f1da5e10147517","id":"bd7a977555f6b982"}]', /UNSUPPORTED: .*OpenTelemetry/],
  ])('says what is wrong with %j', async (text, words) => {
    expect(await fault(text)).toMatch(words);
  });

  it('gives back any traces that were written as Triton writes them, however the bytes come', async () => {
    const moments = fc.constantFrom('REQUEST_START', 'QUEUE_START', 'COMPUTE_START', 'COMPUTE_END', 'REQUEST_END');
    const trace = fc.record({
      model: fc.string(),
      requestId: fc.string({ minLength: 1, unit: 'binary' }),
      momentsNs: fc.dictionary(moments, fc.nat(), { noNullPrototype: true }),
    });
    await fc.assert(
      fc.asyncProperty(
        fc.array(trace),
        fc.integer({ min: 1, max: 50 }),
        fc.boolean(),
        fc.nat(),
        async (list, size, ends, seed) => {
          const fragments = list.flatMap(({ model, requestId, momentsNs }, id) => [
            { id, model_name: model, model_version: 1, request_id: requestId },
            ...Object.entries(momentsNs).map(([name, ns]) => stamp(id, name, ns)),
          ]);
          const shuffled = fragments
            .map((each, i) => ({ each, key: (i * 7919 + seed) % 1009 }))
            .sort((a, b) => a.key - b.key);
          const text = JSON.stringify(shuffled.map(({ each }) => each));
          const outcome = await read(ends ? text : text.slice(0, -1), size);
          expect(outcome.unfinished).toEqual(ends ? [] : ['f']);
          const found = [...outcome.traces].sort((a, b) => a.id - b.id);
          expect(found.map(({ model, momentsNs }) => ({ model, momentsNs: Object.fromEntries(momentsNs) }))).toEqual(
            list.map(({ model, momentsNs }) => ({ model, momentsNs: { ...momentsNs } })),
          );
        },
      ),
      { numRuns: 60 },
    );
  });

  it('answers damaged files with a reading or a coded error, and nothing else', async () => {
    const whole = Buffer.from(JSON.stringify([begin(1), stamp(1, 'REQUEST_START', 3), begin(2, { parent_id: 1 })]));
    const damage = fc.array(fc.tuple(fc.nat(whole.length - 1), fc.integer({ min: 0, max: 255 })), {
      minLength: 1,
      maxLength: 4,
    });
    await fc.assert(
      fc.asyncProperty(damage, fc.nat(whole.length), async (changes, length) => {
        const bytes = Buffer.from(whole);
        for (const [at, byte] of changes) bytes[at] = byte;
        const outcome = await read(bytes.subarray(0, length)).catch((error: unknown) => error);
        if (outcome instanceof Error) expect(isTrituneError(outcome, 'INPUT_INVALID', 'UNSUPPORTED')).toBe(true);
        else expect((outcome as ReadTraces).traces.length).toBeLessThanOrEqual(2);
      }),
      { numRuns: 300 },
    );
  });
});
