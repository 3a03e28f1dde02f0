import { createServer, type ServerResponse } from 'node:http';
import { parseArgs } from 'node:util';

/**
 * A server that starts at once and answers prompts with made-up tokens, for what is about starting
 * servers: `node quick-engine.ts --port N`. It has some of vLLM's flags: of --max-num-seqs the time
 * of a token depends, with --kv-cache-dtype fp8 there is no memory, and with --enforce-eager it
 * never becomes healthy. It says in its log with which it was started.
 */
const { values } = parseArgs({
  allowNegative: true,
  options: {
    port: { type: 'string' },
    'max-num-seqs': { type: 'string', default: '4' },
    'max-num-batched-tokens': { type: 'string', default: '64' },
    'enable-prefix-caching': { type: 'boolean', default: true },
    'enforce-eager': { type: 'boolean', default: false },
    'kv-cache-dtype': { type: 'string', default: 'auto' },
    options: { type: 'string' },
  },
});
process.stdout.write(`started with ${JSON.stringify({ ...values, variable: process.env.QUICK_ENGINE })}\n`);
if (values['kv-cache-dtype'] === 'fp8') {
  process.stderr.write(
    'loading\ntorch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB.\ncleaning up\n',
  );
  process.exit(1);
}

const TOKENS = 4;
let running = 0;
const most = Number(values['max-num-seqs']);
const waiting: (() => void)[] = [];
const turn = async (): Promise<void> => {
  if (running >= most) await new Promise<void>((resolve) => waiting.push(resolve));
  running += 1;
};
const leave = (): void => {
  running -= 1;
  waiting.shift()?.();
};
const later = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

createServer((request, response) => {
  request.resume();
  if (request.url === '/health') response.writeHead(values['enforce-eager'] ? 503 : 200).end();
  else if (request.url === '/v1/models') response.end(JSON.stringify({ data: [{ id: 'quick', owned_by: 'quick' }] }));
  else if (request.url === '/metrics')
    response.end(`vllm:num_requests_running ${running}\nvllm:num_requests_waiting ${waiting.length}\n`);
  else void answer(response);
}).listen(Number(values.port), '127.0.0.1');

async function answer(response: ServerResponse): Promise<void> {
  await turn();
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  for (let token = 0; token < TOKENS; token++) {
    await later(2);
    response.write(
      `data: ${JSON.stringify({ choices: [{ index: 0, delta: { content: 'x' }, finish_reason: null }] })}\n\n`,
    );
  }
  leave();
  const usage = { prompt_tokens: 8, completion_tokens: TOKENS };
  response.write(`data: ${JSON.stringify({ choices: [{ index: 0, delta: {}, finish_reason: 'length' }] })}\n\n`);
  response.end(`data: ${JSON.stringify({ choices: [], usage })}\n\ndata: [DONE]\n\n`);
}
