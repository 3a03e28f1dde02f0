import { afterEach, describe, expect, it } from 'vitest';
import type { EndpointOptions, OpenAiEndpoint } from '#loadgen/endpoints/endpoint.ts';
import { openEndpoint } from '#loadgen/endpoints/open-endpoint.ts';
import type { Prompt } from '#loadgen/prompts/prompt.ts';
import type { SendOutcome } from '#loadgen/types.ts';
import { refusingUrl, startRaw } from '../../support/misbehaving-server.ts';
import { type OpenAiServer, openAiServer, type ScriptedModel } from '../../support/openai-server.ts';

const cleanUps: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const cleanUp of cleanUps.splice(0).reverse()) await cleanUp();
});

const chat: OpenAiEndpoint = { kind: 'openai-chat', path: '/v1/chat/completions', saysUsage: true, canIgnoreEnd: true };
const completions: OpenAiEndpoint = { ...chat, kind: 'openai-completions', path: '/v1/completions' };

const hello: Prompt = {
  messages: [{ role: 'user', content: 'hello "you"' }],
  inputTokens: 3,
  maxTokens: 4,
  ignoresEnd: true,
};

async function serve(model: ScriptedModel): Promise<OpenAiServer> {
  const server = await openAiServer(model);
  cleanUps.push(() => server.close());
  return server;
}

/** Sends the prompts one after the other, over one transport. */
async function ask(address: string, prompts: readonly Prompt[], more: Partial<EndpointOptions> = {}) {
  const options = { address, host: address, model: 'm', endpoint: chat, timeoutMs: 2000, headers: [], ...more };
  const transport = openEndpoint(options);
  cleanUps.push(() => transport.close());
  const outcomes: SendOutcome[] = [];
  for (const prompt of prompts) {
    const prepared = transport.prepare({ model: 'm', version: '', inputs: [], batch: 1, prompt });
    outcomes.push(
      await new Promise<SendOutcome>((resolve) =>
        transport.send(prepared, (outcome) => resolve(structuredClone(outcome))),
      ),
    );
  }
  return outcomes;
}

const pieces = (...texts: readonly string[]) => texts.map((text) => ({ afterMs: 0, text }));
const one = async (model: ScriptedModel['reply'], more: Partial<EndpointOptions> = {}, prompt = hello) => {
  const server = await serve({ reply: model });
  const [outcome] = await ask(server.url, [prompt], more);
  return outcome;
};

