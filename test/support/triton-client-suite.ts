import { rm, writeFile } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { ModelConfig } from '#triton/config/model-config.ts';
import { normaliseConfig } from '#triton/config/normal-form.ts';
import { LoadRefusedError } from '#triton/control/load-refused.ts';
import type { TritonClient } from '#triton/types.ts';

/**
 * What the suite needs of a server: no GPU, explicit control, and one loaded model with FP32 inputs
 * and batches of at least 4.
 */
export interface ClientSubject {
  /** Called once, before the first test. */
  readonly start: () => Promise<StartedSubject>;
}

export interface StartedSubject {
  /** The client under test. */
  readonly client: TritonClient;
  /** A client of the other protocol to the same server. */
  readonly twin: TritonClient;
  /** HOST:PORT of the server's HTTP protocol, for the requests that make statistics move. */
  readonly httpUrl: string;
  readonly model: string;
  /** Called after the last test, when the clients are closed. */
  readonly stop?: () => Promise<void>;
}

const unknownModel = 'no_such_model';

/**
 * What every TritonClient does, whatever its protocol and whatever the server. Leaves the model as
 * it found it.
 */
export function tritonClientSuite(title: string, subject: ClientSubject): void {
  describe(title, () => {
    let client: TritonClient;
    let twin: TritonClient;
    let model: string;
    let httpUrl: string;
    let original: ModelConfig;
    let stop: StartedSubject['stop'];

    beforeAll(async () => {
      ({ client, twin, model, httpUrl, stop } = await subject.start());
      original = await client.modelConfig(model);
    });
    afterAll(async () => {
      await client.load(model, original);
      await Promise.all([client.close(), twin.close()]);
      await stop?.();
    });

    it('tells what lives and what is ready', async () => {
      expect(await client.live()).toBe(true);
      // A server is not ready while it loads a model, and other files load theirs on the same one.
      await expect.poll(() => client.ready(), { timeout: 10_000 }).toBe(true);
      expect(await client.modelReady(model)).toBe(true);
      expect(await client.modelReady(unknownModel)).toBe(false);
    });

    it('reads the server and its models', async () => {
      const server = await client.serverMetadata();
      expect(server.name).not.toBe('');
      expect(server.version).toMatch(/^\d+\./);
      expect(server.extensions).toContain('model_repository');
      const metadata = await client.modelMetadata(model);
      expect(metadata.name).toBe(model);
      expect(metadata.inputs.map((input) => input.name)).toEqual(original.input?.map((input) => input.name));
      expect(metadata.inputs[0]?.datatype).toBe('FP32');
      expect(metadata.inputs[0]?.shape).toEqual([-1, ...(original.input?.[0]?.dims ?? [])]);
      expect(await client.index()).toContainEqual({
        name: model,
        version: metadata.versions[0],
        state: 'READY',
        reason: '',
      });
    });

    it('reads the config in normal form', () => {
      expect(original.name).toBe(model);
      expect(original.max_batch_size).toBeGreaterThanOrEqual(4);
      expect(normaliseConfig(original)).toEqual(original);
    });

    it('reads the same as its twin over the other protocol', async () => {
      await infer(httpUrl, client, model);
      expect(await twin.serverMetadata()).toEqual(await client.serverMetadata());
      expect(await twin.modelMetadata(model)).toEqual(await client.modelMetadata(model));
      expect(await twin.index()).toEqual(await client.index());
      expect(await twin.modelConfig(model)).toEqual(original);
      expect(await twin.statistics(model)).toEqual(await client.statistics(model));
    });

    it('counts what the model did', async () => {
      const before = (await client.statistics(model)).at(-1);
      for (let i = 0; i < 3; i++) await infer(httpUrl, client, model, 2);
      const after = (await client.statistics(model)).at(-1);
      if (!before || !after) throw new Error('no statistics');
      expect(after.name).toBe(model);
      expect(after.success.count - before.success.count).toBe(3);
      expect(after.inferenceCount - before.inferenceCount).toBe(6);
      expect(after.success.ns).toBeGreaterThan(before.success.ns);
      const executionsOfTwo = after.batchStats.find((entry) => entry.batchSize === 2)?.computeInfer;
      expect(executionsOfTwo?.count).toBeGreaterThanOrEqual(3);
      expect(executionsOfTwo?.ns).toBeGreaterThan(0);
      expect(after.lastInferenceMs).toBeGreaterThan(Date.UTC(2020));
    });

    it('overrides the whole config and puts it back', async () => {
      const changed = {
        ...original,
        max_batch_size: 2,
        dynamic_batching: { preferred_batch_size: [2], max_queue_delay_microseconds: 100 },
        instance_group: [{ ...original.instance_group?.[0], count: 2 }],
        parameters: { camelCase: { string_value: 'kept as it is' } },
      };
      await client.load(model, changed);
      expect(await client.modelConfig(model)).toEqual(changed);
      expect(await twin.modelConfig(model)).toEqual(changed);
      await client.load(model, original);
      expect(await client.modelConfig(model)).toEqual(original);
    });

    it('keeps integers beyond the exact numbers', async () => {
      const policy = { default_timeout_microseconds: '18446744073709551615', allow_timeout_override: true };
      const dynamic_batching = { max_queue_delay_microseconds: '9007199254740993', default_queue_policy: policy };
      await client.load(model, { ...original, dynamic_batching });
      expect((await client.modelConfig(model)).dynamic_batching).toMatchObject(dynamic_batching);
      expect((await twin.modelConfig(model)).dynamic_batching).toMatchObject(dynamic_batching);
      await client.load(model, await client.modelConfig(model));
      expect((await twin.modelConfig(model)).dynamic_batching).toMatchObject(dynamic_batching);
      await client.load(model, original);
    });

    it('tells why a load was refused, and the model stays as it was', async () => {
      const invalid = await refusalOf(client.load(model, { ...original, no_such_field: 1 }));
      expect(invalid).toMatchObject({ code: 'LOAD_REFUSED', kind: 'invalid-config' });
      const onGpu = { ...original, instance_group: [{ count: 1, kind: 'KIND_GPU' as const }] };
      const noGpu = await refusalOf(client.load(model, onGpu));
      expect(noGpu).toMatchObject({ code: 'LOAD_REFUSED', kind: 'no-gpu' });
      expect(noGpu.message).toContain(noGpu.serverMessage.trim());
      expect(noGpu.serverMessage).toContain('no GPUs are available');
      expect(await client.modelConfig(model)).toEqual(original);
      expect(await client.modelReady(model)).toBe(true);
    });

    it('warms up every instance that is made, and counts that', async () => {
      const sample = { data_type: 'TYPE_FP32', zero_data: true };
      const inputs = Object.fromEntries(
        (original.input ?? []).map(({ name, dims }) => [name, { ...sample, dims: dims?.map(Number) ?? [] }]),
      );
      const warmed = (count: number): ModelConfig => ({
        ...original,
        instance_group: [{ ...original.instance_group?.[0], count }],
        model_warmup: [{ name: 'w', batch_size: 4, count: 3, inputs }],
      });
      const counts = async () => {
        const now = (await client.statistics(model)).at(-1);
        const sizes = now?.batchStats.map(({ batchSize, computeInfer }) => [batchSize, computeInfer.count]);
        return [now?.executionCount, now?.inferenceCount, now?.success.count, sizes];
      };
      await client.load(model, warmed(1));
      expect(await counts()).toEqual([3, 12, 12, [[4, 3]]]);
      await client.load(model, warmed(3));
      expect(await counts()).toEqual([9, 36, 36, [[4, 9]]]);
      await client.load(model, original);
    });

    it('knows a model that is not there', async () => {
      // A long list is cut.
      const unknown = { code: 'MODEL_UNKNOWN', hint: expect.stringMatching(/^its models are \w+/) };
      await expect(client.modelMetadata(unknownModel)).rejects.toMatchObject(unknown);
      await expect(client.modelConfig(unknownModel)).rejects.toMatchObject(unknown);
      await expect(client.statistics(unknownModel)).rejects.toMatchObject(unknown);
      await expect(client.load(unknownModel)).rejects.toMatchObject(unknown);
    });

    it('unloads and loads again', async () => {
      await client.unload(model);
      await expect.poll(() => client.modelReady(model), patient).toBe(false);
      await expect.poll(() => stateOf(client, model), patient).toBe('UNAVAILABLE');
      await expect(client.modelConfig(model)).rejects.toMatchObject({ code: 'MODEL_UNREADY' });
      await expect(client.statistics(model)).rejects.toMatchObject({ code: 'MODEL_UNREADY' });
      await client.load(model);
      expect(await client.modelReady(model)).toBe(true);
      expect(await stateOf(client, model)).toBe('READY');
    });

    it('registers shared memory and lets go of it, by name', async () => {
      const others = await client.sharedMemoryRegions();
      const name = `tritune-suite-${process.pid}-${Math.random().toString(36).slice(2)}`;
      const region = { name, key: `/${name}`, offset: 4096, byteSize: 100 };
      await expect(client.registerSharedMemory(region)).rejects.toMatchObject({
        code: 'SERVER_FAILED',
        message: expect.stringContaining(`Unable to open shared memory region: '/${name}'`),
        hint: expect.stringContaining('/dev/shm'),
      });
      await writeFile(`/dev/shm/${name}`, Buffer.alloc(8192));
      try {
        const refused = (change: object, words: string) =>
          expect(client.registerSharedMemory({ ...region, ...change })).rejects.toMatchObject({
            code: 'SERVER_FAILED',
            message: expect.stringContaining(words),
          });
        await refused({ byteSize: 4097 }, `failed to register shared memory region '${name}': invalid args`);
        await refused({ offset: 4000 }, 'unable to process address space');
        expect(await client.unregisterSharedMemory(name)).toBe(true);
        await client.registerSharedMemory(region);
        await refused({}, `shared memory region '${name}' already in manager`);
        expect(await client.sharedMemoryRegions()).toEqual([...others, region].sort(byName));
        expect(await twin.sharedMemoryRegions()).toEqual(await client.sharedMemoryRegions());
        expect(await client.unregisterSharedMemory(name)).toBe(true);
        expect(await twin.sharedMemoryRegions()).toEqual(others);
        await expect(client.unregisterSharedMemory('')).rejects.toThrow(RangeError);
      } finally {
        await client.unregisterSharedMemory(name);
        await rm(`/dev/shm/${name}`);
      }
    });

    it('refuses the memory of a GPU that it does not have', async () => {
      const region = { name: `tritune-suite-${process.pid}`, deviceId: 0, byteSize: 100 };
      await expect(client.registerCudaMemory(region, new Uint8Array(64))).rejects.toMatchObject({
        code: 'SERVER_FAILED',
        message: expect.stringContaining('failed to register shared memory region: invalid args'),
        hint: expect.stringContaining('the same GPU'),
      });
      expect(await client.cudaMemoryRegions()).toEqual([]);
      expect(await client.unregisterCudaMemory(region.name)).toBe(true);
      await expect(client.unregisterCudaMemory('')).rejects.toThrow(RangeError);
    });

    it('gives up a load at its deadline and at an abort', async () => {
      const slow = { ...original, parameters: { round: { string_value: title } } };
      await expect(client.load(model, slow, { timeoutMs: 2 })).rejects.toMatchObject({ code: 'SERVER_TIMEOUT' });
      // The server may still be loading: the next load waits for it.
      await client.load(model, original);
      const abort = new AbortController();
      const load = client.load(model, slow, { signal: abort.signal });
      const ended = expect(load).rejects.toMatchObject({ code: 'INTERRUPTED' });
      await sleep(2);
      abort.abort();
      await ended;
      await expect(client.live({ signal: abort.signal })).rejects.toMatchObject({ code: 'INTERRUPTED' });
      expect(await client.live()).toBe(true);
    });
  });
}

