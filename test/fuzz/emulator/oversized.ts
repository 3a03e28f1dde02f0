import { gzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { framed } from '#emulator/grpc/messages.ts';
import { AnswerCache, type EncodedAnswer } from '#emulator/models/answer-cache.ts';
import { nested } from '../../support/fuzz.ts';
import type { GrpcEnd } from '../../support/virtual-emulator.ts';
import { checkReply, httpRequest, httpTensor } from './http-call.ts';
import { checkWords, grpc, http, load, putBack, stored } from './subject.ts';

describe('a request to the emulator that stands for more than it is', () => {
  const length = (bytes: number): Buffer => {
    const prefix = Buffer.alloc(5);
    prefix.writeUInt32BE(bytes, 1);
    return prefix;
  };
  const packed = (frame: Buffer): Buffer => Buffer.concat([Buffer.of(1), frame.subarray(1)]);
  /** 144 MiB: a gzip file may have any number of parts. */
  const zeros = Buffer.concat(Array<Buffer>(9).fill(gzipSync(Buffer.alloc(2 ** 24))));
  const refusal = async (end: Promise<GrpcEnd>): Promise<string> => {
    const { failure } = await end;
    checkWords(failure?.message ?? '');
    return `${failure?.status}: ${failure?.message}`;
  };

  it('by its length is refused before it has come', async () => {
    const bytes = [Buffer.concat([length(2 ** 32 - 1), Buffer.alloc(9)])];
    expect(await refusal(grpc('ModelInfer', [], { bytes }))).toMatch(/RESOURCE_EXHAUSTED: .*larger than max/);
  });

  it('packed is refused over both protocols', async () => {
    const bytes = [packed(framed(zeros) as Buffer)];
    expect(await refusal(grpc('ModelInfer', [], { bytes, encoding: 'gzip' }))).toMatch(/decompress/);
    const reply = await http(httpRequest('POST /v2/models/m/infer', zeros, ['Content-Encoding: gzip']));
    expect(checkReply(reply)).toEqual({ error: expect.stringMatching(/decompress/) });
  });

  it('by a count of values that its bytes do not hold is refused at once', async () => {
    const contents = Buffer.of(0x1a, 0xff, 0xff, 0xff, 0xff, 0x0f);
    const input = Buffer.concat([Buffer.of(0x2a, contents.length), contents]);
    const bytes = Buffer.concat([Buffer.of(0x0a, 1, 0x6d, 0x2a, input.length), input]);
    expect(await refusal(grpc('ModelInfer', [bytes]))).toMatch(/INTERNAL/);
  });

  it('by groups or lists deeper than a stack is refused', async () => {
    expect(await refusal(grpc('ModelInfer', [Buffer.alloc(1_000_000, 0x0b)]))).toMatch(/INTERNAL/);
    const deep = nested('[', '', ']');
    expect(await refusal(load('second', `{"parameters":${deep}}`))).toMatch(/failed to poll/);
    for (const [line, body] of [
      ['POST /v2/models/m/infer', `{"inputs":[{"name":"IN","datatype":"FP32","shape":[1,4],"data":${deep}}]}`],
      ['POST /v2/models/m/generate', `{"IN":${deep}}`],
      ['POST /v2/logging', deep],
    ] as const) {
      expect(checkReply(await http(httpRequest(line, body)))).toEqual({
        error: expect.stringMatching(/failed to parse/),
      });
    }
  });

  it.each<[string, object, RegExp]>([
    ['instances', { instance_group: [{ count: 2 ** 31 - 1 }] }, /4096 instances/],
    [
      'bytes of an answer',
      { output: [{ name: 'OUT', data_type: 'TYPE_FP32', dims: [2 ** 31, 2 ** 20] }] },
      /failed to allocate/,
    ],
    ['values of an answer', { output: [{ name: 'OUT', data_type: 'TYPE_BOOL', dims: [2 ** 29] }] }, /values as JSON/],
  ])('by a config of too many %s is refused', async (_, change, words) => {
    const isLoaded = await load('second', JSON.stringify({ ...stored('second'), ...change }));
    const body = JSON.stringify({ inputs: [httpTensor()] });
    const { error } = checkReply(await http(httpRequest('POST /v2/models/second/infer', body))) as { error?: string };
    expect(isLoaded.failure?.message ?? error).toMatch(words);
    await putBack('second');
  });

  it('by asking in ever new ways makes it remember no more than some', () => {
    const cache = new AnswerCache();
    const [small, large] = [Buffer.alloc(9), Buffer.alloc(2 ** 20)].map((body) => ({ body, headerLength: null }));
    const kept = (answer: EncodedAnswer, times: number, asked: string): number => {
      for (let way = 0; way < times; way++) cache.set(`${asked} ${way}`, answer);
      expect(cache.get(`${asked} ${times - 1}`)).toBe(answer);
      return Array.from({ length: times }, (_, way) => cache.get(`${asked} ${way}`)).filter(Boolean).length;
    };
    expect(kept(small as EncodedAnswer, 5000, 'small')).toBeLessThanOrEqual(1000);
    expect(kept(large as EncodedAnswer, 900, 'large')).toBeLessThanOrEqual(256);
  });

  it('ends a call that brings no message', async () => {
    for (const method of ['ModelInfer', 'ServerLive'])
      expect(await refusal(grpc(method, []))).toMatch(/without its request/);
    expect(await grpc('ModelStreamInfer', [])).toEqual({ messages: [], failure: null });
  });
});
