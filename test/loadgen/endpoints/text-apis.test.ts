import { describe, expect, it, onTestFinished } from 'vitest';
import type { OpenAiEndpoint } from '#loadgen/endpoints/endpoint.ts';
import { openEndpoint } from '#loadgen/endpoints/open-endpoint.ts';
import { requireChatForm, textApis } from '#loadgen/endpoints/text-apis.ts';
import type { Prompt } from '#loadgen/prompts/prompt.ts';
import type { InferRequest, SendOutcome } from '#loadgen/types.ts';
import { type TextReply, textServer } from '../../support/text-server.ts';

const prompt: Prompt = {
  messages: [
    { role: 'system', content: 'be brief' },
    { role: 'user', content: 'hello' },
  ],
  inputTokens: null,
  maxTokens: 4,
  ignoresEnd: true,
  wantsText: true,
  fields: { temperature: 0.5 },
};
const request: InferRequest = { model: 'm', version: '', inputs: [], batch: 1, prompt };
const endpointOf = (kind: OpenAiEndpoint['kind'], isWhole: boolean): OpenAiEndpoint => ({
  kind,
  path: `/v1${textApis[kind].path}`,
  saysUsage: true,
  canIgnoreEnd: false,
  isWhole,
});

async function ask(kind: OpenAiEndpoint['kind'], isWhole: boolean, reply: TextReply) {
  const { url, calls } = await textServer(() => reply);
  const options = { address: url, host: url, model: 'm', timeoutMs: 2000, headers: [] };
  const transport = openEndpoint({ ...options, endpoint: endpointOf(kind, isWhole) });
  onTestFinished(() => transport.close());
  const outcome = await new Promise<SendOutcome>((resolve) =>
    transport.send(transport.prepare(request), (each) => resolve(structuredClone(each))),
  );
  return { outcome, call: calls[0] };
}

const usage = { input_tokens: 7, output_tokens: 3, input_tokens_details: { cached_tokens: 2 } };
const delta = (text: string) => ({ type: 'response.output_text.delta', delta: text });
const block = (fields: object) => ({ type: 'content_block_delta', index: 0, delta: fields });

describe("OpenAI's responses", () => {
  it('are asked for and read as a stream, reasoning and calls of tools included', async () => {
    const { outcome, call } = await ask('openai-responses', false, {
      events: [
        { type: 'response.created', response: { object: 'response', output: [] } },
        { type: 'response.reasoning_text.delta', delta: 'hm' },
        delta('a'),
        delta('b'),
        { type: 'response.completed', response: { output: [{ content: [{ text: 'ab' }] }], usage } },
      ],
    });
    expect(call).toMatchObject({ path: '/v1/responses' });
    expect(call?.body).toEqual({
      model: 'm',
      input: prompt.messages,
      max_output_tokens: 4,
      stream: true,
      temperature: 0.5,
    });
    expect(outcome).toMatchObject({
      ok: true,
      tokens: { inputTokens: 7, outputTokens: 3, cachedTokens: 2, countedBy: 'usage', text: 'ab' },
    });
    const { firstNs = null, gapsNs = [] } = outcome.ok ? (outcome.tokens ?? {}) : {};
    expect(firstNs).toBeGreaterThan(0);
    expect(gapsNs).toHaveLength(2);
  });

  it('that end early or fail are no replies', async () => {
    const failure = { type: 'response.failed', response: { error: { code: 'server_error', message: 'no memory' } } };
    expect((await ask('openai-responses', false, { events: [delta('a'), failure] })).outcome).toMatchObject({
      ok: false,
      message: expect.stringContaining('no memory'),
    });
    expect((await ask('openai-responses', false, { events: [delta('a')] })).outcome).toMatchObject({
      ok: false,
      kind: 'cut-off',
    });
  });
});

describe("Anthropic's messages", () => {
  it('are asked for and read as a stream, thoughts included', async () => {
    const { outcome, call } = await ask('anthropic-messages', false, {
      events: [
        { type: 'message_start', message: { usage: { input_tokens: 7, output_tokens: 1 } } },
        block({ type: 'thinking_delta', thinking: 'hm' }),
        { type: 'ping' },
        block({ type: 'text_delta', text: 'a' }),
        { type: 'message_delta', delta: { stop_reason: 'max_tokens' }, usage: { output_tokens: 3 } },
        { type: 'message_stop' },
      ],
    });
    expect(call).toMatchObject({ path: '/v1/messages', headers: { 'anthropic-version': '2023-06-01' } });
    expect(call?.body).toEqual({
      model: 'm',
      system: 'be brief',
      messages: [prompt.messages[1]],
      max_tokens: 4,
      stream: true,
      temperature: 0.5,
    });
    expect(outcome).toMatchObject({
      ok: true,
      tokens: { inputTokens: 7, outputTokens: 3, countedBy: 'usage', text: 'a' },
    });
  });

  it('say in the stream that the server gave up', async () => {
    const error = { type: 'error', error: { type: 'overloaded_error', message: 'Overloaded' } };
    expect((await ask('anthropic-messages', false, { events: [error] })).outcome).toMatchObject({
      ok: false,
      message: expect.stringContaining('Overloaded'),
    });
  });
});

