import { EventEmitter } from 'node:events';
import { PassThrough } from 'node:stream';
import { expect, it } from 'vitest';
import type { WebSocket } from 'ws';
import { realClock } from '#base/clock.ts';
import { decodeMessage, encodeMessage } from '#loadgen/agents/codec.ts';
import { ServedConnection } from '#loadgen/agents/served-connection.ts';
import { AgentUsage } from '#loadgen/agents/usage.ts';
import { noLimits } from '../../support/agents.ts';

/** A socket whose peer reads nothing. */
class UnreadSocket extends EventEmitter {
  bufferedAmount = 0;
  last: unknown;

  send(bytes: Uint8Array): void {
    this.bufferedAmount += bytes.length;
    this.last = decodeMessage(bytes);
  }

  close(): void {}
  terminate(): void {}
}

it('a controller that reads nothing ends with a code before 17 MiB wait for it', async () => {
  const socket = new UnreadSocket();
  const usage = new AgentUsage(noLimits, realClock.nowNs());
  const ended = new Promise<string>((resolve) => {
    new ServedConnection(socket as unknown as WebSocket, new PassThrough(), usage, 1, resolve);
  });
  const probe = Buffer.from(encodeMessage({ type: 'probe', probe: 1 }));
  const isFailed = (): boolean => (socket.last as { readonly type: string }).type === 'failed';
  while (!isFailed() && socket.bufferedAmount < 17 * 2 ** 20) socket.emit('message', probe);
  expect(socket.last).toMatchObject({ type: 'failed', code: 'AGENT_FAILED' });
  expect(await ended).toMatch(/did not read/);
});
