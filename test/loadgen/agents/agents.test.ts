import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { describe, expect, it, onTestFinished } from 'vitest';
import { WebSocket } from 'ws';
import type { AgentLimits } from '#loadgen/agents/limits.ts';
import { lookAtAgent } from '#loadgen/agents/look-at-agent.ts';
import { AGENT_PATH, AGENT_PROTOCOL, CONTROLLER_HEADER, PROTOCOL_HEADER } from '#loadgen/agents/protocol.ts';
import type { Flow } from '#loadgen/flow.ts';
import type { Batch } from '#loadgen/recorder.ts';
import type { SendOrder } from '#loadgen/sender.ts';
import type { InferRequest, RequestSet } from '#loadgen/types.ts';
import type { WorkerTransport } from '#loadgen/workers/messages.ts';
import { access, agentForTest, agentsForTest, noLimits, TOKEN } from '../../support/agents.ts';
import { newAuthority, trusting } from '../../support/certificates.ts';
import { httpEcho } from '../../support/echo-servers.ts';
import { type InferServer, startGrpcServer, startHttpServer } from '../../support/infer-servers.ts';
import { openAiServer } from '../../support/openai-server.ts';
import { scriptedAgent } from '../../support/scripted-agent.ts';
import { until } from '../../support/transport-suite.ts';

const requestOf = (value: number, bytes = 1): InferRequest => ({
  model: 'm',
  version: '',
  batch: 1,
  inputs: [{ name: 'IN', datatype: 'UINT8', shape: [1, bytes], raw: new Uint8Array(bytes).fill(value) }],
});
const setOf = (...requests: InferRequest[]): RequestSet => ({ model: 'm', version: '', batch: 1, requests });

const rate = (requests: RequestSet, mostRequests: number): SendOrder => ({
  requests,
  level: { mode: 'request-rate', value: 400 },
  schedule: { kind: 'poisson', perSecond: 400, seed: 4 },
  mostRequests,
});
const concurrency = (value: number, requests = setOf(requestOf(1))): SendOrder => ({
  requests,
  level: { mode: 'concurrency', value },
});

async function serverForTest(protocol: 'grpc' | 'http' = 'grpc'): Promise<InferServer> {
  const server = protocol === 'grpc' ? await startGrpcServer() : await startHttpServer();
  onTestFinished(() => server.close());
  return server;
}

