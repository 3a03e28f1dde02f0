import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

/** What a call asks for, as its JSON says it. */
export type AskedOfModel = Readonly<Record<string, unknown>>;

/**
 * How a reply goes: pieces with the milliseconds before each, and what the server does behind them.
 */
export interface ScriptedReply {
  readonly pieces: readonly { readonly afterMs: number; readonly text: string; readonly reasoning?: boolean }[];
  /** What it says of the tokens; null for nothing. */
  readonly usage?: { readonly input: number; readonly output: number; readonly cached?: number } | null;
  /** `cut` leaves out the end, `reset` destroys the connection, `error` says that it gave up. */
  readonly ending?: 'done' | 'cut' | 'reset' | 'error';
}

export interface ScriptedModel {
  readonly models?: readonly string[];
  /** Refuses a call with this status and message, or gives null. */
  readonly refuse?: (path: string, asked: AskedOfModel) => { readonly status: number; readonly message: string } | null;
  readonly reply: (asked: AskedOfModel, call: number) => ScriptedReply;
}

export interface OpenAiServer {
  /** HOST:PORT */
  readonly url: string;
  readonly calls: {
    readonly path: string;
    readonly asked: AskedOfModel;
    readonly headers: IncomingMessage['headers'];
  }[];
  close(): Promise<void>;
}

/** An OpenAI server whose replies are scripted, on a free port of the loopback. */
export async function openAiServer({ models = ['m'], refuse, reply }: ScriptedModel): Promise<OpenAiServer> {
  const calls: OpenAiServer['calls'] = [];
  const server = createServer(async (request, response) => {
    const path = request.url ?? '';
    if (path === '/v1/models') {
      json(response, 200, {
        object: 'list',
        data: models.map((id) => ({ id, object: 'model', owned_by: 'scripted' })),
      });
      return;
    }
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    if (!/^\/v1\/(chat\/)?completions$/.test(path)) {
      json(response, 404, { error: { message: 'no such page' } });
      return;
    }
    const asked = JSON.parse(Buffer.concat(chunks).toString('utf8')) as AskedOfModel;
    calls.push({ path, asked, headers: request.headers });
    const refused = refuse?.(path, asked);
    if (refused) json(response, refused.status, { error: { message: refused.message, type: 'BadRequestError' } });
    else await stream(response, reply(asked, calls.length - 1), path.includes('chat'), asked);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `127.0.0.1:${(server.address() as AddressInfo).port}`,
    calls,
    close: () => {
      server.closeAllConnections();
      return new Promise((resolve) => server.close(() => resolve()));
    },
  };
}

function json(response: ServerResponse, status: number, value: object): void {
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(value));
}

async function stream(
  response: ServerResponse,
  { pieces, usage, ending = 'done' }: ScriptedReply,
  isChat: boolean,
  asked: AskedOfModel,
): Promise<void> {
  response.writeHead(200, { 'content-type': 'text/event-stream; charset=utf-8' });
  const say = (event: object): unknown =>
    response.write(
      `data: ${JSON.stringify({ id: 'cmpl-1', object: 'chunk', created: 1, model: asked.model, ...event })}\n\n`,
    );
  const choice = (delta: object, reason: string | null = null) => [{ index: 0, ...delta, finish_reason: reason }];
  if (isChat) say({ choices: choice({ delta: { role: 'assistant', content: '' } }) });
  for (const { afterMs, text, reasoning } of pieces) {
    if (afterMs > 0) await new Promise((resolve) => setTimeout(resolve, afterMs));
    const delta = reasoning ? { reasoning_content: text } : { content: text };
    say({ choices: choice(isChat ? { delta } : { text }) });
  }
  if (ending === 'reset') {
    // What was written goes out first.
    setTimeout(() => response.socket?.destroy(), 5);
    return;
  }
  if (ending === 'error') say({ error: { message: 'out of memory', type: 'InternalServerError' } });
  if (ending === 'done') {
    say({ choices: choice(isChat ? { delta: {} } : { text: '' }, 'length') });
    const wantsUsage = (asked.stream_options as { include_usage?: boolean } | undefined)?.include_usage;
    if (usage && wantsUsage) {
      const cached = usage.cached === undefined ? {} : { prompt_tokens_details: { cached_tokens: usage.cached } };
      const counts = { prompt_tokens: usage.input, completion_tokens: usage.output };
      say({ choices: [], usage: { ...counts, total_tokens: usage.input + usage.output, ...cached } });
    }
    response.write('data: [DONE]\n\n');
  }
  response.end();
}