const byName = (a: { name: string }, b: { name: string }): number => (a.name < b.name ? -1 : 1);

const patient = { timeout: 10_000, interval: 20 };

async function stateOf(client: TritonClient, model: string): Promise<string | undefined> {
  return (await client.index()).findLast((entry) => entry.name === model)?.state;
}

async function refusalOf(load: Promise<void>): Promise<LoadRefusedError> {
  const outcome = await load.then(
    () => undefined,
    (error: unknown) => error,
  );
  if (outcome instanceof LoadRefusedError) return outcome;
  throw new Error(`expected a LoadRefusedError, got ${outcome}`);
}

/** One request of zeros over HTTP. */
async function infer(httpUrl: string, client: TritonClient, model: string, batch = 1): Promise<void> {
  const { inputs } = await client.modelMetadata(model);
  const tensors = inputs.map((input) => {
    const shape = [batch, ...input.shape.slice(1).map((size) => Math.max(1, size))];
    const elements = shape.reduce((product, size) => product * size, 1);
    return { name: input.name, datatype: input.datatype, shape, data: Array<number>(elements).fill(0) };
  });
  const response = await fetch(`http://${httpUrl}/v2/models/${model}/infer`, {
    method: 'POST',
    body: JSON.stringify({ inputs: tensors }),
  });
  if (response.status !== 200) throw new Error(`infer failed: ${await response.text()}`);
  await response.arrayBuffer();
}
