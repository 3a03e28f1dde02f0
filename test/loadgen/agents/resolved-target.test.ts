import { expect, it, onTestFinished } from 'vitest';
import { realClock } from '#base/clock.ts';
import type { ToController } from '#loadgen/agents/protocol.ts';
import { encodeSet } from '#loadgen/agents/request-sets.ts';
import { type Resolve, ServedSession } from '#loadgen/agents/served-session.ts';
import { AgentUsage } from '#loadgen/agents/usage.ts';
import { noLimits } from '../../support/agents.ts';
import { startHttpServer } from '../../support/infer-servers.ts';
import { until } from '../../support/transport-suite.ts';

const NAME = 'triton.invalid';

/**
 * Sends one request to the name, and returns what the server got and what the controller was told.
 */
async function sendingTo(resolve: Resolve) {
  const server = await startHttpServer();
  const said: ToController[] = [];
  const faults: unknown[] = [];
  const limits = { ...noLimits, targets: [{ host: NAME, port: null }] };
  const usage = new AgentUsage(limits, realClock.nowNs());
  const session = new ServedSession(
    (each) => said.push(each),
    (fault) => faults.push(fault),
    realClock,
    usage,
    resolve,
  );
  onTestFinished(async () => {
    await session.close();
    await server.close();
  });
  const options = { url: `${NAME}:${server.url.split(':').at(-1)}`, timeoutMs: 2000 };
  session.take({ type: 'open', ask: 1, threads: 1, transport: { protocol: 'http', options } });
  await until(() => said.length + faults.length > 0);
  return { server, said, faults, session };
}

it('the name of a server is resolved once, and threads connect to that address alone', async () => {
  let looks = 0;
  const { server, said, session } = await sendingTo(async () => {
    // Whoever rules the name would send the threads elsewhere from the second look on.
    looks++;
    return [{ address: looks === 1 ? '127.0.0.1' : '127.9.9.9', family: 4 }];
  });
  expect(said).toEqual([{ type: 'answer', ask: 1, value: null }]);
  const input = { name: 'IN', datatype: 'UINT8', shape: [1, 1], raw: Uint8Array.of(1) };
  const model = { model: 'm', version: '', batch: 1 };
  const { hash, bytes } = encodeSet({ ...model, requests: [{ ...model, inputs: [input] }] });
  session.take({ type: 'requests', hash, bytes: bytes.length });
  session.take({ type: 'piece', bytes });
  session.take({ type: 'learn', hash, set: 0 });
  const order = { level: { mode: 'concurrency', value: 2 }, mostRequests: 20 } as const;
  const begin = { flow: 1, set: 0, order, part: { index: 0, of: 1 }, nullServer: undefined };
  session.take({ type: 'thread', thread: 0, message: { type: 'begin', ask: 2, ...begin } });
  session.take({ type: 'thread', thread: 0, message: { type: 'start', flow: 1, startNs: 0 } });
  await until(() => server.received.length === 20);
  expect(looks).toBe(1);
});

it('a name that nobody knows is refused with a code', async () => {
  const { faults } = await sendingTo(() => Promise.reject(new Error('ENOTFOUND')));
  expect(faults).toMatchObject([{ code: 'AGENT_FAILED', message: expect.stringMatching(/cannot find the server/) }]);
});
