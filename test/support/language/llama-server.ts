import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { parseArgs } from 'node:util';
import type { Engine, Generated } from './llama-engine.ts';

/**
 * An OpenAI-compatible server of a real language model, in a process of its own:
 * `node llama-server.ts --library DIR --model FILE --port N`, with the knobs of llama.cpp's server
 * by their names. It ends by code 1 for a flag that it does not know, as that one does.
 */
const { values } = parseArgs({
  options: {
    library: { type: 'string' },
    model: { type: 'string' },
    port: { type: 'string' },
    alias: { type: 'string', default: 'smollm2' },
    /** Sequences that run at once. */
    parallel: { type: 'string', default: '1' },
    /** Tokens of the whole KV cache: each sequence has its part. */
    'ctx-size': { type: 'string', default: '2048' },
    /** Tokens of one step. */
    'batch-size': { type: 'string', default: '512' },
    threads: { type: 'string', default: '1' },
    'cache-type-k': { type: 'string', default: 'f16' },
    'cache-type-v': { type: 'string', default: 'f16' },
    'flash-attn': { type: 'string', default: 'auto' },
  },
});

const { openEngine } = await import('./llama-engine.ts');
const library = pathToFileURL(
  createRequire(join(values.library as string, 'package.json')).resolve('node-llama-cpp'),
).href;
const parallel = Number(values.parallel);
const engine: Engine = await openEngine({
  library,
  model: values.model as string,
  parallel,
  contextTokens: Math.floor(Number(values['ctx-size']) / parallel),
  batchTokens: Number(values['batch-size']),
  threads: Number(values.threads),
  keyType: values['cache-type-k'],
  valueType: values['cache-type-v'],
  flashAttention: values['flash-attn'] === 'auto' ? 'auto' : values['flash-attn'] === 'on',
});

interface Asked {
  readonly messages?: readonly { readonly role: string; readonly content: string }[];
  readonly prompt?: string;
  readonly max_tokens?: number;
  readonly max_completion_tokens?: number;
  readonly ignore_eos?: boolean;
  readonly stream?: boolean;
  readonly stream_options?: { readonly include_usage?: boolean };
}

createServer((request, response) => {
  answer(request, response).catch((error: unknown) => {
    if (!response.headersSent) response.writeHead(400, { 'content-type': 'application/json' });
    response.end(JSON.stringify({ error: { message: String(error), type: 'invalid_request_error' } }));
  });
}).listen(Number(values.port), '127.0.0.1', () => {
  process.stdout.write(`listening on 127.0.0.1:${values.port}\n`);
});

async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const json = (body: unknown): void => {
    response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(body));
  };
  switch (request.url) {
    case '/health':
      return json({ status: 'ok' });
    case '/v1/models':
      return json({ object: 'list', data: [{ id: values.alias, object: 'model', owned_by: 'tritune' }] });
    case '/metrics':
      response.writeHead(200, { 'content-type': 'text/plain; version=0.0.4' }).end(metricsPage());
      return;
    case '/v1/chat/completions':
    case '/v1/completions':
      return complete((await bodyOf(request)) as Asked, request.url === '/v1/chat/completions', response);
    default:
      response.writeHead(404).end();
  }
}

async function complete(asked: Asked, isChat: boolean, response: ServerResponse): Promise<void> {
  const text = isChat ? chatText(asked.messages ?? []) : (asked.prompt ?? '');
  const gone = new AbortController();
  response.on('close', () => gone.abort());
  const pieces = engine.generate(text, {
    maxTokens: asked.max_completion_tokens ?? asked.max_tokens ?? 16,
    ignoresEnd: asked.ignore_eos ?? false,
    signal: gone.signal,
  });
  const head = {
    id: `r${Date.now()}`,
    object: isChat ? 'chat.completion.chunk' : 'text_completion',
    model: values.alias,
  };
  const choice = (piece: string, reason: string | null): object =>
    isChat
      ? { index: 0, delta: piece === '' ? {} : { content: piece }, finish_reason: reason }
      : { index: 0, text: piece, finish_reason: reason };
  if (!asked.stream) {
    const all: string[] = [];
    let last: Generated | undefined;
    for await (const piece of pieces) {
      all.push(piece.text);
      last = piece;
    }
    const whole = all.join('');
    const choices = isChat
      ? [{ index: 0, message: { role: 'assistant', content: whole }, finish_reason: last?.finish }]
      : [{ index: 0, text: whole, finish_reason: last?.finish }];
    response.writeHead(200, { 'content-type': 'application/json' });
    response.end(JSON.stringify({ ...head, choices, usage: usageOf(last) }));
    return;
  }
  const event = (body: object): void => void response.write(`data: ${JSON.stringify({ ...head, ...body })}\n\n`);
  let last: Generated | undefined;
  for await (const piece of pieces) {
    if (!response.headersSent) response.writeHead(200, { 'content-type': 'text/event-stream' });
    event({ choices: [choice(piece.text, piece.finish)] });
    last = piece;
  }
  if (asked.stream_options?.include_usage) event({ choices: [], usage: usageOf(last) });
  response.end('data: [DONE]\n\n');
}

const usageOf = (last: Generated | undefined): object => ({
  prompt_tokens: last?.promptTokens ?? 0,
  completion_tokens: last?.outputTokens ?? 0,
  total_tokens: (last?.promptTokens ?? 0) + (last?.outputTokens ?? 0),
});

/** The template that SmolLM2 was trained with. */
const chatText = (messages: NonNullable<Asked['messages']>): string =>
  `${messages.map(({ role, content }) => `<|im_start|>${role}\n${content}<|im_end|>\n`).join('')}<|im_start|>assistant\n`;

async function bodyOf(request: IncomingMessage): Promise<unknown> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  return JSON.parse(Buffer.concat(chunks).toString('utf8'));
}

/** The names of llama.cpp's server. */
function metricsPage(): string {
  const { running, waiting, usedTokens, tokens } = engine.state();
  return [
    '# TYPE llamacpp:requests_processing gauge',
    `llamacpp:requests_processing ${running}`,
    '# TYPE llamacpp:requests_deferred gauge',
    `llamacpp:requests_deferred ${waiting}`,
    '# TYPE llamacpp:kv_cache_usage_ratio gauge',
    `llamacpp:kv_cache_usage_ratio ${usedTokens / tokens}`,
    '',
  ].join('\n');
}
