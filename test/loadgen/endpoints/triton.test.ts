import { createServer } from 'node:http';
import { describe, expect, it, onTestFinished } from 'vitest';
import type { TextModelInput, TritonEndpoint } from '#loadgen/endpoints/endpoint.ts';
import { openEndpoint } from '#loadgen/endpoints/open-endpoint.ts';
import { requirePlaces, textTensors, tritonValues } from '#loadgen/endpoints/triton-request.ts';
import type { Prompt } from '#loadgen/prompts/prompt.ts';
import type { SendOutcome } from '#loadgen/types.ts';
import { messageType } from '#triton/wire/proto.ts';
import { listen } from '../../support/misbehaving-server.ts';
import { h2Frame } from '../../support/raw-h2.ts';
import { DATA, okHeaders, type Peer, type Seen, startScripted, trailers } from '../../support/scripted-h2.ts';

const prompt: Prompt = { messages: [{ role: 'user', content: 'hé' }], inputTokens: 9, maxTokens: 7, ignoresEnd: true };

const input = (name: string, datatype: string, shape: readonly number[] = [1]): TextModelInput => ({
  name,
  datatype,
  shape,
});
/** As the models of the backends have them. */
const vllm = [
  input('text_input', 'BYTES'),
  input('stream', 'BOOL'),
  input('sampling_parameters', 'BYTES'),
  input('exclude_input_in_output', 'BOOL'),
  input('return_num_output_tokens', 'BOOL'),
];
const tensorRtLlm = [
  input('text_input', 'BYTES', [-1, 1]),
  input('max_tokens', 'INT32', [-1, 1]),
  input('stream', 'BOOL', [-1, 1]),
  input('temperature', 'FP32', [-1, 1]),
];

const options = { model: 'm', timeoutMs: 2000, headers: [] };

async function send(address: string, endpoint: TritonEndpoint, extra?: Record<string, unknown>): Promise<SendOutcome> {
  const transport = openEndpoint({ ...options, address, host: address, endpoint, extra });
  const prepared = transport.prepare({ model: 'm', version: '', inputs: [], batch: 1, prompt });
  const outcome = await new Promise<SendOutcome>((resolve) =>
    transport.send(prepared, (each) => resolve(structuredClone(each))),
  );
  await transport.close();
  return outcome;
}

describe('a text model of Triton over HTTP', () => {
  /** Answers with these events, and keeps what it was asked. */
  async function serving(events: readonly object[], status = 200) {
    const asked: { path: string; body: Record<string, unknown> }[] = [];
    const server = createServer(async (request, response) => {
      let body = '';
      for await (const chunk of request) body += String(chunk);
      asked.push({ path: request.url ?? '', body: JSON.parse(body) });
      response.writeHead(status, { 'content-type': status === 200 ? 'text/event-stream' : 'application/json' });
      if (status === 200) for (const event of events) response.write(`data: ${JSON.stringify(event)}\n\n`);
      else response.write(JSON.stringify(events[0]));
      response.end();
    });
    const port = await listen(server);
    onTestFinished(() => void server.close());
    return { address: `127.0.0.1:${port}`, asked };
  }
  const generate: TritonEndpoint = { kind: 'triton-generate', version: '', inputs: vllm, output: 'text_output' };
  const piece = (text: string | string[], tokens?: number) => ({
    model_name: 'm',
    text_output: text,
    num_output_tokens: tokens,
  });

  it('is asked in the names that it has, and adds up the tokens of its events', async () => {
    const { address, asked } = await serving([piece('a', 1), piece('', 0), piece(' b', 2), piece(' c', 2)]);
    expect(await send(address, generate)).toMatchObject({ ok: true, tokens: { outputTokens: 5, countedBy: 'usage' } });
    const sampling = JSON.stringify({ max_tokens: 7, ignore_eos: true, min_tokens: 7 });
    const text = { text_input: 'hé', stream: true, exclude_input_in_output: true };
    expect(asked[0]).toEqual({
      path: '/v2/models/m/generate_stream',
      body: { ...text, sampling_parameters: sampling, return_num_output_tokens: true },
    });
    await send(address, { ...generate, version: '3', inputs: tensorRtLlm }, { temperature: 0.5 });
    expect(asked[1]).toEqual({
      path: '/v2/models/m/versions/3/generate_stream',
      body: { text_input: 'hé', max_tokens: 7, ignore_eos: true, min_tokens: 7, stream: true, temperature: 0.5 },
    });
  });

  it('counts pieces where it tells no tokens, of lists of strings too, and the prompt as it was counted', async () => {
    const { address } = await serving([piece(['a']), piece(['', '']), piece(['b'])]);
    expect(await send(address, generate)).toMatchObject({
      tokens: { outputTokens: 2, countedBy: 'pieces', inputTokens: 9 },
    });
  });

  it('fails with the words of an error, before the stream and in it', async () => {
    const inStream = await serving([piece('a'), { error: 'out of blocks' }]);
    expect(await send(inStream.address, generate)).toMatchObject({ kind: 'status', message: 'out of blocks' });
    const before = await serving([{ error: 'no such model' }], 400);
    expect(await send(before.address, generate)).toMatchObject({
      kind: 'status',
      status: '400',
      message: 'no such model',
    });
  });
});

