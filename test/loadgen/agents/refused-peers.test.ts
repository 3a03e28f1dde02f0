import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { describe, expect, it, onTestFinished } from 'vitest';
import { AGENT_PATH } from '../../../src/loadgen/agents/protocol.ts';
import { limitedServer, listenAt } from '../../../src/loadgen/listening/server.ts';
import { agentForTest } from '../../support/agents.ts';

/** A peer that never closes its side. */
async function peerOf(address: string): Promise<Socket> {
  const [host, port] = address.split(':');
  const socket = connect({ host, port: Number(port), allowHalfOpen: true });
  socket.on('error', () => undefined);
  onTestFinished(() => void socket.destroy());
  await once(socket, 'connect');
  return socket;
}

const wrongToken = `GET ${AGENT_PATH} HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nAuthorization: Bearer wrong\r\n\r\n`;

describe('a peer without the token', () => {
  it('holds no place and does not keep the agent from stopping', async () => {
    const agent = await agentForTest();
    for (let count = 0; count < 70; count++) {
      const peer = await peerOf(agent.address);
      peer.write(wrongToken);
      const [reply] = await once(peer, 'data');
      expect(String(reply)).toMatch(/^HTTP\/1.1 401 /);
    }
    await agent.close();
  });

  it('is cut off at the stated limit if it says nothing', async () => {
    const server = limitedServer(undefined, { connections: 1, requestMs: 200 });
    onTestFinished(() => void server.close());
    const peer = await peerOf(await listenAt(server, { host: '127.0.0.1', port: 0 }, ''));
    peer.resume();
    await once(peer, 'end');
  });
});
