import { deflateSync, gzipSync } from 'node:zlib';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { JsonObject } from '#base/json.ts';
import { framed } from '#emulator/grpc/messages.ts';
import { serviceMethod } from '#triton/wire/proto.ts';
import { damagedBytes, FUZZ_TIMEOUT_MS, inPieces } from '../../support/fuzz.ts';
import { bytesOf, infer, sizes } from './requests.ts';
import { type Answer, answered, ask, checkWords, decode, goodBytes, grpc, shmKey, unharmed } from './subject.ts';

/** As many outputs as asked for, each as long as its shape says. */
function checkAnswer(message: Uint8Array, request: Uint8Array): void {
  const { requestType } = serviceMethod('ModelInfer');
  const asked = requestType.toObject(requestType.decode(request), { longs: Number, defaults: true });
  const { model_name, outputs, raw_output_contents } = decode('ModelInfer', message) as unknown as Answer;
  expect(model_name).toBe(asked.model_name);
  expect(outputs.length).toBe(raw_output_contents.length);
  const placed = new Set(
    asked.outputs
      .filter((each: JsonObject) => 'shared_memory_region' in (each.parameters as object))
      .map(({ name }: JsonObject) => name),
  );
  for (const [index, { name, datatype, shape }] of outputs.entries()) {
    const elements = shape.reduce((product, size) => product * size, 1);
    const bytes = placed.has(name) ? 0 : elements * (bytesOf[datatype] as number);
    expect(raw_output_contents[index]?.length).toBe(bytes);
  }
  for (const { shape } of asked.inputs) expect(shape.every((size: number) => size > 0)).toBe(true);
  if (asked.outputs.length === 0) expect(outputs.length).toBeGreaterThan(0);
}

describe('inference requests to the emulator over gRPC that are bad', () => {
  beforeAll(() => ask('SystemSharedMemoryRegister', { name: 'r', key: `/${shmKey}`, byte_size: 4096 }));
  afterAll(() => ask('SystemSharedMemoryUnregister', {}));

  it('are refused, or answered by what they ask', { timeout: FUZZ_TIMEOUT_MS }, async () => {
    await unharmed(fc.tuple(infer, sizes), async ([bytes, lengths]) => {
      const ended = await grpc('ModelInfer', [], { bytes: [...inPieces(framed(bytes) as Buffer, lengths)] });
      const isTaken = answered(ended);
      if (isTaken) checkAnswer(ended.messages[0] as Uint8Array, bytes);
      return isTaken;
    });
  });

  it('on a stream are refused, or answered one by one', { timeout: FUZZ_TIMEOUT_MS }, async () => {
    const { responseType } = serviceMethod('ModelStreamInfer');
    await unharmed(
      fc.array(infer, { maxLength: 4 }),
      async (requests) => {
        const ended = await grpc('ModelStreamInfer', requests);
        let errors = 0;
        for (const message of ended.messages) {
          const { error_message: error } = responseType.toObject(responseType.decode(message), { defaults: true });
          checkWords(error);
          if (error) errors++;
        }
        const isTaken = answered(ended);
        // The decoupled model answers three times, and says once that it has; with nobody's error
        // each has its answer.
        if (isTaken) expect(ended.messages.length).toBeLessThanOrEqual(4 * requests.length);
        return isTaken && requests.length > 0 && errors === 0;
      },
      0.5,
    );
  });

  it('in broken frames are refused', { timeout: FUZZ_TIMEOUT_MS }, async () => {
    const packed = (bytes: Buffer): Buffer => {
      const frame = framed(bytes) as Buffer;
      frame[0] = 1;
      return frame;
    };
    const calls = [framed(goodBytes) as Buffer, packed(gzipSync(goodBytes)), packed(deflateSync(goodBytes))];
    const encoding = fc.constantFrom('gzip', 'deflate', 'identity', 'br', '');
    await unharmed(
      fc.tuple(damagedBytes(calls), sizes, encoding),
      async ([bytes, lengths, name]) => {
        const ended = await grpc('ModelInfer', [], { bytes: [...inPieces(bytes, lengths)], encoding: name });
        const isTaken = answered(ended);
        if (isTaken) expect(ended.messages.length).toBe(1);
        return isTaken;
      },
      0.5,
    );
  });
});