describe('a text model of Triton over gRPC', () => {
  const grpc: TritonEndpoint = { kind: 'triton-grpc', version: '2', inputs: tensorRtLlm, output: 'text_output' };
  const int32 = (value: number): Buffer => {
    const raw = Buffer.alloc(4);
    raw.writeInt32LE(value);
    return raw;
  };
  const element = (text: string): Buffer => Buffer.concat([int32(Buffer.byteLength(text)), Buffer.from(text)]);

  /** A frame of a response with these outputs. */
  function response(outputs: Record<string, Buffer>, isFinal: boolean, error?: string): Buffer {
    const type = messageType('ModelStreamInferResponse');
    const infer = {
      model_name: 'm',
      parameters: { triton_final_response: { bool_param: isFinal } },
      outputs: Object.keys(outputs).map((name) => ({ name, datatype: 'BYTES', shape: [1] })),
      raw_output_contents: Object.values(outputs),
    };
    const message = type.fromObject(error === undefined ? { infer_response: infer } : { error_message: error });
    const bytes = type.encode(message).finish();
    return Buffer.concat([Buffer.of(0), int32(bytes.length).reverse(), bytes]);
  }

  async function serving(responses: readonly Buffer[], ending?: 'trailers' | 'reset') {
    const asked: Record<string, unknown>[] = [];
    const server = await startScripted({
      onFrame: (peer: Peer, { type, streamId, payload }: Seen) => {
        if (type !== DATA || payload.length === 0) return;
        const request = messageType('ModelInferRequest');
        asked.push(request.toObject(request.decode(payload.subarray(5)), { longs: Number }));
        peer.write(okHeaders(streamId), ...responses.map((each) => h2Frame(DATA, 0, streamId, each)));
        if (ending === 'trailers') peer.write(trailers(streamId, '0'));
        if (ending === 'reset') setTimeout(() => peer.socket.destroy(), 5);
      },
    });
    onTestFinished(() => server.close());
    return { address: server.url, asked };
  }

  it('is asked by tensors, parameters for what it has no input for, and times every response with text', async () => {
    const { address, asked } = await serving([
      response({ num_output_tokens: int32(1), text_output: element('a') }, false),
      response({ num_output_tokens: int32(0), text_output: element('') }, false),
      response({ text_output: element(' b'), num_output_tokens: int32(2), num_input_tokens: int32(4) }, false),
      response({}, true),
    ]);
    const outcome = await send(address, grpc, { temperature: 0.5 });
    expect(outcome).toMatchObject({
      ok: true,
      responses: 3,
      tokens: { outputTokens: 3, inputTokens: 4, countedBy: 'usage' },
    });
    expect(outcome.ok && outcome.tokens?.gapsNs.length).toBe(1);
    expect(asked[0]).toMatchObject({
      model_name: 'm',
      model_version: '2',
      inputs: [
        { name: 'text_input', datatype: 'BYTES', shape: [1, 1] },
        { name: 'max_tokens', datatype: 'INT32', shape: [1, 1] },
        { name: 'stream', datatype: 'BOOL', shape: [1, 1] },
        { name: 'temperature', datatype: 'FP32', shape: [1, 1] },
      ],
      parameters: { ignore_eos: { bool_param: true }, min_tokens: { int64_param: 7 } },
    });
    const raw = ((asked[0]?.raw_input_contents ?? []) as Uint8Array[]).map((each) => Buffer.from(each));
    expect(raw.slice(0, 3)).toEqual([element('hé'), int32(7), Buffer.of(1)]);
    expect(raw[3]?.readFloatLE()).toBe(0.5);
  });

  it('has failures of their own for errors, for streams that end too soon and for replies without text', async () => {
    const text = response({ text_output: element('a') }, false);
    const kindOf = async (responses: readonly Buffer[], ending?: 'trailers' | 'reset'): Promise<string> => {
      const { address } = await serving(responses, ending);
      const outcome = await send(address, grpc);
      return outcome.ok ? 'ok' : outcome.kind;
    };
    expect(await kindOf([text, response({}, true)])).toBe('ok');
    expect(await kindOf([text, response({}, false, 'no memory')])).toBe('status');
    expect(await kindOf([text], 'trailers')).toBe('cut-off');
    expect(await kindOf([text], 'reset')).toBe('cut-off');
    expect(await kindOf([], 'reset')).toBe('reset');
    expect(await kindOf([response({}, true)])).toBe('empty');
  });
});

