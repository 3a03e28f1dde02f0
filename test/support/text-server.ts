import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { onTestFinished } from 'vitest';

/** A reply: a status and a JSON, or the events of a stream. */
export type TextReply = { readonly status?: number; readonly json: object } | { readonly events: readonly object[] };

export interface TextCall {
  readonly path: string;
  readonly body: Readonly<Record<string, unknown>>;
  readonly headers: Readonly<Record<string, unknown>>;
}

/**
 * Starts a server of texts whose every reply is scripted; `null` is its page for an unknown path.
 * Returns its HOST:PORT, and the calls with a body that it got.
 */
export async function textServer(
  reply: (call: TextCall) => TextReply | null,
): Promise<{ readonly url: string; readonly calls: readonly TextCall[] }> {
  const calls: TextCall[] = [];
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const text = Buffer.concat(chunks).toString('utf8');
    const call = { path: request.url ?? '', body: text === '' ? {} : JSON.parse(text), headers: request.headers };
    if (text !== '') calls.push(call);
    const replied = reply(call) ?? { status: 404, json: { detail: 'Not Found' } };
    if ('json' in replied) {
      response.writeHead(replied.status ?? 200, { 'content-type': 'application/json' });
      response.end(JSON.stringify(replied.json));
      return;
    }
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    for (const event of replied.events) {
      response.write(`data: ${JSON.stringify(event)}\n\n`);
      await new Promise((later) => setTimeout(later, 2));
    }
    response.end();
  });
  await new Promise<void>((ready) => server.listen(0, '127.0.0.1', ready));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return { url: `127.0.0.1:${(server.address() as AddressInfo).port}`, calls };
}
