import { Client, credentials } from '@grpc/grpc-js';
import { Agent, request } from 'undici';
import { serviceMethod } from '#triton/wire/proto.ts';

/**
 * How an infer call ended: 0 or 200 is success, else the protocol's own status with the server's
 * words.
 */
export interface InferAnswer {
  readonly status: number;
  readonly message: string;
  readonly outputs: readonly { readonly name: string; readonly datatype: string; readonly shape: readonly number[] }[];
}

export interface TestInput {
  readonly name: string;
  readonly datatype: string;
  readonly shape: readonly number[];
  readonly raw: Buffer;
}

export interface InferClient {
  infer(model: string, inputs: readonly TestInput[]): Promise<InferAnswer>;
  close(): Promise<void>;
}

/** FP32 zeros named IN. */
export function fp32Input(shape: readonly number[], name = 'IN'): TestInput {
  return { name, datatype: 'FP32', shape, raw: Buffer.alloc(shape.reduce((product, size) => product * size, 4)) };
}

/** The bytes of a ModelInferRequest. */
export function inferMessage(model: string, inputs: readonly TestInput[]): Buffer {
  const { requestType } = serviceMethod('ModelInfer');
  const message = requestType.fromObject({
    model_name: model,
    inputs: inputs.map(({ raw: _, ...input }) => input),
    raw_input_contents: inputs.map((input) => input.raw),
  });
  return Buffer.from(requestType.encode(message).finish());
}

export function grpcInferClient(url: string): InferClient {
  const client = new Client(url, credentials.createInsecure());
  const { path, responseType } = serviceMethod('ModelInfer');
  return {
    infer: (model, inputs) => {
      const bytes = inferMessage(model, inputs);
      return new Promise((resolve) => {
        const pass = (buffer: Buffer): Buffer => buffer;
        client.makeUnaryRequest(path, pass, pass, bytes, { deadline: Date.now() + 10_000 }, (error, reply) => {
          if (error || !reply) resolve({ status: error?.code ?? -1, message: error?.details ?? '', outputs: [] });
          else {
            const answer = responseType.toObject(responseType.decode(reply), { longs: Number });
            resolve({ status: 0, message: '', outputs: answer.outputs ?? [] });
          }
        });
      });
    },
    close: async () => client.close(),
  };
}

export function httpInferClient(url: string): InferClient {
  const agent = new Agent({ pipelining: 1 });
  return {
    infer: async (model, inputs) => {
      const described = inputs.map(({ raw, ...input }) => ({ ...input, parameters: { binary_data_size: raw.length } }));
      const header = Buffer.from(JSON.stringify({ inputs: described, parameters: { binary_data_output: true } }));
      try {
        const response = await request(`http://${url}/v2/models/${model}/infer`, {
          dispatcher: agent,
          method: 'POST',
          headersTimeout: 10_000,
          headers: { 'inference-header-content-length': String(header.length) },
          body: Buffer.concat([header, ...inputs.map((input) => input.raw)]),
        });
        const body = Buffer.from(await response.body.arrayBuffer());
        const length = Number(response.headers['inference-header-content-length'] ?? body.length);
        const json = JSON.parse(body.subarray(0, length).toString()) as {
          error?: string;
          outputs?: InferAnswer['outputs'];
        };
        return { status: response.statusCode, message: json.error ?? '', outputs: json.outputs ?? [] };
      } catch (error) {
        return { status: -1, message: (error as Error).message, outputs: [] };
      }
    },
    close: () => agent.destroy(),
  };
}