describe('the tensors of text', () => {
  it('are those of the backends, or the only ones of strings', () => {
    const outputs = [input('text_output', 'BYTES'), input('finish_reason', 'BYTES')];
    expect(textTensors('m', vllm, outputs)).toMatchObject({ input: { name: 'text_input' }, output: 'text_output' });
    const own = [input('question', 'BYTES'), input('length', 'INT32')];
    expect(textTensors('m', own, [input('answer', 'BYTES')])).toMatchObject({ output: 'answer' });
    expect(() => textTensors('m', [input('x', 'FP32')], outputs)).toThrow(
      expect.objectContaining({ code: 'UNSUPPORTED', message: expect.stringContaining('no known text input') }),
    );
    expect(() => textTensors('m', own, [input('a', 'BYTES'), input('b', 'BYTES')])).toThrow(/no known text output/);
  });
});

describe('the fields that a call was recorded with', () => {
  const recorded = (fields: Prompt['fields'] & object) => ({
    requests: [{ model: 'm', version: '', inputs: [], batch: 1, prompt: { ...prompt, fields } }],
  });
  const endpointWith = (more: TextModelInput): TritonEndpoint => ({
    kind: 'triton-grpc',
    version: '',
    inputs: [input('text_input', 'BYTES'), more],
    output: 'text_output',
  });

  it('are inputs, sampling parameters or parameters of a Triton model, or refused by name', () => {
    const json = endpointWith(input('sampling_parameters', 'BYTES'));
    const inputs = endpointWith(input('temperature', 'FP32'));
    const fields = { temperature: 0.5, top_p: 0.9 };
    expect(tritonValues('m', json, { ...prompt, fields })).toContainEqual(
      expect.objectContaining({ name: 'sampling_parameters', value: expect.stringContaining('"temperature":0.5') }),
    );
    const values = tritonValues('m', inputs, { ...prompt, fields }).map(({ name, value, input }) => [
      name,
      value,
      input?.name,
    ]);
    expect(values).toContainEqual(['temperature', 0.5, 'temperature']);
    expect(values).toContainEqual(['top_p', 0.9, undefined]);
    requirePlaces(recorded({ ...fields, stop: ['x'] }), json);
    for (const [lost, endpoint] of [
      [{ stop: ['x'] }, inputs],
      [{ tools: [] }, json],
    ] as const)
      expect(() => requirePlaces(recorded(lost), endpoint)).toThrow(
        expect.objectContaining({
          code: 'INPUT_INVALID',
          message: expect.stringContaining(`'${Object.keys(lost)[0]}'`),
        }),
      );
  });
});
