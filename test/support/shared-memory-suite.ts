import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync, readdirSync, writeSync } from 'node:fs';
import { resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Batch } from '#loadgen/recorder.ts';
import { replyCheck } from '#loadgen/reply-check.ts';
import type { MemoryKind } from '#loadgen/shared-memory/blocks.ts';
import { openCuda } from '#loadgen/shared-memory/cuda-driver.ts';
import { openMemory } from '#loadgen/shared-memory/memory.ts';
import { openRegions, type RegionsPlan, type SharedRegions } from '#loadgen/shared-memory/open-regions.ts';
import { createSharedObject } from '#loadgen/shared-memory/shared-object.ts';
import type { SharedOutputs } from '#loadgen/shared-memory/shared-outputs.ts';
import { type OpenOptions, openTransport } from '#loadgen/transports/open.ts';
import type { InferRequest, RequestSet, SendOutcome } from '#loadgen/types.ts';
import { openWorkers } from '#loadgen/workers/open-workers.ts';
import type { ModelConfig, TensorConfig } from '#triton/config/model-config.ts';
import type { ModelStatistics, TritonClient } from '#triton/types.ts';
import { sharedInputs } from './shared-inputs.ts';
import { sendMany, until } from './transport-suite.ts';

/**
 * A server, and a model of its that takes one FP32 tensor and gives one of the same size, in some
 * milliseconds.
 */
export interface SharedMemorySubject {
  readonly memory: MemoryKind;
  start(): Promise<{
    readonly client: TritonClient;
    readonly urls: { readonly grpc: string; readonly http: string };
    readonly model: string;
    /** What the model makes of a value. */
    readonly answer: (value: number) => number;
    readonly streams: boolean;
    readonly stop?: () => Promise<void>;
  }>;
}

const SAMPLES = 2;
const MAX_AT_ONCE = 250;
const orphan = resolve(import.meta.dirname, 'orphan-regions.ts');

/**
 * Objects of shared memory that tritune has made, of this process or of that one; a stand-in for a
 * GPU has its memory there too.
 */
export const ownObjects = (pid = process.pid): string[] =>
  readdirSync('/dev/shm').filter((name) => /^(tritune|stand-in-cuda)-/.test(name) && name.includes(`-${pid}-`));

