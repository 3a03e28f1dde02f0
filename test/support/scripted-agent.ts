import type { AddressInfo } from 'node:net';
import { onTestFinished } from 'vitest';
import { WebSocketServer } from 'ws';
import { realClock } from '#base/clock.ts';
import { trituneVersion } from '#base/package.ts';
import { encodeMessage } from '#loadgen/agents/codec.ts';
import { AGENT_PROTOCOL, readToAgent } from '#loadgen/agents/protocol.ts';

interface Script {
  readonly hello?: object;
  /** It answers so many probes, and then says nothing more. */
  readonly answers?: number;
  /** Sent in place of a greeting. */
  readonly nonsense?: string | Buffer;
}

/** An agent that does as it is told, until the test ends. It lets anybody in. */
export async function scriptedAgent({ hello, answers = 0, nonsense }: Script): Promise<{ readonly address: string }> {
  const server = new WebSocketServer({ host: '127.0.0.1', port: 0 });
  await new Promise((resolve) => server.once('listening', resolve));
  let left = answers;
  server.on('connection', (socket) => {
    const greeting = {
      type: 'hello',
      protocol: AGENT_PROTOCOL,
      version: trituneVersion,
      cores: 1,
      wallZeroNs: 0,
      ...hello,
    };
    socket.send(nonsense ?? encodeMessage(greeting));
    socket.on('message', (data) => {
      const message = readToAgent(data as Buffer);
      if (message.type !== 'probe' || left-- <= 0) return;
      socket.send(encodeMessage({ type: 'probed', probe: message.probe, atNs: realClock.nowNs() }));
    });
    socket.on('error', () => undefined);
  });
  onTestFinished(async () => {
    for (const socket of server.clients) socket.terminate();
    await new Promise((resolve) => server.close(resolve));
  });
  return { address: `127.0.0.1:${(server.address() as AddressInfo).port}` };
}
