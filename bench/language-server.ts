import { createServer, type Socket } from 'node:net';

/**
 * An OpenAI server that does next to nothing. Every reply has as many pieces as its request's
 * `max_tokens`. Each running reply gets one piece per tick, in a separate write, as from an engine
 * with continuous batching. It sends its port to the process that started it, and with every
 * message the number of pieces sent so far. `TICK_MS` is the time between two ticks.
 */
const TICK_MS = Number(process.env.TICK_MS ?? 20);
const HEAD_END = '\r\n\r\n';

let sent = 0;

const chunk = (text: string): Buffer => Buffer.from(`${text.length.toString(16)}\r\n${text}\r\n`, 'latin1');
const event = (delta: object, reason: string | null, more: object = {}): Buffer =>
  chunk(
    `data: ${JSON.stringify({
      id: 'chatcmpl-0123456789abcdef0123456789abcdef',
      object: 'chat.completion.chunk',
      created: 1_790_000_000,
      model: 'm',
      choices: [{ index: 0, delta, logprobs: null, finish_reason: reason }],
      ...more,
    })}\n\n`,
  );

const HEAD = Buffer.from(
  'HTTP/1.1 200 OK\r\nContent-Type: text/event-stream; charset=utf-8\r\nTransfer-Encoding: chunked\r\n\r\n',
  'latin1',
);
const ROLE = event({ role: 'assistant', content: '' }, null);
const PIECES = Array.from({ length: 64 }, (_, number) => event({ content: ` word${number}` }, null));
const endOf = (tokens: number): Buffer =>
  Buffer.concat([
    event({}, 'length'),
    chunk(
      `data: ${JSON.stringify({ id: 'c', choices: [], usage: { prompt_tokens: 100, completion_tokens: tokens, total_tokens: 100 + tokens } })}\n\n`,
    ),
    chunk('data: [DONE]\n\n'),
    Buffer.from('0\r\n\r\n'),
  ]);
const MODELS = JSON.stringify({ object: 'list', data: [{ id: 'm', object: 'model', owned_by: 'bench' }] });
const MODELS_REPLY = `HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: ${MODELS.length}\r\n\r\n${MODELS}`;

interface Reply {
  readonly socket: Socket;
  readonly tokens: number;
  given: number;
}

const running = new Set<Reply>();

setInterval(() => {
  for (const reply of running) {
    const isFirst = reply.given === 0;
    const piece = PIECES[reply.given++ % PIECES.length] as Buffer;
    sent++;
    const isLast = reply.given >= reply.tokens;
    if (isFirst) reply.socket.write(Buffer.concat([HEAD, ROLE, piece]));
    else reply.socket.write(isLast ? Buffer.concat([piece, endOf(reply.tokens)]) : piece);
    if (isLast) running.delete(reply);
  }
}, TICK_MS);

function serve(socket: Socket): void {
  let kept = Buffer.alloc(0);
  socket.on('error', () => socket.destroy());
  socket.on('close', () => {
    for (const reply of running) if (reply.socket === socket) running.delete(reply);
  });
  socket.on('data', (bytes) => {
    kept = Buffer.concat([kept, bytes]);
    const end = kept.indexOf(HEAD_END);
    if (end < 0) return;
    const head = kept.toString('latin1', 0, end);
    const length = Number(/\r\ncontent-length: *(\d+)/i.exec(head)?.[1] ?? 0);
    if (kept.length < end + HEAD_END.length + length) return;
    const body = kept.toString('utf8', end + HEAD_END.length);
    kept = Buffer.alloc(0);
    if (!head.startsWith('POST')) {
      socket.write(MODELS_REPLY);
      return;
    }
    const asked = JSON.parse(body) as { max_tokens?: number; max_completion_tokens?: number };
    running.add({ socket, tokens: Math.max(2, asked.max_tokens ?? asked.max_completion_tokens ?? 16), given: 0 });
  });
}

const server = createServer({ noDelay: true }, serve);
server.listen(0, '127.0.0.1', () => {
  const address = server.address();
  if (address && typeof address === 'object') process.send?.(address.port);
});
process.on('message', () => process.send?.(sent));
process.on('disconnect', () => process.exit());
