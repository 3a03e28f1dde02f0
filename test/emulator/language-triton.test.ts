import { Client, credentials } from '@grpc/grpc-js';
import { request } from 'undici';
import { describe, expect, it, onTestFinished } from 'vitest';
import { estimatedTokens } from '#base/tokens.ts';
import { serviceMethod } from '#triton/wire/proto.ts';
import { emulatorForTest, languageProfile } from '../support/emulator.ts';

async function start(profile = languageProfile()) {
  const emulator = await emulatorForTest({ profile });
  const http = async (method: 'GET' | 'POST', path: string, body?: object) => {
    const text = body && JSON.stringify(body);
    const reply = await request(`http://${emulator.httpUrl}${path}`, { method, ...(text && { body: text }) });
    return { status: reply.statusCode, text: await reply.body.text() };
  };
  const post = (path: string, body: object) => http('POST', path, body);
  return { emulator, http, post };
}

const length = (tokens: number): string => JSON.stringify({ max_tokens: `${tokens}`, ignore_eos: true });

/** One element of BYTES. */
function bytesTensor(text: string): Buffer {
  const size = Buffer.alloc(4);
  size.writeUInt32LE(Buffer.byteLength(text));
  return Buffer.concat([size, Buffer.from(text)]);
}

/** The texts that a stream gives for one request, and whether the last was said to be so. */
async function streamed(url: string, isStream: boolean, text: string, sampling: string) {
  const client = new Client(url, credentials.createInsecure());
  onTestFinished(() => client.close());
  const { path, requestType, responseType } = serviceMethod('ModelStreamInfer');
  const call = client.makeBidiStreamRequest(
    path,
    (bytes: Buffer) => bytes,
    (bytes: Buffer) => bytes,
    { deadline: Date.now() + 10_000 },
  );
  const input = (name: string, datatype: string) => ({ name, datatype, shape: [1] });
  const message = requestType.fromObject({
    model_name: 'talk',
    id: 'r1',
    parameters: { triton_enable_empty_final_response: { bool_param: true } },
    inputs: [input('text_input', 'BYTES'), input('stream', 'BOOL'), input('sampling_parameters', 'BYTES')],
    raw_input_contents: [bytesTensor(text), Buffer.from([isStream ? 1 : 0]), bytesTensor(sampling)],
  });
  call.write(Buffer.from(requestType.encode(message).finish()));
  call.end();
  const texts: string[] = [];
  const finals: boolean[] = [];
  for await (const bytes of call) {
    const reply = responseType.toObject(responseType.decode(bytes as Buffer), { bytes: Array }) as {
      readonly error_message?: string;
      readonly infer_response?: {
        readonly raw_output_contents?: readonly number[][];
        readonly parameters?: Readonly<Record<string, { readonly bool_param?: boolean }>>;
      };
    };
    expect(reply.error_message ?? '').toBe('');
    const [raw] = reply.infer_response?.raw_output_contents ?? [];
    if (raw) texts.push(Buffer.from(raw.slice(4)).toString('utf8'));
    finals.push(reply.infer_response?.parameters?.triton_final_response?.bool_param === true);
  }
  return { texts, finals };
}

describe("a language model over Triton's protocols", () => {
  it('generates over HTTP, as one text or as events', async () => {
    const { post } = await start();
    const one = await post('/v2/models/talk/generate', { text_input: 'hello', sampling_parameters: length(6) });
    expect(JSON.parse(one.text)).toMatchObject({ model_name: 'talk', text_output: expect.any(String) });
    expect(estimatedTokens(JSON.parse(one.text).text_output)).toBe(6);
    const body = { text_input: 'hello', stream: true, parameters: { max_tokens: 4, ignore_eos: true } };
    const events = (await post('/v2/models/talk/generate_stream', body)).text.split('\n\n').filter(Boolean);
    const texts = events.map((event) => JSON.parse(event.replace('data: ', '')).text_output as string);
    expect(texts).toHaveLength(4);
    expect(estimatedTokens(texts.join(''))).toBe(4);
  });

  it('streams over gRPC, a response for each token and an empty last one', async () => {
    const { emulator } = await start();
    const { texts, finals } = await streamed(emulator.grpcUrl, true, 'hello there', length(5));
    expect(texts).toHaveLength(5);
    expect(estimatedTokens(texts.join(''))).toBe(5);
    expect(finals).toEqual([false, false, false, false, false, true]);
    const whole = await streamed(emulator.grpcUrl, false, 'hello there', length(5));
    expect(whole.texts.map(estimatedTokens)).toEqual([5]);
  });

  it('counts requests in the statistics, and tokens in the page of the engine', async () => {
    const { http, post } = await start();
    await post('/v2/models/talk/generate', { text_input: 'one two three', sampling_parameters: length(5) });
    const { text } = await http('GET', '/v2/models/talk/stats');
    expect(JSON.parse(text).model_stats[0].inference_stats.success.count).toBe(1);
    expect((await http('GET', '/metrics')).text).toContain('prompt_tokens_total{engine="0",model_name="talk"} 3\n');
  });

  it('refuses a request without a text, or too long a one', async () => {
    const { post } = await start();
    expect((await post('/v2/models/talk/generate', { prompt_ids: 'x' })).status).toBe(400);
    const long = await post('/v2/models/talk/generate', { text_input: 'word '.repeat(3000) });
    expect(long).toMatchObject({ status: 400, text: expect.stringContaining('maximum context length') });
  });

  it("takes its engine's settings from an uploaded model.json", async () => {
    const { http, post } = await start();
    const own = JSON.parse((await http('GET', '/v2/models/talk/config')).text);
    // Triton drops files that come with the config that serves: something in it has to change with
    // them.
    const load = (settings: object, isMarked = true) => {
      const text = JSON.stringify(settings);
      const config = JSON.stringify(isMarked ? { ...own, parameters: { settings: { string_value: text } } } : own);
      const file = Buffer.from(text).toString('base64');
      return post('/v2/repository/models/talk/load', { parameters: { config, 'file:1/model.json': file } });
    };
    const mostTokens = async () => JSON.parse((await http('GET', '/v1/models')).text).data[0].max_model_len;
    expect(await load({ max_model_len: 512 }, false)).toMatchObject({ status: 200 });
    expect(await mostTokens()).toBe(2048);
    expect(await load({ model: 'org/name', max_num_seqs: 4, max_model_len: 512 })).toMatchObject({ status: 200 });
    expect(await mostTokens()).toBe(512);
    expect(await load({ max_num_seqs: 0 })).toMatchObject({
      status: 400,
      text: expect.stringContaining('max_num_seqs'),
    });
    expect(await load({ max_model_len: 10_000_000 })).toMatchObject({
      status: 400,
      text: expect.stringContaining('max seq len (10000000) is larger'),
    });
    expect(await mostTokens()).toBe(512);
    expect((await post('/v2/models/talk/generate', { text_input: 'hello' })).status).toBe(200);
  });
});