describe('an OpenAI endpoint', () => {
  it('is asked for a stream with its usage, and goes on to the length that is asked for', async () => {
    const server = await serve({ reply: () => ({ pieces: pieces('a') }) });
    await ask(server.url, [hello]);
    await ask(server.url, [hello], { endpoint: { ...completions, canIgnoreEnd: false }, extra: { temperature: 0 } });
    await ask(server.url, [{ ...hello, maxTokens: null, ignoresEnd: false }], {
      endpoint: { ...chat, saysUsage: false },
    });
    const stream = { model: 'm', stream: true };
    const usage = { stream_options: { include_usage: true } };
    expect(server.calls.map(({ path, asked }) => [path, asked])).toEqual([
      [
        '/v1/chat/completions',
        { ...stream, ...usage, messages: hello.messages, max_tokens: 4, ignore_eos: true, min_tokens: 4 },
      ],
      ['/v1/completions', { ...stream, ...usage, prompt: 'hello "you"', max_tokens: 4, temperature: 0 }],
      ['/v1/chat/completions', { ...stream, messages: hello.messages }],
    ]);
  });

  it('is sent the fields that a call was recorded with', async () => {
    const server = await serve({ reply: () => ({ pieces: pieces('a') }) });
    const fields = { temperature: 0.5, tools: [{ type: 'function' }] };
    await ask(server.url, [{ ...hello, fields }], { extra: { temperature: 1 } });
    expect(server.calls[0]?.asked).toMatchObject({ tools: fields.tools, temperature: 1, messages: hello.messages });
  });

  it.each([chat, completions])('tells tokens, cached ones and times of $kind', async (endpoint) => {
    const reply = () => ({ pieces: pieces(' a', ' b', ' c'), usage: { input: 7, output: 5, cached: 2 } });
    const outcome = await one(reply, { endpoint });
    expect(outcome).toMatchObject({
      ok: true,
      tokens: { inputTokens: 7, outputTokens: 5, cachedTokens: 2, countedBy: 'usage' },
    });
    if (!outcome?.ok || !outcome.tokens) throw new Error('no tokens');
    expect(outcome.tokens.gapsNs).toHaveLength(2);
    expect(outcome.tokens.firstNs).toBeGreaterThan(0);
  });

  it('counts pieces, and the prompt by its own count, where the server says nothing', async () => {
    expect(await one(() => ({ pieces: pieces('a', 'b') }))).toMatchObject({
      tokens: { inputTokens: 3, outputTokens: 2, countedBy: 'pieces' },
    });
  });

  it('takes reasoning for output, and not for the answer', async () => {
    const reply = () => ({
      pieces: [{ afterMs: 0, text: 'hm', reasoning: true }, ...pieces('so', '!')],
      usage: { input: 1, output: 3 },
    });
    const outcome = await one(reply, {}, { ...hello, wantsText: true });
    expect(outcome).toMatchObject({ ok: true, tokens: { outputTokens: 3, text: 'so!' } });
    expect(outcome?.ok && outcome.tokens?.gapsNs.length).toBe(2);
  });

  it('has failures of their own for replies that are cut off, and for those without output', async () => {
    const kindOf = async (reply: ScriptedModel['reply']): Promise<object> => {
      const outcome = await one(reply);
      return outcome && !outcome.ok ? [outcome.kind, outcome.status] : ['ok'];
    };
    expect(await kindOf(() => ({ pieces: pieces('a'), ending: 'cut' }))).toEqual(['cut-off', undefined]);
    expect(await kindOf(() => ({ pieces: pieces('a'), ending: 'reset' }))).toEqual(['cut-off', undefined]);
    expect(await kindOf(() => ({ pieces: [], ending: 'done' }))).toEqual(['empty', undefined]);
    expect(await kindOf(() => ({ pieces: pieces('a'), ending: 'error' }))).toEqual(['status', 'STREAM_ERROR']);
  });

  it('goes on after a failure, and keeps its connection after a good reply', async () => {
    const endings = ['done', 'error', 'cut', 'reset', 'done'] as const;
    const reply = (_: object, call: number) => ({ pieces: pieces('a'), ending: endings[call] ?? ('done' as const) });
    const server = await serve({ reply });
    const outcomes = await ask(server.url, [hello, hello, hello, hello, hello]);
    expect(outcomes.map((outcome) => (outcome.ok ? 'ok' : outcome.kind))).toEqual([
      ...['ok', 'status', 'cut-off', 'cut-off', 'ok'],
    ]);
  });

  it('repeats the words of a refusal, but no key', async () => {
    const server = await serve({
      reply: () => ({ pieces: [] }),
      refuse: (_, { model }) => ({ status: 401, message: `no such key: Bearer secret-key for ${model}` }),
    });
    const headers = [{ name: 'authorization', value: 'Bearer secret-key' }];
    const [outcome] = await ask(server.url, [hello], { headers });
    expect(outcome).toMatchObject({ ok: false, kind: 'status', status: '401' });
    expect(JSON.stringify(outcome)).toContain('no such key');
    expect(JSON.stringify(outcome)).not.toContain('secret-key');
    expect(server.calls[0]?.headers.authorization).toBe('Bearer secret-key');
  });

  it('reads bodies with a length, in chunks of any size, and to the end of the connection', async () => {
    const event = `data: ${JSON.stringify({ choices: [{ delta: { content: 'a' } }] })}\n\n`;
    const body = `${event}${event}data: [DONE]\n\n`;
    const head = (...lines: string[]) =>
      ['HTTP/1.1 200 OK', 'Content-Type: text/event-stream', ...lines, '', ''].join('\r\n');
    const chunk = (part: string) => `${part.length.toString(16)}\r\n${part}\r\n`;
    const forms = [
      `${head(`Content-Length: ${body.length}`)}${body}`,
      `${head('Transfer-Encoding: chunked')}${[...body].map(chunk).join('')}0\r\n\r\n`,
      `${head('Transfer-Encoding: chunked')}${chunk(body.slice(0, 9))}${(body.length - 9).toString(16)};x=1\r\n${body.slice(9)}\r\n0\r\nA: b\r\n\r\n`,
      `${head('Connection: close')}${body}`,
    ];
    let asked = 0;
    const server = await startRaw((socket) => {
      socket.on('data', () => {
        const form = forms[asked++] as string;
        socket.write(form);
        if (form.includes('Connection: close')) socket.end();
      });
    });
    cleanUps.push(() => server.close());
    const outcomes = await ask(server.url, [hello, hello, hello, hello]);
    for (const outcome of outcomes) expect(outcome).toMatchObject({ ok: true, tokens: { outputTokens: 2 } });
    expect(outcomes).toHaveLength(4);
  });

  it('fails in time, and where nobody listens', async () => {
    const slow = () => ({ pieces: [{ afterMs: 60_000, text: 'a' }] });
    expect(await one(slow, { timeoutMs: 50 })).toMatchObject({ ok: false, kind: 'timeout' });
    const [outcome] = await ask(await refusingUrl(), [hello]);
    expect(outcome).toMatchObject({ ok: false, kind: 'refused' });
  });
});
