import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { prepareInputs, readInputs } from '#loadgen/inputs.ts';
import { replyCheck } from '#loadgen/reply-check.ts';
import { openTransport } from '#loadgen/transports/open.ts';
import type { InferRequest, SendOutcome } from '#loadgen/types.ts';
import { connectGrpc } from '#triton/control/connect.ts';
import { freshDirectory } from '../support/run-directory.ts';
import { sendMany } from '../support/transport-suite.ts';

const { grpcUrl, httpUrl } = inject('realServer');
const model = 'every_type';
const client = connectGrpc(grpcUrl);
beforeAll(() => client.load(model));
afterAll(() => client.close());

/** Four values of each type, its least and greatest among them. */
const values: Readonly<Record<string, string>> = {
  BOOL: '[true, false, 1, 0]',
  UINT8: '[0, 255, 3, 4]',
  UINT16: '[0, 65535, 1, 2]',
  UINT32: '[0, 4294967295, 1, 2]',
  UINT64: '[18446744073709551615, 0, 9007199254740993, 2]',
  INT8: '[-128, 127, 0, 1]',
  INT16: '[-32768, 32767, 0, 1]',
  INT32: '[-2147483648, 2147483647, 0, 1]',
  INT64: '[-9223372036854775808, 9223372036854775807, 9007199254740993, 1]',
  FP16: '[1, -0.5, 65504, NaN]',
  BF16: '[1, -0.5, 1e38, NaN]',
  FP32: '[1, 0.1, Infinity, NaN]',
  FP64: '[1, 0.1, -Infinity, 1e300]',
  BYTES: '["", "añ", "x y", "日本"]',
};

describe.each(['grpc', 'http'] as const)('a real Triton over %s', (protocol) => {
  const outcomesOf = async (requests: readonly InferRequest[], tolerance: number | null): Promise<SendOutcome[]> => {
    const check = tolerance === null ? undefined : replyCheck(tolerance);
    const headers = [{ name: 'x-from', value: 'test' }];
    const url = protocol === 'grpc' ? grpcUrl : httpUrl;
    const transport = openTransport(protocol, { url, timeoutMs: 10_000, check, headers });
    const outcomes: SendOutcome[] = [];
    for (const request of requests) outcomes.push(...(await sendMany(transport, request)));
    await transport.close();
    return outcomes;
  };

  it.each(Object.entries(values))('takes %s from a file, and gives it back', async (type, list) => {
    const file = join(await freshDirectory(), 'data.json');
    const forms = [list, `{"content": ${list}, "shape": [2, 2]}`, `[[${list.slice(1, -1)}]]`];
    const steps = forms.map((form) => `{"${type}": ${form}}`);
    const expected = forms.map(() => `{"${type}_BACK": ${list}}`);
    await writeFile(file, `{"data": [${steps.join()}], "validation_data": [${expected.join()}]}`);
    const [metadata, config] = [await client.modelMetadata(model), await client.modelConfig(model)];
    const parameters = [
      { name: 'urgent', type: 'bool', value: true },
      { name: 'count', type: 'int', value: -5 },
      { name: 'share', type: 'double', value: 0.5 },
      { name: 'who', type: 'string', value: 'é' },
    ] as const;
    for (const batch of [1, 2]) {
      const { requests } = await readInputs(metadata, config, { batch, paths: [file], parameters });
      expect(await outcomesOf(requests, 0)).toEqual(requests.map(() => ({ ok: true })));
      expect(await outcomesOf(requests, null)).toEqual(requests.map(() => ({ ok: true })));
    }
  });

  it('takes generated values of every type in one request', async () => {
    const [metadata, config] = [await client.modelMetadata(model), await client.modelConfig(model)];
    const shapes = Object.fromEntries(Object.keys(values).map((type) => [type, [3, 2]]));
    for (const kind of ['zero', 'random'] as const) {
      const { requests } = prepareInputs(metadata, config, { batch: 4, seed: 1, kind, shapes });
      const expecting = requests.map((request) => ({
        ...request,
        expected: [request.inputs.map((input) => ({ ...input, name: `${input.name}_BACK` }))],
      }));
      expect(requests[0]?.inputs).toHaveLength(14);
      expect(await outcomesOf(expecting, 0)).toEqual([{ ok: true }]);
    }
  });

  it('is found out when it gives back something else', async () => {
    const [metadata, config] = [await client.modelMetadata(model), await client.modelConfig(model)];
    const shapes = { FP16: [1, 2] };
    const { requests } = prepareInputs(metadata, config, { batch: 1, seed: 1, kind: 'zero', shapes });
    const one = { name: 'FP16_BACK', datatype: 'FP16', raw: Uint8Array.of(0, 0x3c, 0, 0) };
    const expecting = requests.map((request) => ({ ...request, expected: [[one]] }));
    expect(await outcomesOf(expecting, 0.5)).toMatchObject([
      { kind: 'mismatch', message: expect.stringMatching(/value 0 is 0 where 1 was/) },
    ]);
    expect(await outcomesOf(expecting, 1)).toEqual([{ ok: true }]);
  });
});
