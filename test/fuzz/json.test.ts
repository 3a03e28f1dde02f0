import { describe, expect, it } from 'vitest';
import { traceLines } from '#headless/trace-lines.ts';
import { batchRequests } from '#loadgen/input-data/batch-requests.ts';
import { jsonStreams } from '#loadgen/input-data/json-data.ts';
import { modelTensors } from '#loadgen/input-data/tensor-spec.ts';
import type { RequestSet } from '#loadgen/types.ts';
import { summarizeTraces } from '#profiler/trace-summary.ts';
import { readGateDocument } from '#report/gate/readings.ts';
import { readTraces } from '#triton/control/trace-file.ts';
import { checkRecording } from '../../lab/recording/recording.ts';
import { modelOf } from '../loadgen/input-files.ts';
import {
  FUZZ_TIMEOUT_MS,
  fuzz,
  fuzzAsync,
  hostileJson,
  inPieces,
  nested,
  refusedOr,
  refusedOrAsync,
} from '../support/fuzz.ts';

describe('input data that is bad', () => {
  const { metadata, config } = modelOf({
    maxBatchSize: 4,
    inputs: { A: ['FP32', [2, -1]], B: ['BYTES', [1], { optional: true }], C: ['INT64', [2]], D: ['BOOL', [-1, -1]] },
    outputs: { O: ['FP16', [-1]] },
  });
  const tensors = modelTensors(metadata, config);

  /** All requests, and that each tensor has as many bytes as its shape says. */
  const read = (text: string): void => {
    const streams = refusedOr(() => jsonStreams('f.json', text, tensors, {}), 'INPUT_INVALID');
    if (!streams) return;
    const set = refusedOr<RequestSet>(
      () =>
        batchRequests(
          'm',
          streams.map((samples) => ({ samples, steps: samples.length })),
          true,
          { batch: 2 },
        ),
      'INPUT_INVALID', // samples that do not go together
    );
    for (const { inputs } of set?.requests ?? []) {
      for (const { name, shape, raw } of inputs) {
        const elements = shape.reduce((product, size) => product * size, 1);
        if (name === 'A') expect(raw.length).toBe(4 * elements);
      }
    }
  };

  it('of other shapes is too', { timeout: FUZZ_TIMEOUT_MS }, () => {
    const value = hostileJson(['A', 'B', 'C', 'D', 'content', 'shape', 'b64']);
    fuzz(value, (json) => read(`{"data":[${json},{"A":${json},"C":[1,2],"D":[[${json}]]}]}`));
  });

  it.each([
    ['nested deeper than a stack', `{"data":[{"A":${nested('[', '1', ']')}}]}`],
    ['nested without an end', `{"data":${'['.repeat(1_000_000)}`],
    [
      'of a shape beyond any memory',
      '{"data":[{"A":{"content":[1],"shape":[2147483648,2147483648]},"C":[1,2],"D":[[1]]}]}',
    ],
    ['with a long integer where none belongs', '{"data":[{"A":[{"x":9007199254740993}],"C":[1,2],"D":[[1]]}]}'],
    ['of a million backslashes', `{"data":"${'\\'.repeat(1_000_001)}"}`],
    ['of half a million quotes', `{"data":${'"a" '.repeat(500_000)}}`],
  ])('%s is refused', (_, text) => {
    expect(() => jsonStreams('f', text, tensors, {})).toThrow(expect.objectContaining({ code: 'INPUT_INVALID' }));
  });

  it('may have lists of any length', () => {
    const list = `[${'1,'.repeat(600_000)}1]`;
    read(`{"data":[{"A":${list},"C":[1,2],"D":[${list}]}]}`);
  });
});

describe('a trace file that is bad', () => {
  async function* chunksOf(bytes: Buffer, sizes: readonly number[]): AsyncGenerator<Uint8Array> {
    yield* inPieces(bytes, sizes);
  }

  const read = async (bytes: Buffer, sizes: readonly number[]): Promise<void> => {
    const traces = await refusedOrAsync(
      () => readTraces([{ name: 'f', chunks: chunksOf(bytes, sizes) }]),
      ...(['INPUT_INVALID', 'UNSUPPORTED'] as const),
    );
    if (!traces) return;
    const summary = refusedOr(() => summarizeTraces(traces), 'INPUT_INVALID');
    if (summary) expect(traceLines(summary, true).join('\n')).not.toMatch(/undefined|\[object/);
  };

  it('of other shapes is too', { timeout: FUZZ_TIMEOUT_MS }, async () => {
    const keys = ['id', 'model_name', 'parent_id', 'timestamps', 'name', 'ns', 'traceId', 'request_id'];
    await fuzzAsync(hostileJson(keys), (json) => read(Buffer.from(`[${json},{"id":1,"timestamps":${json}}]`), [4096]));
  });

  it.each([
    ['nested deeper than a stack', `[{"id":1,"x":${nested('[', '', ']')}}]`],
    ['without an end', `[{"id":${'['.repeat(1_000_000)}`],
    ['of a string without an end', `[{"id":"${'a\\"'.repeat(1_000_000)}`],
    ['of a thousand parts of parts', chainOfParts(1000)],
  ])('%s ends well', async (_, text) => {
    await read(Buffer.from(text), [65_536]);
  });

  it('holds no object that is larger than 64 MiB', async () => {
    async function* endless(): AsyncGenerator<Uint8Array> {
      yield Buffer.from('[{"id":1,"x":"');
      for (let chunk = 0; chunk < 1000; chunk++) yield Buffer.alloc(2 ** 20, 'x');
    }
    await expect(readTraces([{ name: 'f', chunks: endless() }])).rejects.toThrow(/over 67108864 bytes/);
  });
});

/** Each request is a part of the one before. */
function chainOfParts(count: number): string {
  const parts = Array.from({ length: count }, (_, id) => ({
    id,
    model_name: 'm',
    parent_id: id === 0 ? null : id - 1,
  }));
  return JSON.stringify(parts);
}

describe('a document for the gate that is bad', () => {
  it('of other shapes is too', { timeout: FUZZ_TIMEOUT_MS }, () => {
    const keys = ['schemaVersion', 'model', 'levels', 'best', 'budget', 'throughput', 'value', 'server', 'emulated'];
    fuzz(hostileJson(keys), (json) => void refusedOr(() => readGateDocument(json, 'f'), 'INPUT_INVALID'));
    fuzz(hostileJson(keys), (json) => {
      const parsed: unknown = JSON.parse(json);
      refusedOr(() => checkRecording(parsed, 'f'), 'INPUT_INVALID');
    });
    expect(() => readGateDocument(nested('[', '', ']'), 'f')).toThrow(
      expect.objectContaining({ code: 'INPUT_INVALID' }),
    );
  });
});