/** HOST:PORT of a server that answers anything, until the test ends. */
async function plainServer(onBody: (body: string) => void): Promise<string> {
  const server = createServer(async (request, reply) => {
    const pieces: Buffer[] = [];
    for await (const piece of request) pieces.push(piece as Buffer);
    onBody(Buffer.concat(pieces).toString());
    reply.end('ok');
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return `127.0.0.1:${(server.address() as AddressInfo).port}`;
}

const to = ({ url }: Pick<InferServer, 'url'>, protocol: 'grpc' | 'http' = 'grpc'): WorkerTransport => ({
  protocol,
  options: { url, timeoutMs: 10_000 },
});

/** What the flow counts until it has sent all, in batches. */
async function countedOf(flow: Flow, isOver: () => boolean): Promise<readonly Batch[]> {
  const batches: Batch[] = [];
  flow.record({ lengthNs: 50e6, minRequests: 1, watchEveryNs: 5e6 }, (batch) => batches.push(batch), 0);
  flow.start();
  await until(() => isOver() || batches.length > 1000);
  expect(await flow.drain(5000)).toBe(0);
  await flow.closeBatch();
  flow.check();
  return batches;
}

describe.each(['grpc', 'http'] as const)('agents that send together over %s', (protocol) => {
  it('divide a level exactly, and count every request once', async () => {
    const server = await serverForTest(protocol);
    const workers = await agentsForTest([await agentForTest(), await agentForTest()], to(server, protocol), {
      threadsEach: 2,
    });
    const flow = workers.openFlow(rate(setOf(...[7, 8, 9, 10].map((value) => requestOf(value))), 202));
    const batches = await countedOf(flow, () => server.received.length >= 202);
    const tally = await flow.takeTally();
    expect([server.received.length, flow.sent, flow.due, tally?.sent]).toEqual([202, 202, 202, 202]);
    expect([...(tally?.byAgent?.values() ?? [])].map(({ sent }) => sent)).toEqual([101, 101]);
    expect(batches.reduce((sum, { fromDue }) => sum + (fromDue?.count ?? 0), 0)).toBe(202);
    const timesSent = [7, 8, 9, 10].map(
      (value) => server.received.filter(({ tensors }) => tensors[0] === value).length,
    );
    expect(timesSent).toEqual([51, 51, 50, 50]);
    // What held the threads up is told on this machine's clock.
    const pauses = batches.flatMap(({ heldUp }) => heldUp?.pauses ?? []);
    for (const { startNs } of pauses) expect(Math.abs(startNs - (batches[0]?.startNs ?? 0))).toBeLessThan(60e9);
  });
});

describe('the traffic that agents can send', () => {
  it('is plain HTTP', async () => {
    const bodies: string[] = [];
    const url = await plainServer((body) => bodies.push(body));
    const request = { method: 'POST', host: 'h', target: '/x', headers: [], body: Buffer.from('hello') };
    const workers = await agentsForTest([await agentForTest()], {
      protocol: 'plain-http',
      options: { address: url, timeoutMs: 5000, keepsAlive: true },
      request,
      secrets: [],
    });
    const flow = workers.openFlow({ ...concurrency(2), mostRequests: 40 });
    const batches = await countedOf(flow, () => bodies.length >= 40);
    expect(new Set(bodies)).toEqual(new Set(['hello']));
    // The counts by status are a map, which has a form of its own on the way.
    const statuses = batches.flatMap(({ replies }) => [...(replies?.statuses ?? [])]);
    expect(statuses.reduce((sum, [, count]) => sum + count, 0)).toBeGreaterThan(30);
  });

  it('is prompts to a language model', async () => {
    const server = await openAiServer({
      reply: () => ({
        pieces: [
          { afterMs: 1, text: 'a' },
          { afterMs: 1, text: 'b' },
        ],
        usage: { input: 3, output: 2 },
      }),
    });
    onTestFinished(() => server.close());
    const endpoint = {
      kind: 'openai-chat',
      path: '/v1/chat/completions',
      saysUsage: true,
      canIgnoreEnd: true,
    } as const;
    const workers = await agentsForTest([await agentForTest()], {
      protocol: 'language',
      options: { address: server.url, host: server.url, model: 'm', endpoint, timeoutMs: 5000, headers: [] },
    });
    const prompt = {
      messages: [{ role: 'user', content: 'ü' } as const],
      inputTokens: 3,
      maxTokens: 2,
      ignoresEnd: true,
    };
    const set = setOf({ model: 'm', version: '', batch: 1, inputs: [], prompt });
    const flow = workers.openFlow({ ...concurrency(2, set), mostRequests: 30 });
    const batches = await countedOf(flow, () => server.calls.length >= 30);
    const tokens = batches.flatMap((batch) => batch.tokens ?? []);
    expect(tokens.reduce((sum, { output }) => sum + output.sum, 0)).toBeGreaterThan(40);
    expect(server.calls[0]?.asked).toMatchObject({ messages: [{ role: 'user', content: 'ü' }] });
  });

  it('is a workload of request classes', async () => {
    const server = await serverForTest();
    const workers = await agentsForTest([await agentForTest(), await agentForTest()], to(server));
    const arrivalsNs = Float64Array.from({ length: 60 }, (_, index) => index * 4e6);
    const plan = {
      arrivalsNs,
      classOf: Uint16Array.from(arrivalsNs, (_, index) => (index % 3 === 0 ? 1 : 0)),
      classes: ['chat', 'batch'],
      durationNs: 240e6,
    };
    const set: RequestSet = {
      ...setOf(requestOf(1), requestOf(2)),
      classes: [
        { name: 'chat', requests: 1, limits: { e2eNs: 1 } },
        { name: 'batch', requests: 1 },
      ],
    };
    const flow = workers.openFlow({
      requests: set,
      level: { mode: 'request-rate', value: 250 },
      mostRequests: 60,
      schedule: { kind: 'arrivals', plan },
    });
    const batches = await countedOf(flow, () => server.received.length >= 60);
    const ofClass = (index: number) => batches.flatMap(({ classes }) => classes?.[index] ?? []);
    const totals = [0, 1].map((index) => ofClass(index).reduce((sum, { latencies }) => sum + latencies.count, 0));
    expect(totals).toEqual([40, 20]);
    // No reply comes within a nanosecond; a class without limits has good ones only.
    expect([0, 1].map((index) => ofClass(index).reduce((sum, { good }) => sum + good, 0))).toEqual([0, 20]);
    expect(server.received.filter(({ tensors }) => tensors[0] === 2)).toHaveLength(20);
  });

  it('is checked against expected outputs there', async () => {
    const { url } = await httpEcho(1);
    const request = requestOf(1);
    const expected = [[{ name: 'IN', datatype: 'UINT8', raw: Uint8Array.of(1) }]];
    const workers = await agentsForTest([await agentForTest()], {
      protocol: 'http',
      options: { url, timeoutMs: 5000 },
      tolerance: 0,
    });
    const flow = workers.openFlow({ ...concurrency(1, setOf({ ...request, expected })), mostRequests: 5 });
    const batches = await countedOf(flow, () => flow.failedSoFar >= 4);
    expect(batches[0]?.failures?.[0]).toMatchObject({ kind: 'mismatch' });
  });
});

it('tells the clock of each agent, its cores, and what it took', async () => {
  const server = await serverForTest();
  const agent = await agentForTest();
  const workers = await agentsForTest([agent], to(server));
  const watch = workers.watchClient();
  watch.restart();
  const flow = workers.openFlow(rate(setOf(requestOf(1)), 50));
  await countedOf(flow, () => server.received.length >= 50);
  const [use] = (await watch.read()).agents ?? [];
  expect(use).toMatchObject({ address: agent.address, version: expect.stringMatching(/^\d/), threads: 1 });
  // One machine has one clock.
  expect(Math.abs(use?.clock.offsetNs ?? 1e18)).toBeLessThanOrEqual((use?.clock.uncertaintyNs ?? 0) + 1e6);
  expect(Math.abs(use?.clock.driftNs ?? 1e18)).toBeLessThanOrEqual(use?.clock.driftUncertaintyNs ?? 0);
  expect(use?.use.cpuUs).toBeGreaterThan(0);
});

it('sends requests once, by their content, in pieces', async () => {
  const bytes = 3_000_000;
  const agent = await agentForTest({ limits: { ...noLimits, memoryBytes: 3 * bytes + 10_000 } });
  const server = await serverForTest();
  const workers = await agentsForTest([agent], to(server));
  // Both are the same, which fits three times: for the agent, for its thread, and as the thread
  // sends it.
  for (const set of [setOf(requestOf(5, bytes)), setOf(requestOf(5, bytes))]) {
    const before = server.received.length;
    const flow = workers.openFlow({ ...concurrency(1, set), mostRequests: 2 });
    await countedOf(flow, () => server.received.length - before >= 2);
  }
  expect(server.received.every(({ tensors }) => tensors.length === bytes && tensors[bytes - 1] === 5)).toBe(true);
  const flow = workers.openFlow(concurrency(1, setOf(requestOf(6, bytes))));
  flow.start();
  await expect(flow.takeTally()).rejects.toMatchObject({ code: 'USAGE', hint: expect.stringMatching(/--max-memory/) });
  expect(() => flow.check()).toThrow(/more than its limit of/);
});

it('counts the encoded requests of each thread among its memory', async () => {
  const bytes = 3_000_000;
  const agent = await agentForTest({ limits: { ...noLimits, memoryBytes: 2.5 * bytes } });
  const server = await serverForTest();
  const workers = await agentsForTest([agent], to(server));
  const flow = workers.openFlow(concurrency(1, setOf(requestOf(5, bytes))));
  flow.start();
  await expect(flow.takeTally()).rejects.toMatchObject({ code: 'USAGE', hint: expect.stringMatching(/--max-memory/) });
  expect(server.received).toEqual([]);
});

describe('an agent lets in', () => {
  it('nobody without its token, and tells it to nobody', async () => {
    const agent = await agentForTest();
    for (const token of ['another-token-of-the-tests', `${TOKEN}x`, TOKEN.slice(1)]) {
      const refusal = agentsForTest([agent], to({ url: '127.0.0.1:1' }), { token });
      await expect(refusal).rejects.toMatchObject({
        code: 'AGENT_FAILED',
        message: expect.stringMatching(`^agent ${agent.address}: it rejected the token`),
      });
    }
    expect(agent.lines.filter((line) => line.includes('401'))).toHaveLength(3);
    expect(agent.lines.join('\n')).not.toContain('token-of');
  });

  it('one controller at a time', async () => {
    const agent = await agentForTest();
    const other = new WebSocket(`ws://${agent.address}${AGENT_PATH}`, {
      headers: {
        authorization: `Bearer ${TOKEN}`,
        [PROTOCOL_HEADER]: String(AGENT_PROTOCOL),
        [CONTROLLER_HEADER]: '00000000-0000-0000-0000-000000000000',
      },
    });
    await new Promise((resolve, reject) => other.once('open', resolve).once('error', reject));
    await expect(lookAtAgent(agent.address, access)).rejects.toMatchObject({
      message: expect.stringMatching(/another controller uses it/),
    });
    other.terminate();
    // The next may come as soon as it is gone.
    const workers = await agentsForTest([agent], to(await serverForTest()));
    // Several connections are of one controller.
    expect(await lookAtAgent(agent.address, access)).toMatchObject({ cores: expect.any(Number) });
    await workers.close();
  });

  it('nobody in plaintext, or without a certificate of its CA, where it has one', async () => {
    const [authority, stranger] = [await newAuthority(), await newAuthority()];
    const { cert, key } = await authority.serverFor(['127.0.0.1']);
    const own = await authority.client();
    const [pem, ca] = [Buffer.from, Buffer.from(authority.cert)];
    const agent = await agentForTest({ tls: { cert: pem(cert), key: pem(key), ca } });
    const mine = trusting(authority, { cert: pem(own.cert), key: pem(own.key) });
    expect(await lookAtAgent(agent.address, { ...access, tls: mine })).toMatchObject({ cores: expect.any(Number) });
    const refusalOf = async (tls?: ReturnType<typeof trusting>): Promise<unknown> =>
      lookAtAgent(agent.address, { ...access, tls }).catch((error: unknown) => error);
    expect(await refusalOf(trusting(stranger))).toMatchObject({
      message: expect.stringMatching(/the agent's certificate is not trusted/),
      hint: expect.stringMatching(/--agent-tls-ca/),
    });
    for (const refused of [await refusalOf(trusting(authority)), await refusalOf()])
      expect(refused).toMatchObject({ code: 'AGENT_FAILED' });
  });
});

describe('an agent refuses', () => {
  const limitsOf = (change: Partial<AgentLimits>): { limits: AgentLimits } => ({ limits: { ...noLimits, ...change } });

  it('a server that it may not send to', async () => {
    const server = await serverForTest();
    const agent = await agentForTest(limitsOf({ targets: [{ host: 'triton', port: 8001 }] }));
    await expect(agentsForTest([agent], to(server))).rejects.toMatchObject({
      code: 'USAGE',
      message: `agent ${agent.address}: it may not send to ${server.url}`,
    });
    expect(server.received).toEqual([]);
  });

  it('more threads than it has', async () => {
    const agent = await agentForTest(limitsOf({ threads: 1 }));
    const refusal = agentsForTest([agent], to({ url: '127.0.0.1:1' }), { threadsEach: 2 });
    await expect(refusal).rejects.toMatchObject({ code: 'USAGE', hint: expect.stringMatching(/--max-threads/) });
  });

  it('a higher rate than is allowed, planned or not', async () => {
    const server = await serverForTest();
    const workers = await agentsForTest([await agentForTest(limitsOf({ requestsPerSecond: 50 }))], to(server));
    const planned = workers.openFlow(rate(setOf(requestOf(1)), 1000));
    planned.start();
    await expect(planned.takeTally()).rejects.toMatchObject({
      code: 'USAGE',
      hint: expect.stringMatching(/--max-rate/),
    });
    expect(server.received).toEqual([]);
    const closed = workers.openFlow(concurrency(4));
    closed.record({ lengthNs: 50e6, minRequests: 1 }, () => undefined);
    closed.start();
    await expect(untilFault(closed)).resolves.toMatchObject({
      message: expect.stringMatching(/50 requests per second/),
    });
  });
});

async function untilFault(flow: Flow): Promise<unknown> {
  let fault: unknown;
  await until(() => {
    try {
      flow.check();
    } catch (error) {
      fault = error;
    }
    return fault !== undefined;
  });
  return fault;
}

describe('a measurement ends', () => {
  it('when an agent is lost, and the next flow has it again', async () => {
    const server = await serverForTest();
    const [stays, goes] = [await agentForTest(), await agentForTest()];
    const workers = await agentsForTest([stays, goes], to(server));
    const flow = workers.openFlow(concurrency(4));
    flow.record({ lengthNs: 50e6, minRequests: 1 }, () => undefined);
    flow.start();
    await until(() => server.received.length > 50);
    await goes.close();
    expect(await untilFault(flow)).toMatchObject({
      code: 'AGENT_FAILED',
      message: expect.stringMatching(`^agent ${goes.address}: `),
    });
    await flow.drain(500).catch(() => undefined);
    await agentForTest({ port: Number(goes.address.split(':')[1]) });
    const before = server.received.length;
    const next = workers.openFlow({ ...concurrency(4), mostRequests: 100 });
    await countedOf(next, () => server.received.length - before >= 100);
    expect(next.sent).toBe(100);
  });

  it('when an agent falls silent', async () => {
    const agent = await scriptedAgent({ answers: 16 });
    const workers = agentsForTest([agent], to({ url: '127.0.0.1:1' }));
    await expect(workers).rejects.toMatchObject({
      code: 'AGENT_FAILED',
      message: expect.stringMatching(/the connection was lost: it said nothing for 3 s/),
      hint: expect.stringMatching(/does not count/),
    });
  });
});

describe('agents are not used', () => {
  it('that are of another version', async () => {
    const agent = await scriptedAgent({ hello: { version: '0.0.1' } });
    await expect(lookAtAgent(agent.address, access)).rejects.toMatchObject({
      message: expect.stringMatching(/it is of tritune 0\.0\.1, and this is /),
      hint: expect.stringMatching(/install the same version/),
    });
  });

  it('whose clocks are not known well enough', async () => {
    const refusal = agentsForTest([await agentForTest()], to({ url: '127.0.0.1:1' }), { clockLimitNs: 1 });
    await expect(refusal).rejects.toMatchObject({
      code: 'AGENT_FAILED',
      message: expect.stringMatching(/its clock is known to ± .* only, and ± .* is needed/),
      hint: expect.stringMatching(/--agent-clock-limit-ms/),
    });
  });

  it('that talk nonsense, or are none', async () => {
    for (const nonsense of ['text', Buffer.of(0xc1), Buffer.of(0x81, 0xa4, 0x74, 0x79, 0x70, 0x65, 0x01)]) {
      const agent = await scriptedAgent({ nonsense });
      await expect(lookAtAgent(agent.address, access)).rejects.toMatchObject({
        code: 'AGENT_FAILED',
        message: expect.stringMatching(/a message (cannot be read|is invalid)/),
      });
    }
    await expect(lookAtAgent(await plainServer(() => undefined), access)).rejects.toMatchObject({
      code: 'AGENT_FAILED',
    });
    await expect(lookAtAgent('127.0.0.1:1', access)).rejects.toMatchObject({
      hint: expect.stringMatching(/tritune fleet agent/),
    });
  });
});
