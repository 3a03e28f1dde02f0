import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { describe, expect, it, onTestFinished } from 'vitest';
import { lookAtAgent } from '#loadgen/agents/look-at-agent.ts';
import { AGENT_PATH } from '#loadgen/agents/protocol.ts';
import { admit, limitedServer, listenAt, stopListening } from '#loadgen/listening-server.ts';
import { access, agentForTest } from '../../support/agents.ts';
import { newAuthority } from '../../support/certificates.ts';

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

  it('is cut off at the same limit before its handshake', async () => {
    const { cert, key } = await (await newAuthority()).serverFor(['127.0.0.1']);
    const tls = { cert: Buffer.from(cert), key: Buffer.from(key) };
    const server = limitedServer(tls, { connections: 1, requestMs: 200 });
    onTestFinished(() => void server.close());
    const peer = await peerOf(await listenAt(server, { host: '127.0.0.1', port: 0 }, ''));
    peer.resume();
    await once(peer, 'end');
  });

  it('gives its place to the next that comes', async () => {
    const agent = await agentForTest();
    const silent = [];
    for (let count = 0; count < 80; count++) silent.push(await peerOf(agent.address));
    expect(await lookAtAgent(agent.address, access)).toMatchObject({ cores: expect.any(Number) });
    await agent.close();
  });
});

it('who was admitted stays, whoever comes', async () => {
  const server = limitedServer(undefined, { connections: 1, requestMs: 5000 });
  server.on('request', (request, reply) => {
    admit(server, request);
    reply.writeHead(200).write('x');
  });
  const address = await listenAt(server, { host: '127.0.0.1', port: 0 }, '');
  const admitted = await peerOf(address);
  admitted.write('GET / HTTP/1.1\r\nHost: a\r\n\r\n');
  await once(admitted, 'data');
  const [first, second] = [await peerOf(address), await peerOf(address)];
  first.resume();
  second.resume();
  await once(first, 'end');
  expect([admitted.readyState, second.readyState]).toEqual(['open', 'open']);
  await stopListening(server);
});

it('a program stops whatever is connected, also if its work does not end', async () => {
  const { cert, key } = await (await newAuthority()).serverFor(['127.0.0.1']);
  for (const tls of [undefined, { cert: Buffer.from(cert), key: Buffer.from(key) }]) {
    const server = limitedServer(tls, { connections: 9, requestMs: 60_000 });
    server.on('upgrade', () => undefined);
    const address = await listenAt(server, { host: '127.0.0.1', port: 0 }, '');
    const [, upgraded] = [await peerOf(address), await peerOf(address)];
    upgraded.write('GET / HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n');
    await stopListening(server, () => new Promise(() => undefined));
  }
});
