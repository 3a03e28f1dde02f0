import type { Socket } from 'node:net';
import { expect, it, onTestFinished } from 'vitest';
import { askModels } from '#loadgen/endpoints/openai-models.ts';
import { startRaw } from '../../support/misbehaving-server.ts';

const head = 'HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n';
async function answerOf(speak: (socket: Socket) => void) {
  const server = await startRaw((socket) => void socket.once('data', () => speak(socket)));
  onTestFinished(() => server.close());
  return askModels({ address: server.url, host: server.url, basePath: '', headers: [], tls: undefined }, 30_000);
}

it('the models of a server are listed by its answer', async () => {
  const answer = await answerOf((socket) => socket.end(`${head}{"data":[{"id":"a","owned_by":"vllm"},{"id":2}]}`));
  expect(answer).toEqual({ kind: 'models', names: ['a'], owner: 'vllm', base: '/v1' });
});

it('a list of models without an end is read up to its limit', async () => {
  let sent = 0;
  const answer = await answerOf((socket) => {
    const piece = Buffer.alloc(65_536, ' ');
    const goOn = (): void => {
      while (socket.writable && socket.write(piece)) sent += piece.length;
    };
    socket.write(head);
    socket.on('drain', goOn);
    goOn();
  });
  expect(answer).toEqual({ kind: 'unreachable', message: 'the answer is longer than 1 MiB' });
  expect(sent).toBeLessThan(64 * 2 ** 20);
});
