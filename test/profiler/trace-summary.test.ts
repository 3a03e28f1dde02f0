import { describe, expect, it } from 'vitest';
import { summarizeTraces, type TraceSummary } from '#profiler/trace-summary.ts';
import type { Trace } from '#triton/control/trace-file.ts';

const trace = (id: number, momentsNs: Record<string, number>, more: Partial<Trace> = {}): Trace => ({
  id,
  parentId: null,
  model: 'm',
  version: 1,
  requestId: '',
  momentsNs: new Map(Object.entries(momentsNs)),
  inputs: new Map(),
  ...more,
});
const summaryOf = (traces: readonly Trace[]): TraceSummary =>
  summarizeTraces({ traces, nameless: 0, timeless: 0, unknownMoments: [], unfinished: [] });
const computed = (startUs: number, endUs: number) => ({ COMPUTE_START: startUs * 1e3, COMPUTE_END: endUs * 1e3 });

describe('the summary of traces', () => {
  it('splits a request by its moments, the wait before a gRPC call left out', () => {
    const whole = {
      GRPC_WAITREAD_START: 1,
      GRPC_WAITREAD_END: 100_000,
      REQUEST_START: 110_000,
      QUEUE_START: 111_000,
      COMPUTE_START: 131_000,
      COMPUTE_INPUT_END: 132_000,
      COMPUTE_OUTPUT_START: 140_000,
      COMPUTE_END: 142_000,
      REQUEST_END: 150_000,
      GRPC_SEND_START: 151_000,
      GRPC_SEND_END: 160_000,
    };
    const [request] = summaryOf([trace(1, whole)]).requests;
    expect(request).toMatchObject({
      kind: 'grpc',
      startUs: 0,
      spansUs: {
        total: 60,
        request: 40,
        queue: 20,
        compute: 11,
        computeInput: 1,
        computeInfer: 8,
        computeOutput: 2,
        send: 9,
        requestOverhead: 9,
        overhead: 11,
      },
    });
  });

  it('gives averages and percentiles of each kind, and no figure where there is none', () => {
    const traces = [1, 2, 3, 4].map((id) => trace(id, { HTTP_RECV_START: 0, HTTP_SEND_END: id * 1000 }));
    const backwards = trace(5, { HTTP_RECV_START: 9, HTTP_SEND_END: 8 });
    const { groups } = summaryOf([...traces, backwards, trace(6, {})]);
    expect(groups.map(({ kind, requests }) => [kind, requests])).toEqual(
      expect.arrayContaining([
        ['http', 5],
        ['in-process', 1],
      ]),
    );
    const http = groups.find(({ kind }) => kind === 'http');
    expect(http?.spans).toEqual({ total: expect.objectContaining({ count: 4, avgUs: 2.5, maxUs: 4 }) });
    expect(http?.spans.total?.p50Us).toBeCloseTo(2.5, 9);
  });

  it('puts the models of an ensemble below the request that they are part of', () => {
    const { requests, groups } = summaryOf([
      trace(3, { REQUEST_START: 30 }, { model: 'b', parentId: 1 }),
      trace(4, { REQUEST_START: 25 }, { model: 'c', parentId: 2 }),
      trace(2, { REQUEST_START: 20 }, { model: 'inner', parentId: 1 }),
      trace(9, { HTTP_RECV_START: 15 }),
      trace(1, { GRPC_WAITREAD_START: 1, GRPC_WAITREAD_END: 10 }, { model: 'chain' }),
      trace(8, { REQUEST_START: 5 }, { model: 'lost', parentId: 77 }),
    ]);
    expect(requests.map(({ id, kind, models }) => [id, kind, models.join('>')])).toEqual([
      [8, 'part of another', 'lost'],
      [1, 'grpc', 'chain'],
      [2, 'grpc', 'chain>inner'],
      [4, 'grpc', 'chain>inner>c'],
      [3, 'grpc', 'chain>b'],
      [9, 'http', 'm'],
    ]);
    expect(groups.map(({ models }) => models.length)).toEqual([1, 1, 2, 3, 2, 1]);
  });

  it('sees which requests were one batch', () => {
    const traces = [trace(1, computed(1, 5)), trace(2, computed(1, 5)), trace(3, computed(5, 9)), trace(4, {})];
    expect(summaryOf(traces).executions).toEqual([{ model: 'm', version: 1, executions: 2, requests: 3, largest: 2 }]);
  });

  it.each([
    ['themselves', [trace(1, {}, { parentId: 2 }), trace(2, {}, { parentId: 1 })]],
    ['64 deep', Array.from({ length: 70 }, (_, id) => trace(id, {}, { parentId: id === 0 ? null : id - 1 }))],
  ])('refuses requests that are parts of %s', (text, traces) => {
    const refused = expect.objectContaining({ code: 'INPUT_INVALID', message: expect.stringContaining(text) });
    expect(() => summaryOf(traces)).toThrow(refused);
  });

  it('counts the shapes of each input, the most frequent first', () => {
    const sent = (id: number, shape: string) => trace(id, { REQUEST_START: id }, { inputs: new Map([['X', shape]]) });
    const { inputs } = summaryOf([sent(1, 'FP32 [1,3]'), sent(2, 'FP32 [1,4]'), sent(3, 'FP32 [1,4]')]);
    const shapes = [
      { shape: 'FP32 [1,4]', requests: 2 },
      { shape: 'FP32 [1,3]', requests: 1 },
    ];
    expect(inputs).toEqual([{ model: 'm', input: 'X', shapes }]);
  });
});