it("counts a chat's reasoning of any form as output, and not as its answer", async () => {
  const chunk = (fields: object, more: object = {}) => ({ choices: [{ delta: fields, ...more }] });
  const { outcome } = await ask('openai-chat', false, {
    events: [
      chunk({ reasoning_details: [{ type: 'reasoning.text', text: 'hm' }] }),
      chunk({ reasoning: 'hm' }),
      chunk({ thinking: { content: 'hm' } }),
      chunk({ reasoning_content: '', role: 'assistant', content: 'a' }, { finish_reason: 'stop' }),
    ],
  });
  const { gapsNs = [], text } = outcome.ok ? (outcome.tokens ?? {}) : {};
  expect([gapsNs.length, text]).toEqual([3, 'a']);
});

describe('a reply that comes whole', () => {
  const chatUsage = { prompt_tokens: 7, completion_tokens: 3 };
  it.each([
    ['openai-chat', { choices: [{ message: { content: 'ab' }, finish_reason: 'length' }], usage: chatUsage }],
    ['openai-completions', { choices: [{ text: 'ab', finish_reason: 'length' }], usage: chatUsage }],
    ['openai-responses', { object: 'response', output: [{ content: [{ type: 'output_text', text: 'ab' }] }], usage }],
    ['anthropic-messages', { type: 'message', content: [{ type: 'text', text: 'ab' }], usage }],
  ] as const)('has its tokens and no first one: %s', async (kind, json) => {
    const { outcome, call } = await ask(kind, true, { json });
    expect(call?.body).toMatchObject({ stream: false });
    expect(call?.body).not.toHaveProperty('stream_options');
    expect(outcome).toMatchObject({
      ok: true,
      tokens: { firstNs: null, gapsNs: [], inputTokens: 7, outputTokens: 3, countedBy: 'usage', text: 'ab' },
    });
  });

  it('fails where it is no JSON of the API, or says so', async () => {
    expect((await ask('openai-chat', true, { json: { error: { message: 'full' } } })).outcome).toMatchObject({
      ok: false,
      message: expect.stringContaining('full'),
    });
    expect((await ask('openai-chat', true, { json: [] })).outcome).toMatchObject({ ok: false, kind: 'empty' });
    expect((await ask('openai-chat', true, { events: [{}] })).outcome).toMatchObject({ ok: false, kind: 'malformed' });
  });
});

it('refuses tools of recorded chats on APIs that have them in another form', () => {
  const set = (more: Partial<Prompt>) => ({
    model: 'm',
    version: '',
    batch: 1,
    requests: [{ ...request, prompt: { ...prompt, ...more } }],
  });
  const tools = set({ fields: { tools: [] } });
  expect(() => requireChatForm(tools, endpointOf('openai-chat', false))).not.toThrow();
  expect(() => requireChatForm(set({}), endpointOf('openai-responses', false))).not.toThrow();
  expect(() => requireChatForm(tools, endpointOf('anthropic-messages', false))).toThrow(/the field "tools"/);
  const turns = set({ messages: [{ role: 'assistant', content: null, tool_calls: [{}] }] });
  expect(() => requireChatForm(turns, endpointOf('openai-responses', false))).toThrow(/calls of tools/);
});

describe('pictures in messages', () => {
  const parts = [
    { type: 'text', text: 'what is this?' },
    { type: 'image_url', image_url: { url: 'data:image/png;base64,iVBO' } },
    { type: 'image_url', image_url: { url: 'https://example.org/a.png', detail: 'low' } },
  ] as const;
  const messages = [{ role: 'user', content: 'what is this?', parts }] as const;
  const contentFor = (kind: OpenAiEndpoint['kind']) => {
    const body = textApis[kind].createBody(endpointOf(kind, false), 'm', { ...prompt, messages });
    const [message] = (body.messages ?? body.input) as { content: unknown; parts?: unknown }[];
    expect(message).not.toHaveProperty('parts');
    return message?.content;
  };

  it('have the form of each API', () => {
    expect(contentFor('openai-chat')).toEqual(parts);
    expect(contentFor('openai-responses')).toEqual([
      { type: 'input_text', text: 'what is this?' },
      { type: 'input_image', image_url: 'data:image/png;base64,iVBO', detail: 'auto' },
      { type: 'input_image', image_url: 'https://example.org/a.png', detail: 'low' },
    ]);
    expect(contentFor('anthropic-messages')).toEqual([
      { type: 'text', text: 'what is this?' },
      { type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'iVBO' } },
      { type: 'image', source: { type: 'url', url: 'https://example.org/a.png' } },
    ]);
  });

  it('are refused where only texts are taken', () => {
    const requests = { ...request, requests: [{ ...request, prompt: { ...prompt, messages } }] };
    expect(() => requireChatForm(requests, endpointOf('openai-completions', false))).toThrow(/a message has pictures/);
    expect(() => requireChatForm(requests, endpointOf('openai-chat', false))).not.toThrow();
  });
});
