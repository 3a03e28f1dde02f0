import { closeSync, ftruncateSync, openSync, unlinkSync } from 'node:fs';
import type fc from 'fast-check';
import { afterAll, beforeAll, expect } from 'vitest';
import type { JsonObject } from '#base/json.ts';
import { emulatorSchema } from '#emulator/profile/schema.ts';
import type { ModelConfig } from '#triton/config/model-config.ts';
import { serviceMethod } from '#triton/wire/proto.ts';
import { type ProcessState, processState } from '../../soak/process-state.ts';
import { everyKindProfile } from '../../support/emulator.ts';
import { fuzzAsync } from '../../support/fuzz.ts';
import { onGpu } from '../../support/stand-in-cuda.ts';
import { type GrpcEnd, openVirtualEmulator, type VirtualEmulator } from '../../support/virtual-emulator.ts';

const kinds = everyKindProfile();
/** One model more: texts of any number, and an input that may be left out. */
const texts = {
  ...kinds.models[1],
  config: {
    name: 'texts',
    backend: 'python',
    max_batch_size: 4,
    input: [
      { name: 'A', data_type: 'TYPE_STRING', dims: [-1] },
      { name: 'B', data_type: 'TYPE_INT64', dims: [2], optional: true },
    ],
    output: [
      { name: 'T', data_type: 'TYPE_STRING', dims: [-1] },
      { name: 'F', data_type: 'TYPE_BOOL', dims: [3] },
    ],
  },
};
const profile = onGpu(emulatorSchema.parse({ ...kinds, models: [...kinds.models, texts] }));

export const shmKey = `tritune-fuzz-${process.pid}`;
export const REGION_BYTES = 8192;

export interface Answer {
  readonly id: string;
  readonly model_name: string;
  readonly outputs: readonly { readonly name: string; readonly datatype: string; readonly shape: readonly number[] }[];
  readonly raw_output_contents: readonly Buffer[];
}

export const encode = (method: string, message: object): Buffer => {
  const { requestType } = serviceMethod(method);
  return Buffer.from(requestType.encode(requestType.fromObject(message)).finish());
};
export const decode = (method: string, bytes: Uint8Array): JsonObject => {
  const { responseType } = serviceMethod(method);
  return responseType.toObject(responseType.decode(bytes), { longs: Number, enums: String, defaults: true });
};
export const ask = async (method: string, message: object): Promise<JsonObject> => {
  const { messages, failure } = await grpc(method, [encode(method, message)]);
  if (failure) throw failure;
  return decode(method, messages[0] as Uint8Array);
};

export const floats = (count: number): Buffer => Buffer.from(new Float32Array(count).fill(1).buffer);
export const tensor = (batch: number, more: object = {}) => ({
  name: 'IN',
  datatype: 'FP32',
  shape: [batch, 4],
  ...more,
});
export const place = (region: string, bytes: number, offset = 0) => ({
  shared_memory_region: { string_param: region },
  shared_memory_byte_size: { int64_param: bytes },
  shared_memory_offset: { int64_param: offset },
});
export const good = { model_name: 'm', id: 'good', inputs: [tensor(2)], raw_input_contents: [floats(8)] };
export const goodBytes = encode('ModelInfer', good);

const goodReply = JSON.stringify(['good', [2, 4], 32]);

/** The emulator answers a request that is good: what came before has done no harm. */
async function checkAlive(): Promise<void> {
  const { failure, messages } = await grpc('ModelInfer', [goodBytes]);
  if (failure) throw failure;
  const {
    id,
    outputs,
    raw_output_contents: raws,
  } = decode('ModelInfer', messages[0] as Uint8Array) as unknown as Answer;
  const reply = JSON.stringify([id, outputs[0]?.shape, raws[0]?.length]);
  if (reply !== goodReply) throw new Error(`a good request is answered with ${reply}`);
}

const unforeseen =
  /Cannot (read|convert|set)|is not (a function|iterable|defined)|Maximum call stack|Invalid (array|string) length|\[object|defect/;

/** Words of a protocol, and none of an error of ours that nobody foresaw. */
export function checkWords(message: string): void {
  if (unforeseen.test(message)) throw new Error(`no words of a server: ${message}`);
}

export const answered = ({ failure }: GrpcEnd): boolean => {
  if (failure?.message) checkWords(failure.message);
  return failure === null;
};

let emulator: VirtualEmulator;
let before: ProcessState;

/**
 * Opens it for the tests of a file, and sees at their end that it has taken no more than it may.
 */
export function emulatorForFile(): void {
  beforeAll(async () => {
    const fd = openSync(`/dev/shm/${shmKey}`, 'w', 0o600);
    ftruncateSync(fd, REGION_BYTES);
    closeSync(fd);
    emulator = openVirtualEmulator({ profile, traceFile: '/nowhere/trace' });
    await checkAlive();
    before = await processState();
  });

  // What all of them leave behind, and what any took for a moment, is bounded.
  afterAll(async () => {
    const after = await processState();
    emulator.close();
    unlinkSync(`/dev/shm/${shmKey}`);
    expect(after.heapBytes - before.heapBytes).toBeLessThan(60 * 2 ** 20);
    expect(after.externalBytes - before.externalBytes).toBeLessThan(60 * 2 ** 20);
    expect(after.descriptors - before.descriptors).toBeLessThan(3);
    expect(process.resourceUsage().maxRSS * 1024).toBeLessThan(2 * 2 ** 30);
  });
}

export const grpc: VirtualEmulator['grpc'] = (...call) => emulator.grpc(...call);
export const http: VirtualEmulator['http'] = (request) => emulator.http(request);

/**
 * Of the cases: so many are good in spite of all, and so many bad. Input that is always the one or
 * the other shows little.
 */
const MIN_SHARE = 0.01;
/** By day so many times the cases of a parser: among fewer are too few good ones. */
const TIMES = 4;

/**
 * The property for all cases; it says whether the input was taken. After each of them the emulator
 * is as good as before. `share`: as of `fuzz`.
 */
export async function unharmed<T>(
  input: fc.Arbitrary<T>,
  property: (input: T) => Promise<boolean>,
  share = 1,
): Promise<void> {
  const cases = { taken: 0, refused: 0 };
  const counted = async (value: T): Promise<void> => {
    cases[(await property(value)) ? 'taken' : 'refused']++;
    await checkAlive();
  };
  await fuzzAsync(input, counted, TIMES * share);
  const least = MIN_SHARE * (cases.taken + cases.refused);
  expect(Math.min(cases.taken, cases.refused), JSON.stringify(cases)).toBeGreaterThan(least);
}

export const stored = (name: string): ModelConfig =>
  profile.models.find(({ config }) => config.name === name)?.config as unknown as ModelConfig;
export const load = (model: string, config: string): Promise<GrpcEnd> =>
  grpc('RepositoryModelLoad', [
    encode('RepositoryModelLoad', { model_name: model, parameters: { config: { string_param: config } } }),
  ]);
/** As at the start. */
export const putBack = async (name: string): Promise<void> => {
  const { failure } = await load(name, JSON.stringify(stored(name)));
  if (failure) throw failure;
};
/** As on the wire. */
export const configOf = async (name: string): Promise<string> => {
  const { messages } = await grpc('ModelConfig', [encode('ModelConfig', { name })]);
  return Buffer.from(messages[0] as Uint8Array).toString('latin1');
};
