import { readFileSync, statSync } from 'node:fs';
import fc from 'fast-check';
import { afterEach, describe, expect, it } from 'vitest';
import { layoutOfInputs, layoutOfOutputs } from '#loadgen/shared-memory/layout.ts';
import { openRegions } from '#loadgen/shared-memory/open-regions.ts';
import { isRemains, ownPrefix } from '#loadgen/shared-memory/owner.ts';
import { createSharedObject, type SharedObject } from '#loadgen/shared-memory/shared-object.ts';
import { partOfOutputs, type SharedOutputs } from '#loadgen/shared-memory/shared-outputs.ts';
import { SharingTransport, Slots } from '#loadgen/shared-memory/sharing-transport.ts';
import type { InferRequest, PreparedRequest, RequestSet, SendOutcome, Transport } from '#loadgen/types.ts';
import type { SharedMemory } from '#triton/types.ts';
import { sharedInputs } from '../support/shared-inputs.ts';
import { ownObjects } from '../support/shared-memory-suite.ts';
import { modelOf, requestsOfJson, type TestModel } from './input-files.ts';

const requestOf = (...raws: Uint8Array[]): InferRequest => ({
  model: 'm',
  version: '',
  batch: 1,
  inputs: raws.map((raw, index) => ({ name: `IN${index}`, datatype: 'UINT8', shape: [1, raw.length], raw })),
});
const setOf = (...requests: InferRequest[]) => ({ model: 'm', version: '', batch: 1, requests });

afterEach(() => expect(ownObjects()).toEqual([]));

describe('slots', () => {
  it('are never held twice, and all of them can be held', () => {
    const steps = fc.array(fc.record({ act: fc.constantFrom('take', 'give', 'doubt'), pick: fc.nat() }), {
      maxLength: 200,
    });
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 12 }), steps, (count, acts) => {
        const slots = new Slots(count);
        const held: number[] = [];
        for (const { act, pick } of acts) {
          if (act === 'take') {
            const slot = slots.take();
            expect(slot === -1).toBe(held.length === count);
            if (slot === -1) continue;
            expect(held).not.toContain(slot);
            expect(slot).toBeLessThan(count);
            held.push(slot);
          } else if (held.length > 0) {
            const [slot] = held.splice(pick % held.length, 1) as [number];
            if (act === 'give') slots.giveBack(slot);
            else slots.giveBackInDoubt(slot);
          }
        }
      }),
    );
  });

  it('are few: the last given back is the next taken, and a doubtful one only when there is no other', () => {
    const slots = new Slots(3);
    expect([slots.take(), slots.take()]).toEqual([0, 1]);
    slots.giveBackInDoubt(1);
    slots.giveBack(0);
    expect([slots.take(), slots.take(), slots.take(), slots.take()]).toEqual([0, 2, 1, -1]);
  });
});

describe('the layout', () => {
  it('puts each piece of values in a place of its own', () => {
    const [a, b] = [new Uint8Array(100), new Uint8Array(64)];
    const { offsets, byteSize } = layoutOfInputs([a, b]);
    expect([...offsets]).toEqual([
      [a, 0],
      [b, 128],
    ]);
    expect(byteSize).toBe(192);
  });

  it('gives outputs the room that they take, or what is allowed for those of any size', () => {
    const output = [
      { name: 'A', data_type: 'TYPE_FP16', dims: [3, 5] },
      { name: 'B', data_type: 'TYPE_STRING', dims: [1] },
      { name: 'C', data_type: 'TYPE_INT64', dims: [-1] },
    ];
    const sizes = (max_batch_size: number) =>
      layoutOfOutputs({ output, max_batch_size }, 4, 1000).outputs.map(({ byteSize }) => byteSize);
    expect(sizes(8)).toEqual([120, 1000, 1000]);
    expect(sizes(0)).toEqual([30, 1000, 1000]);
    expect(layoutOfOutputs({ output, max_batch_size: 8 }, 4, 1000)).toMatchObject({
      outputs: [{ offset: 0 }, { offset: 128 }, { offset: 1152 }],
      slotBytes: 2176,
    });
  });

  it('divides the slots among threads, none to two of them', () => {
    const all = { firstSlot: 0, slots: 11 } as SharedOutputs;
    const parts = [0, 1, 2].map((index) => partOfOutputs(all, { index, of: 3 }));
    const numbers = parts.flatMap(({ firstSlot, slots }) => Array.from({ length: slots }, (_, i) => firstSlot + i));
    expect(numbers).toEqual(Array.from({ length: 11 }, (_, i) => i));
  });
});

/** Ends requests only when it is told to, with the outcome that it is told. */
class HeldTransport implements Transport<PreparedRequest> {
  readonly inFlight: { readonly request: InferRequest; readonly done: (outcome: SendOutcome) => void }[] = [];
  prepared = 0;

  prepare(request: InferRequest): PreparedRequest {
    this.prepared++;
    return { request };
  }

