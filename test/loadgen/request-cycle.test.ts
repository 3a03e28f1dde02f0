import { describe, expect, it } from 'vitest';
import { requestCycle } from '#loadgen/request-turns.ts';
import type { InferRequest, PreparedRequest, Transport } from '#loadgen/types.ts';

describe('requestCycle', () => {
  it.each([1, 2, 5])('encodes each of %i requests once and gives them in turn, over and over', (count) => {
    const encoded: InferRequest[] = [];
    const transport: Transport = {
      prepare: (request) => {
        encoded.push(request);
        return { request };
      },
      send: () => undefined,
      close: async () => undefined,
    };
    const model = { model: 'm', version: '', batch: 1 };
    const requests: InferRequest[] = Array.from({ length: count }, () => ({ ...model, inputs: [] }));
    const next = requestCycle(transport, { ...model, requests });
    const given: PreparedRequest[] = Array.from({ length: 3 * count }, next);
    expect(given.map((prepared) => requests.indexOf(prepared.request))).toEqual(
      Array.from({ length: 3 * count }, (_, index) => index % count),
    );
    expect(new Set(given).size).toBe(count);
    expect(encoded).toEqual(requests);
  });
});
