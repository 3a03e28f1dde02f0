import fc from 'fast-check';
import { describe, expect, it, onTestFinished } from 'vitest';
import { numericType } from '#loadgen/input-data/data-types.ts';
import { encodeTexts } from '#loadgen/input-data/text-elements.ts';
import { openGrpcJs } from '#loadgen/transports/grpc-js.ts';
import { openGrpcLean } from '#loadgen/transports/grpc-lean.ts';
import { openGrpcStream } from '#loadgen/transports/grpc-stream.ts';
import { openHttpLean } from '#loadgen/transports/http-lean.ts';
import { jsonValues } from '#loadgen/transports/json-tensors.ts';
import { openTransport } from '#loadgen/transports/open.ts';
import { openUndici } from '#loadgen/transports/undici.ts';
import type { InferRequest, Transport, TransportOptions } from '#loadgen/types.ts';
import { type InferServer, startGrpcServer, startHttpServer } from '../support/infer-servers.ts';
import { inferRequest, sendMany } from '../support/transport-suite.ts';

const opens: Record<string, [() => Promise<InferServer>, (options: TransportOptions) => Transport]> = {
  'gRPC through grpc-js': [startGrpcServer, openGrpcJs],
  'gRPC on our own client': [startGrpcServer, openGrpcLean],
  'gRPC on streams': [startGrpcServer, openGrpcStream],
  'HTTP through undici': [startHttpServer, openUndici],
  'HTTP on our own client': [startHttpServer, openHttpLean],
};

describe.each(Object.entries(opens))('%s', (_, [start, open]) => {
  const messages = async (request: InferRequest, options: Partial<TransportOptions>): Promise<Buffer[]> => {
    const server = await start();
    onTestFinished(() => server.close());
    const transport = open({ url: server.url, timeoutMs: 5000, ...options });
    onTestFinished(() => transport.close());
    expect(await sendMany(transport, request, 3)).toMatchObject(Array(3).fill({ ok: true }));
    return server.received.map(({ message }) => message);
  };

  it.each(['gzip', 'deflate'] as const)('shows a server the same under %s', async (compression) => {
    const request = inferRequest(200_000);
    const [plain] = await messages(request, {});
    const received = await messages(request, { compression });
    expect(received.map((message) => message.equals(plain as Buffer))).toEqual([true, true, true]);
  });
});

describe.each(['HTTP through undici', 'HTTP on our own client'])('%s', (name) => {
  const [, open] = opens[name] as [unknown, (options: TransportOptions) => Transport];

  it.each([undefined, 'gzip'] as const)('sends tensors as JSON (compression: %s)', async (compression) => {
    const server = await startHttpServer();
    onTestFinished(() => server.close());
    const transport = open({ url: server.url, timeoutMs: 5000, tensorFormat: 'json', compression });
    onTestFinished(() => transport.close());
    const request: InferRequest = {
      model: 'm',
      version: '2',
      batch: 1,
      inputs: [
        {
          name: 'A "quoted"',
          datatype: 'INT64',
          shape: [2],
          raw: new Uint8Array(BigInt64Array.of(2n ** 62n + 1n, -1n).buffer),
        },
        { name: 'B', datatype: 'BYTES', shape: [2], raw: encodeTexts(['größe', '']) },
      ],
      parameters: [{ name: 'priority', type: 'int', value: 3 }],
    };
    expect(await sendMany(transport, request)).toEqual([{ ok: true }]);
    const text = server.received[0]?.message.toString() ?? '';
    expect(text).toContain('4611686018427387905');
    expect(JSON.parse(text)).toEqual({
      inputs: [
        { name: 'A "quoted"', datatype: 'INT64', shape: [2], data: [2 ** 62, -1] },
        { name: 'B', datatype: 'BYTES', shape: [2], data: ['größe', ''] },
      ],
      parameters: { priority: 3 },
    });
  });
});

describe('JSON tensors', () => {
  const values = (datatype: string, raw: Uint8Array): unknown =>
    JSON.parse(jsonValues({ name: 'X', datatype, shape: [], raw }));

  it('hold every value', () => {
    const floats = fc.array(fc.float({ noNaN: true, noDefaultInfinity: true }));
    fc.assert(
      fc.property(floats, (numbers) => {
        const back = values('FP32', new Uint8Array(Float32Array.from(numbers).buffer));
        // -0 is 0 in JSON's text.
        expect(back).toEqual(numbers.map((value) => value + 0));
      }),
    );
    fc.assert(
      fc.property(fc.array(fc.string({ unit: 'grapheme' })), (texts) => {
        expect(values('BYTES', encodeTexts(texts))).toEqual(texts);
      }),
    );
    expect(values('BOOL', Uint8Array.of(0, 1, 2))).toEqual([false, true, true]);
  });

  it.each(['UINT8', 'UINT16', 'UINT32', 'UINT64', 'INT8', 'INT16', 'INT32', 'INT64', 'FP64'])(
    'reach the limits of %s',
    (datatype) => {
      const type = numericType(datatype);
      if (!type) throw new Error('no such type');
      const raw = new Uint8Array(2 * type.bytes);
      type.write(new DataView(raw.buffer), 0, type.low);
      type.write(new DataView(raw.buffer), type.bytes, type.high);
      const text = jsonValues({ name: 'X', datatype, shape: [2], raw });
      expect(text).toBe(`[${type.low},${type.high}]`);
    },
  );

  it('are refused where JSON has no form', () => {
    const unsupported = expect.objectContaining({ code: 'UNSUPPORTED' });
    expect(() => values('FP16', new Uint8Array(2))).toThrow(unsupported);
    expect(() => values('BF16', new Uint8Array(2))).toThrow(unsupported);
    expect(() => values('FP32', new Uint8Array(Float32Array.of(Number.NaN).buffer))).toThrow(unsupported);
    expect(() => values('BYTES', encodeTexts([Uint8Array.of(0xff)]))).toThrow(unsupported);
  });

  it('are not for gRPC, nor for replies that are to be checked', () => {
    const options = { url: 'localhost:1', timeoutMs: 1, tensorFormat: 'json' } as const;
    const usage = expect.objectContaining({ code: 'USAGE' });
    expect(() => openTransport('grpc', options)).toThrow(usage);
    expect(() => openTransport('http', { ...options, check: () => null })).toThrow(usage);
  });
});
