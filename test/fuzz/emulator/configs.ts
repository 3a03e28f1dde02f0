import fc from 'fast-check';
import { beforeAll, describe, expect, it } from 'vitest';
import type { JsonObject } from '#base/json.ts';
import { damagedBytes, damagedText, FUZZ_TIMEOUT_MS, hostileJson, hostileNames } from '../../support/fuzz.ts';
import { anyConfig } from '../../support/fuzz-config.ts';
import { httpOk } from './http-call.ts';
import { parameter } from './requests.ts';
import { answered, ask, configOf, encode, grpc, load, putBack, stored, unharmed } from './subject.ts';

describe('configs that the emulator is told to load, and that are bad', () => {
  const models = ['second', 'seq', 'stream', 'texts'];
  const documents = models.map((name) => JSON.stringify(stored(name)));
  const words = [
    ...['"max_batch_size":', '"count":', '2147483647', '"dims":[2147483647,2147483647]', '"TYPE_STRING"', '"name":"x"'],
    ...[
      '"sequence_batching":{"oldest":{"max_candidate_sequences":2147483647}}',
      '"dynamic_batching":{}',
      '[',
      '{',
      '"',
    ],
    ...['"model_transaction_policy":{"decoupled":true}', '"platform":"ensemble"', '"ensemble_scheduling":{"step":[]}'],
    ...['"max_queue_delay_microseconds":"18446744073709551615"', '"max_sequence_idle_microseconds":1', '"gpus":[0]'],
  ];
  const keys = ['name', 'max_batch_size', 'input', 'output', 'dims', 'data_type', 'instance_group', 'count', 'kind'];
  const more = fc.record(
    {
      max_batch_size: fc.constantFrom(0, 1, 4, 2 ** 31 - 1, -1),
      instance_group: fc.constantFrom(
        [{ count: 2 ** 31 - 1 }],
        [{ count: 2 ** 20, kind: 'KIND_CPU' }, {}],
        [],
        [{ count: -1 }],
      ),
      output: fc.constantFrom<object[]>(
        [{ name: 'OUT', data_type: 'TYPE_FP32', dims: [2 ** 31, 2 ** 31] }],
        [{ name: 'OUT', data_type: 'TYPE_BOOL', dims: [2 ** 18] }],
        [{ name: 'OUT', data_type: 'TYPE_STRING', dims: [0] }],
        [{ name: '__proto__', data_type: 'TYPE_INT8', dims: [-1] }],
      ),
      dynamic_batching: fc.constantFrom(
        {},
        { max_queue_delay_microseconds: 2 ** 52 },
        { preferred_batch_size: [2 ** 30] },
      ),
      sequence_batching: fc.constantFrom({}, { direct: { minimum_slot_utilization: 'NaN' } }, { oldest: {} }),
    },
    { requiredKeys: [] },
  );
  /** Of the model, so that it is not refused for its name alone. */
  const anyOf = (name: string, json: JsonObject): string => {
    const { backend, input, output } = stored(name);
    return JSON.stringify({ ...json, name, backend, input, output, platform: undefined });
  };
  const config = fc.oneof(
    { weight: 4, arbitrary: damagedText(documents, words).map((text) => () => text) },
    { weight: 2, arbitrary: hostileJson(keys).map((text) => () => text) },
    // Dear to make.
    { weight: 1, arbitrary: anyConfig.map((json) => (name: string) => anyOf(name, json)) },
    { weight: 4, arbitrary: more.map((fields) => (name: string) => JSON.stringify({ ...stored(name), ...fields })) },
  );

  const asStored = new Map<string, string>();
  beforeAll(async () => {
    for (const name of models) asStored.set(name, await configOf(name));
  });

  /** A request that fits the model as it is now. */
  async function fitting(name: string): Promise<Buffer> {
    const { inputs } = (await ask('ModelMetadata', { name })) as unknown as {
      inputs: { name: string; datatype: string; shape: number[] }[];
    };
    const shaped = inputs.map((input) => ({ ...input, shape: input.shape.map((size) => (size < 0 ? 1 : size)) }));
    const bytesOf = ({ datatype, shape }: (typeof shaped)[number]): number =>
      Math.min(
        2 ** 16,
        shape.reduce((all, size) => all * size, 1) * (/32/.test(datatype) ? 4 : /64/.test(datatype) ? 8 : 1),
      );
    return encode('ModelInfer', {
      model_name: name,
      inputs: shaped,
      raw_input_contents: shaped.map((input) => Buffer.alloc(bytesOf(input))),
      parameters: {
        sequence_id: { int64_param: 1 },
        sequence_start: { bool_param: true },
        sequence_end: { bool_param: true },
      },
    });
  }

  it('are refused with what serves left as it is, or served', { timeout: FUZZ_TIMEOUT_MS }, async () => {
    await unharmed(fc.tuple(fc.constantFrom(...models), config), async ([name, textFor]) => {
      const text = textFor(name);
      const isLoaded = answered(await load(name, text));
      if (!isLoaded) expect(await configOf(name)).toBe(asStored.get(name));
      else {
        const request = await fitting(name);
        const one = await grpc('ModelInfer', [request]);
        if (answered(one)) expect(one.messages.length).toBe(1);
        answered(await grpc('ModelStreamInfer', [request]));
        await httpOk(`GET /v2/models/${name}/config`);
        await ask('ModelStatistics', { name });
        await putBack(name);
      }
      return isLoaded;
    });
  });

  it('come with other parameters, and calls to unload, that are bad too', { timeout: FUZZ_TIMEOUT_MS }, async () => {
    const parameterName = fc.constantFrom(
      'config',
      'file:1/model.py',
      'file:x',
      'file:9/a',
      'unload_dependents',
      ...hostileNames,
    );
    const value = fc.oneof(
      parameter,
      fc.constantFrom(...documents).map((text) => ({ string_param: text })),
      fc.constantFrom({ bytes_param: Buffer.from('x') }, {}),
    );
    const name = fc.oneof(fc.constantFrom('second', 'texts', 'chain'), fc.constantFrom(...hostileNames));
    const message = fc.record({ model_name: name, parameters: fc.dictionary(parameterName, value, { maxKeys: 3 }) });
    const damaged = damagedBytes(
      ['second', 'texts', 'chain'].map((model_name) =>
        encode('RepositoryModelLoad', {
          model_name,
          repository_name: 'r',
          parameters: { config: { string_param: documents[0] }, 'file:1/a': { bytes_param: Buffer.from('x') } },
        }),
      ),
    );
    const bytes = fc.oneof(
      message.map((fields) => encode('RepositoryModelLoad', fields)),
      damaged,
    );
    const method = fc.constantFrom('RepositoryModelLoad', 'RepositoryModelUnload');
    await unharmed(
      fc.tuple(method, bytes),
      async ([call, request]) => {
        if (!answered(await grpc(call, [request]))) return false;
        for (const model of ['m', 'second', 'texts']) {
          const { ready } = await ask('ModelReady', { name: model });
          if (!ready || call === 'RepositoryModelLoad') await putBack(model);
        }
        return true;
      },
      0.5,
    );
  });
});
