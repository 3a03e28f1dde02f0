import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { realClock } from '#base/clock.ts';
import { openEndpoint } from '#loadgen/endpoints/open-endpoint.ts';
import { allFailures } from '#loadgen/failure-tally.ts';
import { type Flow, localFlow } from '#loadgen/flow.ts';
import { openPlainHttp } from '#loadgen/plain-http.ts';
import type { Batch } from '#loadgen/recorder.ts';
import type { SendOrder } from '#loadgen/sender.ts';
import { openTransport } from '#loadgen/transports/open.ts';
import type { InferRequest, RequestSet } from '#loadgen/types.ts';
import type { WorkerTransport } from '#loadgen/workers/messages.ts';
import { openWorkers } from '#loadgen/workers/open-workers.ts';
import { agentForTest, agentsForTest } from '../support/agents.ts';
import { startGrpcServer, startHttpServer } from '../support/infer-servers.ts';
import { openAiServer } from '../support/openai-server.ts';

/** Every fifth request fails. */
const fails = (request: number): boolean => request % 5 === 0;
const REQUESTS = 203;
const BATCH = 30;

/** A server that counts what it gets and what it refuses, and how to send to it. */
interface Subject {
  readonly transport: WorkerTransport;
  readonly request: InferRequest;
  readonly counted: () => { readonly received: number; readonly failed: number };
}

const tensor: InferRequest = {
  model: 'm',
  version: '',
  batch: 1,
  inputs: [{ name: 'IN', datatype: 'UINT8', shape: [1, 1], raw: Uint8Array.of(1) }],
};

async function triton(protocol: 'grpc' | 'http'): Promise<Subject> {
  const server = protocol === 'grpc' ? await startGrpcServer() : await startHttpServer();
  onTestFinished(() => server.close());
  let failed = 0;
  server.replyWith((request) => {
    if (!fails(request)) return { kind: 'ok' };
    failed++;
    return { kind: 'status', code: protocol === 'grpc' ? 14 : 503, message: 'Exceeds maximum queue size' };
  });
  return {
    transport: { protocol, options: { url: server.url, timeoutMs: 10_000 } },
    request: tensor,
    counted: () => ({ received: server.received.length, failed }),
  };
}