  send({ request }: PreparedRequest, done: (outcome: SendOutcome) => void): void {
    this.inFlight.push({ request, done });
  }

  async close(): Promise<void> {}
}

const SLOT_BYTES = 192;

function sharing(
  slots: number,
  firstSlot = 0,
): { inner: HeldTransport; outer: SharingTransport<PreparedRequest>; object: SharedObject } {
  const inner = new HeldTransport();
  const object = createSharedObject('out', (firstSlot + slots) * SLOT_BYTES);
  const outputs = [
    { name: 'A', offset: 0, byteSize: 100 },
    { name: 'B', offset: 128, byteSize: 64 },
  ];
  const place = {
    region: object.name,
    memory: { kind: 'system' as const, path: object.path },
    slotBytes: SLOT_BYTES,
    firstSlot,
    slots,
    outputs,
    encodingsKept: 8,
  };
  return { inner, object, outer: new SharingTransport(inner, place) };
}

describe('a transport with shared outputs', () => {
  const kinds = ['ok', 'status', 'timeout', 'reset', 'refused', 'mismatch'] as const;

  it('never gives two requests in flight the same memory', async () => {
    const acts = fc.array(fc.record({ send: fc.boolean(), pick: fc.nat(), kind: fc.constantFrom(...kinds) }), {
      maxLength: 150,
    });
    await fc.assert(
      fc.asyncProperty(acts, fc.nat(3), async (steps, firstSlot) => {
        const { inner, outer, object } = sharing(6, firstSlot);
        const prepared = [outer.prepare(requestOf(new Uint8Array(1))), outer.prepare(requestOf(new Uint8Array(2)))];
        let [refused, tooMany] = [0, 0];
        for (const { send, pick, kind } of steps) {
          if (send) {
            const before = inner.inFlight.length;
            if (before === 6) tooMany++;
            outer.send(prepared[pick % 2] as never, (outcome) => {
              if (!outcome.ok && /more requests are in flight/.test(outcome.message)) refused++;
            });
            expect(inner.inFlight.length === before).toBe(before === 6);
            const places = inner.inFlight.flatMap(
              ({ request }) => request.sharedOutputs?.map(({ shared }) => shared) ?? [],
            );
            expect(places).toHaveLength(2 * inner.inFlight.length);
            const sorted = places.sort((a, b) => a.offset - b.offset);
            sorted.forEach((place, index) => {
              const end = sorted[index + 1]?.offset ?? object.byteSize;
              expect(place.offset + place.byteSize).toBeLessThanOrEqual(end);
              expect(place.offset).toBeGreaterThanOrEqual(firstSlot * SLOT_BYTES);
            });
          } else {
            const [ended] = inner.inFlight.splice(pick % Math.max(1, inner.inFlight.length), 1);
            ended?.done(kind === 'ok' ? { ok: true } : { ok: false, kind, message: 'as asked' });
          }
        }
        expect(refused).toBe(tooMany);
        await outer.close();
        object.remove();
      }),
      { numRuns: 50 },
    );
  });

  it('encodes a request once for each slot, and gives a slot memory before it is used', async () => {
    const { inner, outer, object } = sharing(4);
    expect(statSync(object.path).blocks).toBe(0);
    const prepared = outer.prepare(requestOf(new Uint8Array(1)));
    for (let round = 0; round < 10; round++) {
      for (let i = 0; i < 2; i++) outer.send(prepared, () => undefined);
      for (const { done } of inner.inFlight.splice(0)) done({ ok: true });
    }
    expect(inner.prepared).toBe(2);
    expect(statSync(object.path).blocks).toBeGreaterThan(0);
    await outer.close();
    object.remove();
  });

  it('tells that there is no room for more', async () => {
    const { outer, object } = sharing(1);
    const outcomes: SendOutcome[] = [];
    const prepared = outer.prepare(requestOf(new Uint8Array(1)));
    for (let i = 0; i < 2; i++) outer.send(prepared, (outcome) => outcomes.push(outcome));
    expect(outcomes).toMatchObject([{ ok: false, kind: 'refused' }]);
    await outer.close();
    object.remove();
  });
});

/** The values of the inputs of a request, as the server finds them. */
const valuesIn = ({ inputs }: InferRequest): Buffer[] =>
  inputs.map(({ shared }) => {
    const { region = '', offset = 0, byteSize = 0 } = shared ?? {};
    return readFileSync(`/dev/shm/${region}`).subarray(offset, offset + byteSize);
  });