/** What requests with shared memory do on every server. */
export function sharedMemorySuite(title: string, subject: SharedMemorySubject): void {
  describe(title, () => {
    let server: Awaited<ReturnType<SharedMemorySubject['start']>>;
    let config: ModelConfig;

    beforeAll(async () => {
      server = await subject.start();
      config = await server.client.modelConfig(server.model);
    });
    afterAll(async () => {
      await server.client.close();
      await server.stop?.();
    });

    const requestOf = (value: number): InferRequest => {
      const [{ name, dims }] = config.input as readonly [TensorConfig];
      const count = SAMPLES * dims.reduce<number>((product, size) => product * Number(size), 1);
      const floats = (of: number): Uint8Array => new Uint8Array(new Float32Array(count).fill(of).buffer);
      const inputs = [{ name, datatype: 'FP32', shape: [SAMPLES, ...dims.map(Number)], raw: floats(value) }];
      const output = { name: config.output?.[0]?.name as string, datatype: 'FP32', raw: floats(server.answer(value)) };
      const expected = [[output]];
      return { model: server.model, version: '', batch: SAMPLES, inputs, expected };
    };
    const planOf = (...requests: InferRequest[]): RegionsPlan & { readonly requests: RequestSet } => {
      const set = { model: server.model, version: '', batch: SAMPLES, requests };
      const inputs = [sharedInputs(set)];
      const { memory } = subject;
      return { requests: set, inputs, config, maxInFlight: MAX_AT_ONCE, unknownOutputBytes: 1000, memory };
    };
    const sent = async (
      regions: SharedRegions,
      protocol: 'grpc' | 'http',
      request: InferRequest,
      count: number,
      more: Partial<OpenOptions> = {},
    ): Promise<SendOutcome[]> => {
      const { outputs: sharedOutputs } = regions;
      const common = { url: server.urls[protocol], timeoutMs: 10_000, sharedOutputs };
      const transport = openTransport(protocol, { ...common, ...more });
      try {
        return await sendMany(transport, request, count);
      } finally {
        await transport.close();
      }
    };
    const isSystem = subject.memory.kind === 'system';
    const ours = () => (isSystem ? server.client.sharedMemoryRegions() : server.client.cudaMemoryRegions());
    const leavesNothing = async (): Promise<void> => {
      expect((await ours()).filter(({ name }) => name.startsWith('tritune-'))).toEqual([]);
      expect(ownObjects()).toEqual([]);
    };

    it.each(['grpc', 'http'] as const)('takes inputs from it and puts outputs into it, over %s', async (protocol) => {
      const plan = planOf(requestOf(1.5), requestOf(-2));
      const regions = await openRegions(server.client, plan);
      const { outputs } = regions;
      const { slotBytes } = outputs;
      try {
        const placed = regions.placed(plan.requests);
        const check = replyCheck(0);
        for (const request of placed.requests) {
          expect(await sent(regions, protocol, request, 20, { check })).toEqual(Array(20).fill({ ok: true }));
          expect(await sent(regions, protocol, request, 20)).toEqual(Array(20).fill({ ok: true }));
          // Twenty at once had a slot each, and no more than those.
          const written = slotsOf(outputs).filter((slot) => slot.some((byte) => byte !== 0));
          expect(written).toHaveLength(server.answer(1.5) === 0 ? 0 : 20);
          // So is what was there before overwritten, in those slots and in no others.
          overwrite(outputs, Buffer.alloc(40 * slotBytes, 0xab));
          expect(await sent(regions, protocol, request, 1)).toEqual([{ ok: true }]);
          const [first, ...others] = slotsOf(outputs).slice(0, 40) as [Buffer, ...Buffer[]];
          expect(first.readFloatLE(0)).toBe(server.answer(request === placed.requests[0] ? 1.5 : -2));
          expect(others.every((slot) => slot.every((byte) => byte === 0xab))).toBe(true);
          overwrite(outputs, Buffer.alloc(40 * slotBytes));
        }
      } finally {
        await regions.close();
      }
      await leavesNothing();
    });

    it.each(['grpc', 'http'] as const)('finds wrong outputs in it, over %s', async (protocol) => {
      const wrong = {
        ...requestOf(3),
        expected: requestOf(4).expected?.map((reply) => reply.map((output) => ({ ...output, raw: new Uint8Array(8) }))),
      };
      const plan = planOf(wrong as InferRequest);
      const regions = await openRegions(server.client, plan);
      const [request] = regions.placed(plan.requests).requests as [InferRequest];
      const outcomes = await sent(regions, protocol, request, 1, { check: replyCheck(0) });
      await regions.close();
      expect(outcomes).toMatchObject([{ kind: 'mismatch', message: expect.stringContaining('8 were expected') }]);
    });

    it.each(['grpc', 'http'] as const)(
      'is shared by threads, with an answer for each request, over %s',
      async (protocol) => {
        // Each request expects another answer: one that was written over another's would be found
        // out.
        const plan = planOf(...[1, 2, 3, 4, 5].map(requestOf));
        const regions = await openRegions(server.client, plan);
        const options = { url: server.urls[protocol], timeoutMs: 10_000, sharedOutputs: regions.outputs };
        const workers = openWorkers(2, { protocol, options, tolerance: 0 });
        try {
          const requests = regions.placed(plan.requests);
          const flow = workers.openFlow({ requests, level: { mode: 'concurrency', value: 32 } });
          const batches: Batch[] = [];
          flow.record({ lengthNs: 50e6, minRequests: 40 }, (batch) => batches.push(batch));
          flow.start();
          await until(() => batches.length >= 2 || flow.failedSoFar > 0);
          expect(await flow.drain(5000)).toBe(0);
          await flow.closeBatch();
          expect(batches.flatMap(({ failures = [] }) => failures)).toEqual([]);
          expect(flow.failedSoFar).toBe(0);
        } finally {
          await workers.close();
          await regions.close();
        }
        await leavesNothing();
      },
    );

    it('goes with compression, JSON tensors and streams', async () => {
      const plan = planOf(requestOf(1));
      const regions = await openRegions(server.client, plan);
      const [request] = regions.placed(plan.requests).requests as [InferRequest];
      const good = Array(10).fill({ ok: true });
      try {
        expect(await sent(regions, 'http', request, 10, { tensorFormat: 'json' })).toMatchObject(good);
        if (server.streams) {
          expect(await sent(regions, 'grpc', request, 10, { compression: 'gzip' })).toMatchObject(good);
          expect(await sent(regions, 'http', request, 10, { compression: 'gzip' })).toMatchObject(good);
          expect(await sent(regions, 'grpc', request, 10, { streaming: true })).toMatchObject(good);
        }
      } finally {
        await regions.close();
      }
      await leavesNothing();
    });

    it.each(['grpc', 'http'] as const)('is refused where it is not, over %s', async (protocol) => {
      const plan = planOf(requestOf(1));
      const regions = await openRegions(server.client, plan);
      const { outputs: all } = regions;
      const [good] = regions.placed(plan.requests).requests as [InferRequest];
      const at = (change: object): InferRequest => ({
        ...good,
        inputs: good.inputs.map((input) => ({ ...input, shared: { ...input.shared, ...change } as never })),
      });
      const wordsOf = async (request: InferRequest, outputs = all): Promise<unknown> => {
        const [outcome] = await sent({ ...regions, outputs }, protocol, request, 1);
        return outcome;
      };
      const refused = (words: string) => ({ ok: false, kind: 'status', message: expect.stringContaining(words) });
      try {
        expect(await wordsOf(at({ region: 'nobodys' }))).toEqual({
          ...refused("Unable to find shared memory region: 'nobodys'"),
          status: protocol === 'grpc' ? 'NOT_FOUND' : '404',
        });
        expect(await wordsOf(at({ offset: 8192 }))).toMatchObject(refused('Invalid offset for shared memory region'));
        const held = (await ours()).find(({ name }) => name.endsWith('-in'))?.byteSize as number;
        expect(await wordsOf(at({ offset: held - 6 }))).toMatchObject(refused('Invalid offset + byte size'));
        expect(await wordsOf(at({ byteSize: 12 }))).toMatchObject(refused('input byte size mismatch for input'));
        const small = { ...all, outputs: all.outputs.map((output) => ({ ...output, byteSize: 10 })) };
        expect(await wordsOf(good, small)).toMatchObject(refused('bytes to hold the results'));
      } finally {
        await regions.close();
      }
    });

    it('is not let go of while a request uses it, and then is', async () => {
      const plan = planOf(requestOf(1));
      const regions = await openRegions(server.client, plan);
      const [request] = regions.placed(plan.requests).requests as [InferRequest];
      const outcomes = sent(regions, 'grpc', request, MAX_AT_ONCE);
      const { success } = (await server.client.statistics(server.model)).at(-1) as ModelStatistics;
      const served = async () => (await server.client.statistics(server.model)).at(-1)?.success.count as number;
      while ((await served()) === success.count) await sleep(1);
      const { region } = regions.outputs;
      const { client } = server;
      const letGo = isSystem ? client.unregisterSharedMemory(region) : client.unregisterCudaMemory(region);
      expect(await letGo).toBe(false);
      await regions.close();
      expect(await outcomes).toEqual(Array(MAX_AT_ONCE).fill({ ok: true }));
      await leavesNothing();
    });

    if (!isSystem) return;

    it('is managed by plain HTTP as well, also by those who ask for more than we do', async () => {
      const root = `http://${server.urls.http}/v2/systemsharedmemory`;
      const answerTo = async (path: string, body?: object): Promise<unknown> => {
        const call = body && { method: 'POST', body: JSON.stringify(body) };
        const reply = await fetch(`${root}${path}`, call);
        const text = await reply.text();
        return { status: reply.status, said: text === '' ? null : JSON.parse(text) };
      };
      const { name, remove } = createSharedObject('in', 4096);
      try {
        expect(await answerTo('/region/r/status')).toEqual({
          status: 404,
          said: { error: "Unable to find system shared memory region: 'r'" },
        });
        expect(await answerTo('/region/r/register', { key: name })).toEqual({
          status: 400,
          said: { error: "Shared memory register request has no 'byte_size' field" },
        });
        expect(await answerTo('/region/r/register', { byte_size: 64 })).toEqual({
          status: 400,
          said: { error: "Shared memory register request has no 'key' field" },
        });
        expect(await answerTo('/region/r/register', { key: name, byte_size: 64 })).toEqual({ status: 200, said: null });
        const region = { name: 'r', key: name, offset: 0, byte_size: 64 };
        expect(await answerTo('/region/r/status')).toEqual({ status: 200, said: [region] });
        expect(await answerTo('/region/s/unregister', {})).toEqual({ status: 200, said: null });
        expect(await answerTo('/status')).toEqual({ status: 200, said: [region] });
        expect(await answerTo('/unregister', {})).toEqual({ status: 200, said: null });
        expect(await answerTo('/status')).toEqual({ status: 200, said: [] });
      } finally {
        remove();
      }
    });

    it.each([
      ['was killed', 2],
      ['left at once', 0],
    ])('is cleaned up after a process that %s, and after nobody else', async (how, left) => {
      const { client, urls, model } = server;
      const child = spawn(process.execPath, [orphan, urls.grpc, model], { stdio: ['pipe', 'pipe', 'inherit'] });
      await once(child.stdout as NodeJS.ReadableStream, 'data');
      const registeredBy = async (pid?: number) =>
        (await client.sharedMemoryRegions()).filter(({ name }) => name.includes(`-${pid}-`));
      const alive = await openRegions(client, planOf(requestOf(1)));
      expect(ownObjects(child.pid)).toHaveLength(2);
      expect(await registeredBy(child.pid)).toHaveLength(2);
      await alive.close();
      if (how === 'was killed') child.kill('SIGKILL');
      else child.stdin.write('leave');
      await once(child, 'close');
      expect(ownObjects(child.pid)).toHaveLength(left);
      expect(await registeredBy(child.pid)).toHaveLength(2);
      const next = await openRegions(client, planOf(requestOf(1)));
      expect(ownObjects(child.pid)).toEqual([]);
      expect(await registeredBy(child.pid)).toEqual([]);
      expect(await registeredBy(process.pid)).toHaveLength(2);
      await next.close();
      await leavesNothing();
    });
  });
}

function overwrite({ memory }: SharedOutputs, bytes: Buffer): void {
  if (memory.kind === 'cuda') {
    openCuda(memory.device).write(memory.address, bytes);
    return;
  }
  const fd = openSync(memory.path, 'r+');
  writeSync(fd, bytes);
  closeSync(fd);
}

function slotsOf({ memory, slotBytes, slots }: SharedOutputs): Buffer[] {
  const opened = openMemory(memory);
  const all = opened.read(0, slots * slotBytes);
  opened.close();
  return Array.from({ length: slots }, (_, slot) => all.subarray(slot * slotBytes, (slot + 1) * slotBytes));
}