async function plainHttp(): Promise<Subject> {
  let received = 0;
  let failed = 0;
  const server = createServer((request, reply) => {
    request.resume().on('end', () => {
      if (fails(++received)) {
        failed++;
        request.socket.destroy();
      } else reply.end('ok');
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const address = `127.0.0.1:${(server.address() as AddressInfo).port}`;
  const request = { method: 'POST', host: 'h', target: '/x', headers: [], body: Buffer.from('hello') };
  return {
    transport: {
      protocol: 'plain-http',
      options: { address, timeoutMs: 5000, keepsAlive: true },
      request,
      secrets: [],
    },
    request: { ...tensor, inputs: [] },
    counted: () => ({ received, failed }),
  };
}

async function languageModel(): Promise<Subject> {
  let received = 0;
  let failed = 0;
  const server = await openAiServer({
    refuse: () => {
      if (!fails(++received)) return null;
      failed++;
      return { status: 503, message: 'overloaded' };
    },
    reply: () => ({ pieces: [{ afterMs: 0, text: 'a' }], usage: { input: 3, output: 1 } }),
  });
  onTestFinished(() => server.close());
  const endpoint = { kind: 'openai-chat', path: '/v1/chat/completions', saysUsage: true, canIgnoreEnd: true } as const;
  const prompt = {
    messages: [{ role: 'user', content: 'ü' } as const],
    inputTokens: 3,
    maxTokens: 1,
    ignoresEnd: true,
  };
  return {
    transport: {
      protocol: 'language',
      options: { address: server.url, host: server.url, model: 'm', endpoint, timeoutMs: 5000, headers: [] },
    },
    request: { ...tensor, inputs: [], prompt },
    counted: () => ({ received, failed }),
  };
}

const subjects: Readonly<Record<string, () => Promise<Subject>>> = {
  gRPC: () => triton('grpc'),
  HTTP: () => triton('http'),
  'plain HTTP': plainHttp,
  tokens: languageModel,
};

type OpenFlow = (order: SendOrder) => Flow;

function here(transport: WorkerTransport): OpenFlow {
  const opened =
    transport.protocol === 'plain-http'
      ? openPlainHttp(transport.options, transport.request)
      : transport.protocol === 'language'
        ? openEndpoint(transport.options)
        : openTransport(transport.protocol, transport.options);
  onTestFinished(() => opened.close());
  return (order) => localFlow(order, { transport: opened, clock: realClock });
}

function threads(count: number, transport: WorkerTransport): OpenFlow {
  const workers = openWorkers(count, transport);
  onTestFinished(() => workers.close());
  return (order) => workers.openFlow(order);
}

async function twoAgents(transport: WorkerTransport): Promise<OpenFlow> {
  const workers = await agentsForTest(await Promise.all([agentForTest(), agentForTest()]), transport);
  return (order) => workers.openFlow(order);
}

const senders: Readonly<Record<string, (transport: WorkerTransport) => OpenFlow | Promise<OpenFlow>>> = {
  "the caller's thread": here,
  'one thread': (transport) => threads(1, transport),
  'two threads': (transport) => threads(2, transport),
  'two agents': twoAgents,
};

/** Sends the order to its end and adds up all batches. */
async function countedBy(openFlow: OpenFlow, order: SendOrder) {
  const flow = openFlow(order);
  const batches: Batch[] = [];
  flow.record({ lengthNs: 0, minRequests: BATCH }, (batch) => batches.push(batch), 0);
  flow.start();
  await vi.waitUntil(() => flow.dueByNow === REQUESTS, { timeout: 50_000, interval: 5 });
  expect(await flow.drain(5000)).toBe(0);
  await flow.closeBatch();
  flow.check();
  const sumOf = (read: (batch: Batch) => number): number => batches.reduce((sum, batch) => sum + read(batch), 0);
  return {
    flow,
    tally: await flow.takeTally(),
    completed: sumOf(({ succeeded }) => succeeded),
    failed: sumOf(({ failed }) => failed),
    failures: allFailures(batches.map((batch) => batch.failures)),
    batches: batches.length,
  };
}

const rate = (set: RequestSet, perSecond: number, maxInFlight: number): SendOrder => ({
  requests: set,
  level: { mode: 'request-rate', value: perSecond },
  schedule: { kind: 'constant', perSecond },
  // No request is sent before it is due, so each is late.
  openLoop: { maxInFlight, lateNs: 0 },
  mostRequests: REQUESTS,
});

const cells = Object.keys(subjects).flatMap((wire) => Object.keys(senders).map((sender) => [wire, sender] as const));

describe.each(cells)('what is counted over %s by %s', (wire, sender) => {
  it('is what the server counted, failed requests each once', async () => {
    const { transport, request, counted } = await (subjects[wire] as () => Promise<Subject>)();
    const openFlow = await (senders[sender] as (typeof senders)[string])(transport);
    const set = { model: 'm', version: '', batch: 1, requests: [request] };

    const kind = wire === 'plain HTTP' ? 'reset' : 'status';

    // Over many batches: a total since the start would be counted again in each.
    const all = await countedBy(openFlow, rate(set, 1000, 1000));
    const server = counted();
    expect(server).toEqual({ received: REQUESTS, failed: Math.floor(REQUESTS / 5) });
    expect(all.batches).toBe(Math.ceil(REQUESTS / BATCH));
    expect(all).toMatchObject({ completed: REQUESTS - server.failed, failed: server.failed });
    expect(all.flow).toMatchObject({ sent: REQUESTS, failedSoFar: server.failed });
    expect(all.failures).toEqual([{ kind, count: server.failed, firstMessage: expect.any(String) }]);
    expect(all.tally).toMatchObject({ sent: REQUESTS, late: REQUESTS, dropped: 0 });
    expect(all.tally?.lateness.count).toBe(REQUESTS);

    // Far faster than they are answered: all are due, and few may be in flight.
    const few = await countedBy(openFlow, rate(set, 100_000, 4));
    const later = { received: counted().received - server.received, failed: counted().failed - server.failed };
    expect(few.tally?.dropped).toBeGreaterThan(0);
    expect(few.tally).toMatchObject({ sent: later.received, dropped: REQUESTS - later.received });
    expect(few.tally?.late).toBe(later.received);
    expect(few).toMatchObject({ completed: later.received - later.failed, failed: later.failed });
  });
});