describe('regions', () => {
  const config = { max_batch_size: 1, output: [{ name: 'A', data_type: 'TYPE_FP32', dims: [4] }] };
  const raw = Uint8Array.of(1, 2, 3);
  const requests = setOf(requestOf(raw));
  const plan = { inputs: [sharedInputs(requests)], config, maxInFlight: 4, unknownOutputBytes: 100 };
  const server = (change: Partial<SharedMemory> = {}): { calls: string[]; server: SharedMemory } => {
    const calls: string[] = [];
    const plain: SharedMemory = {
      sharedMemoryRegions: async () => [],
      registerSharedMemory: async ({ name }) => void calls.push(`+${name}`),
      unregisterSharedMemory: async (name) => calls.push(`-${name}`) > 0,
      cudaMemoryRegions: async () => [],
      registerCudaMemory: async ({ name }) => void calls.push(`+${name}`),
      unregisterCudaMemory: async (name) => calls.push(`-${name}`) > 0,
    };
    return { calls, server: { ...plain, ...change } };
  };

  it('hold the inputs, and are gone after the close', async () => {
    const { calls, server: fake } = server();
    const regions = await openRegions(fake, plan);
    const placed = regions.placed(requests);
    const shared = placed.requests[0]?.inputs[0]?.shared;
    expect(readFileSync(`/dev/shm/${shared?.region}`).subarray(shared?.offset, 3)).toEqual(Buffer.from(raw));
    expect(regions.placed(requests)).toBe(placed);
    await regions.close();
    await regions.close();
    const names = calls.filter((call) => call.startsWith('+')).map((call) => call.slice(1));
    expect(calls).toEqual([...names.map((name) => `+${name}`), ...names.map((name) => `-${name}`)]);
  });

  it('hold every batch of a range, each of the same requests as without them', async () => {
    const steps = fc.array(
      fc.record({ A: fc.tuple(fc.nat(255)), T: fc.array(fc.string(), { minLength: 1, maxLength: 1 }) }),
      {
        minLength: 1,
        maxLength: 6,
      },
    );
    const model: TestModel = { maxBatchSize: 16, inputs: { A: ['UINT8', [1]], T: ['BYTES', [1]] } };
    const { config: batching } = modelOf(model);
    await fc.assert(
      fc.asyncProperty(fc.array(steps, { minLength: 1, maxLength: 3 }), async (data) => {
        const range = { batch: 1, mostBatch: 16 };
        const [plain, inputs] = await Promise.all([
          requestsOfJson(model, { data }, range),
          requestsOfJson(model, { data }, { ...range, isShared: true }),
        ]);
        const regions = await openRegions(server().server, { ...plan, inputs: [inputs] });
        for (let batch = 1; batch <= 16; batch++) {
          const [wanted, placed] = [plain, inputs].map((each) => each.forConfig(batching, batch));
          const read = regions.placed(placed as RequestSet).requests.map(valuesIn);
          expect(read).toEqual(wanted?.requests.map((request) => request.inputs.map(({ raw }) => Buffer.from(raw))));
        }
        await regions.close();
      }),
      { numRuns: 20 },
    );
  });

  it('hold the inputs of several workloads, and outputs of the largest of their requests', async () => {
    const [one, other] = [Uint8Array.of(1, 2, 3), Uint8Array.of(4, 5)].map((each) => setOf(requestOf(each)));
    const inputs = [sharedInputs(one as RequestSet), { ...sharedInputs(other as RequestSet), mostBatch: 8 }];
    const regions = await openRegions(server().server, { ...plan, inputs, config: { ...config, max_batch_size: 8 } });
    expect(regions.outputs.outputs).toMatchObject([{ name: 'A', byteSize: 8 * 4 * 4 }]);
    expect([one, other].map((set) => regions.placed(set as RequestSet).requests.map(valuesIn))).toEqual([
      [[Buffer.of(1, 2, 3)]],
      [[Buffer.of(4, 5)]],
    ]);
    await regions.close();
  });

  it('are gone, too, when the server does not take them', async () => {
    let registered = 0;
    const { calls, server: fake } = server({
      registerSharedMemory: async () => {
        if (registered++ > 0) throw new Error('no');
      },
    });
    await expect(openRegions(fake, plan)).rejects.toThrow('no');
    expect(calls).toHaveLength(2);
  });

  it('are asked back until nothing uses them', async () => {
    let asked = 0;
    const { server: fake } = server({ unregisterSharedMemory: async () => ++asked > 3 });
    const regions = await openRegions(fake, plan);
    await regions.close();
    expect(asked).toBe(5);
  });

  it('of others are left alone: those of the living, of other namespaces, and what has another name', () => {
    const [, namespace, pid, start] = ownPrefix().split('-');
    const rest = '0123456789ab-in';
    expect(isRemains(`tritune-${namespace}-${pid}-${start}-${rest}`)).toBe(false);
    expect(isRemains(`tritune-${namespace}-${pid}-${Number(start) + 1}-${rest}`)).toBe(true);
    expect(isRemains(`tritune-${namespace}-4194305-${start}-${rest}`)).toBe(true);
    expect(isRemains(`tritune-1${namespace}-4194305-${start}-${rest}`)).toBe(false);
    expect(isRemains(`tritune-${rest}`)).toBe(false);
    expect(isRemains('INPUT0_0_0')).toBe(false);
  });
});
