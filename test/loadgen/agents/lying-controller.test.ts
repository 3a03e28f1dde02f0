import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it, onTestFinished } from 'vitest';
import { WebSocket } from 'ws';
import { decodeMessage, encodeMessage } from '#loadgen/agents/codec.ts';
import type { AgentLimits } from '#loadgen/agents/limits.ts';
import { lookAtAgent } from '#loadgen/agents/look-at-agent.ts';
import { commandOrQuestion } from '#loadgen/agents/message-schemas.ts';
import { AGENT_PATH, AGENT_PROTOCOL, CONTROLLER_HEADER, PROTOCOL_HEADER, toAgent } from '#loadgen/agents/protocol.ts';
import { encodeSet } from '#loadgen/agents/request-sets.ts';
import type { RunningAgent } from '#loadgen/agents/serve-agent.ts';
import { access, agentForTest, noLimits, TOKEN } from '../../support/agents.ts';
import { startHttpServer } from '../../support/infer-servers.ts';
import { until } from '../../support/transport-suite.ts';

/** Every kind of message, by the schemas: a new one without a true form below fails the test. */
const kinds = [
  ...toAgent.options.map(({ shape }) => [...shape.type.values][0] as string).filter((type) => type !== 'thread'),
  ...commandOrQuestion.options.map(({ shape }) => `thread/${[...shape.type.values][0]}`),
];

const set = encodeSet({
  model: 'm',
  version: '',
  batch: 1,
  requests: [
    {
      model: 'm',
      version: '',
      batch: 1,
      inputs: [{ name: 'IN', datatype: 'UINT8', shape: [1, 1], raw: Uint8Array.of(1) }],
    },
  ],
});
const toThread = (message: object): object => ({ type: 'thread', thread: 0, message });
const open = (url: string): object => ({
  type: 'open',
  ask: 1,
  threads: 1,
  transport: { protocol: 'http', options: { url, timeoutMs: 1000 } },
});
const begin = {
  type: 'begin',
  ask: 2,
  flow: 1,
  set: 0,
  part: { index: 0, of: 1 },
  order: { level: { mode: 'concurrency', value: 1 } },
};

/** Each message as an honest controller sends it. */
const honest: Readonly<Record<string, object>> = {
  probe: { type: 'probe', probe: 1 },
  open: open('127.0.0.1:1'),
  'null-server': { type: 'null-server', ask: 3, protocol: null },
  'restart-watch': { type: 'restart-watch' },
  'read-watch': { type: 'read-watch', ask: 4 },
  requests: { type: 'requests', hash: set.hash, bytes: set.bytes.length },
  piece: { type: 'piece', bytes: set.bytes },
  learn: { type: 'learn', hash: set.hash, set: 0 },
  'thread/start': toThread({ type: 'start', flow: 1, startNs: 0 }),
  'thread/record': toThread({
    type: 'record',
    flow: 1,
    recording: 1,
    startNs: null,
    rule: { lengthNs: 1e6, minRequests: 1 },
  }),
  'thread/stop-recording': toThread({ type: 'stop-recording', flow: 1 }),
  'thread/begin': toThread(begin),
  'thread/leave-null-server': toThread({ type: 'leave-null-server', ask: 5 }),
  'thread/close-batch': toThread({ type: 'close-batch', ask: 6, flow: 1 }),
  'thread/take-tally': toThread({ type: 'take-tally', ask: 7, flow: 1 }),
  'thread/drain': toThread({ type: 'drain', ask: 8, flow: 1, limitMs: 100 }),
};

const wrong = [null, 'text', Number.NaN, -1, 1.5, 1e300, [], {}, true];

/**
 * The message with each field replaced by what it cannot be, left out, and with a field that
 * nothing knows.
 */
function liesOf(value: object): readonly object[] {
  const fields = Object.entries(value).filter(([name]) => name !== 'type');
  const inside = fields.flatMap(([name, field]) =>
    field !== null && typeof field === 'object' && field.constructor === Object
      ? liesOf(field).map((lie) => ({ ...value, [name]: lie }))
      : [],
  );
  const replaced = fields.flatMap(([name]) => [...wrong, undefined].map((each) => ({ ...value, [name]: each })));
  return [...inside, ...replaced, { ...value, unknown: 1 }];
}

const tooMany = { code: 'USAGE', message: expect.stringMatching(/too many/) };

const isFalse = (message: object): boolean => !toAgent.safeParse(decodeMessage(encodeMessage(message))).success;

interface Refusal {
  readonly code: string;
  readonly message: string;
}

/** A controller that says what it likes. */
class Liar {
  readonly #socket: WebSocket;
  readonly #wire: Socket;
  readonly answers: unknown[] = [];
  refusal: Refusal | null = null;

  constructor(socket: WebSocket, wire: Socket) {
    this.#socket = socket;
    this.#wire = wire;
    socket.on('error', () => undefined);
    socket.on('message', (data) => {
      const message = decodeMessage(data as Buffer) as { readonly type: string; readonly value?: unknown } & Refusal;
      if (message.type === 'failed') this.refusal = message;
      if (message.type === 'answer') this.answers.push(message.value);
    });
  }

  static async to({ address }: Pick<RunningAgent, 'address'>): Promise<Liar> {
    const [host, port] = address.split(':') as [string, string];
    const wire = connect(Number(port), host);
    const socket = new WebSocket(`ws://${address}${AGENT_PATH}`, {
      createConnection: () => wire,
      headers: {
        authorization: `Bearer ${TOKEN}`,
        [PROTOCOL_HEADER]: String(AGENT_PROTOCOL),
        [CONTROLLER_HEADER]: '00000000-0000-0000-0000-000000000000',
      },
    });
    onTestFinished(() => socket.terminate());
    const liar = new Liar(socket, wire);
    await once(socket, 'open');
    return liar;
  }

  /** Says them at once: an agent that gets them one by one may answer each before the next. */
  say(...messages: readonly object[]): void {
    this.#wire.cork();
    for (const message of messages) this.#socket.send(encodeMessage(message), () => undefined);
    this.#wire.uncork();
  }

  /** Starts a thread that has the set. */
  async begin(url: string): Promise<void> {
    this.say(open(url));
    await until(() => this.answers.length > 0 || this.refusal !== null);
    this.say(...['requests', 'piece', 'learn'].map((type) => honest[type] as object));
  }

  /** Why the agent ended the session. */
  async refused(): Promise<Refusal> {
    await until(() => this.refusal !== null);
    if (this.#socket.readyState !== WebSocket.CLOSED) await once(this.#socket, 'close');
    return this.refusal as Refusal;
  }

  async leave(): Promise<void> {
    this.#socket.close();
    if (this.#socket.readyState !== WebSocket.CLOSED) await once(this.#socket, 'close');
  }
}

/** The next controller finds the agent free. */
async function expectServed({ address }: RunningAgent): Promise<void> {
  let cores = 0;
  for (let look = 0; look < 50 && cores === 0; look++) {
    // It still reads what the last one said.
    if (look > 0) await sleep(100);
    const found = await lookAtAgent(address, access).catch(() => null);
    cores = found?.cores ?? 0;
  }
  expect(cores).toBeGreaterThan(0);
}

it('every message has an honest form', () => {
  expect(Object.keys(honest).sort()).toEqual([...kinds].sort());
  for (const message of Object.values(honest)) expect(isFalse(message)).toBe(false);
});

describe.each(kinds)('a controller that lies in %s', (kind) => {
  it('is refused with a code, and the next is served', async () => {
    const agent = await agentForTest();
    const lies = liesOf(honest[kind] as object).filter(isFalse);
    expect(lies.length).toBeGreaterThan(0);
    for (const lie of lies) {
      const liar = await Liar.to(agent);
      liar.say(lie);
      expect(await liar.refused()).toMatchObject({ code: 'AGENT_FAILED', message: expect.stringMatching(/invalid/) });
    }
    await expectServed(agent);
  });
});

describe('a controller that breaks the order', () => {
  const early = ['requests', 'piece', 'learn', ...kinds.filter((kind) => kind.startsWith('thread/'))];

  it.each(early)('with %s before all else is refused', async (kind) => {
    const agent = await agentForTest();
    const liar = await Liar.to(agent);
    liar.say(honest[kind] as object);
    expect(await liar.refused()).toMatchObject({ code: 'AGENT_FAILED', message: expect.stringMatching(/no sense/) });
    await expectServed(agent);
  });

  const begun = honest['thread/begin'] as object;
  const unbegun = kinds.filter((kind) => /^thread\/(?!begin|leave)/.test(kind));
  it.each([
    ['threads twice', [open('127.0.0.1:1')]],
    ['a flow twice', [begun, begun]],
    ['a flow without its requests', [toThread({ ...begin, set: 7 })]],
    ['a set twice', [honest.requests as object]],
    ['a piece too many', [honest.piece as object]],
    ['a thread that is not there', [{ ...begun, thread: 1 }]],
    ...unbegun.map((kind) => [`${kind} of no flow`, [honest[kind] as object]] as const),
  ] as const)('by %s is refused', async (_, messages) => {
    const agent = await agentForTest();
    const liar = await Liar.to(agent);
    await liar.begin('127.0.0.1:1');
    liar.say(...messages);
    expect(await liar.refused()).toMatchObject({ code: 'AGENT_FAILED', message: expect.stringMatching(/no sense/) });
    await expectServed(agent);
  });
});

describe('a controller that goes round the limits', () => {
  const limitsOf = (change: Partial<AgentLimits>): { readonly limits: AgentLimits } => ({
    limits: { ...noLimits, ...change },
  });
  async function sending(order: object, limits: Partial<AgentLimits>, extra: object = {}) {
    const server = await startHttpServer();
    onTestFinished(() => server.close());
    const agent = await agentForTest(limitsOf(limits));
    const liar = await Liar.to(agent);
    await liar.begin(server.url);
    liar.say(toThread({ ...begin, order, ...extra }), honest['thread/start'] as object);
    return { server, agent, liar };
  }
  const loop = (value: number): object => ({ level: { mode: 'concurrency', value } });

  it.each([
    ['in a closed loop', loop(8)],
    [
      'in a schedule that is not the level',
      { level: { mode: 'request-rate', value: 1 }, schedule: { kind: 'constant', perSecond: 1e6 } },
    ],
  ])('of the rate %s, and asks for no recording, is stopped', async (_, order) => {
    const beganMs = performance.now();
    const { server, agent, liar } = await sending(order, { requestsPerSecond: 40 });
    expect(await liar.refused()).toMatchObject({
      code: 'USAGE',
      message: expect.stringMatching(/at most 40 requests/),
    });
    const seconds = (performance.now() - beganMs) / 1000;
    expect(server.received.length).toBeLessThanOrEqual(40 * (seconds + 1));
    await expectServed(agent);
  });

  it('of the connections is stopped', async () => {
    const { agent, liar } = await sending(loop(8), { connections: 3 });
    expect(await liar.refused()).toMatchObject({ code: 'USAGE', message: expect.stringMatching(/at most 3 connec/) });
    await expectServed(agent);
  });

  it.each([
    ['in flight', { level: { mode: 'concurrency', value: 1e7 } }, {}],
    [
      'in flight in an open loop',
      { level: { mode: 'request-rate', value: 10 }, openLoop: { maxInFlight: 1e9 } },
      { nullServer: 'x' },
    ],
  ])('of the requests %s is refused', async (_, order, extra) => {
    const { server, liar } = await sending(order, {}, extra);
    expect(await liar.refused()).toMatchObject({ code: 'USAGE', message: expect.stringMatching(/in flight/) });
    expect(server.received).toEqual([]);
  });

  it('of the memory by a message is refused while it arrives, and before it is decoded', async () => {
    const agent = await agentForTest(limitsOf({ memoryBytes: 2 ** 23 }));
    for (const huge of [
      { type: 'learn', hash: 'x'.repeat(40 * 2 ** 20), set: 0 },
      { type: 'learn', hash: Array.from({ length: 300_000 }, () => 1), set: 0 },
    ]) {
      const liar = await Liar.to(agent);
      liar.say(huge);
      expect(await liar.refused()).toMatchObject({ code: 'USAGE', message: expect.stringMatching(/limit of 8 MiB/) });
    }
    await expectServed(agent);
  });

  it.each([
    ['questions', Array.from({ length: 300 }, (_, ask) => ({ type: 'null-server', ask, protocol: null }))],
    ['flows', Array.from({ length: 20 }, (_, flow) => toThread({ ...begin, flow, ask: 10 + flow }))],
  ])('by %s without end is refused', async (_, flood) => {
    const agent = await agentForTest();
    const liar = await Liar.to(agent);
    await liar.begin('127.0.0.1:1');
    liar.say(...flood);
    expect(await liar.refused()).toMatchObject(tooMany);
    await expectServed(agent);
  });

  it('by messages without end is refused, unless its thread answers them as they come', async () => {
    const agent = await agentForTest();
    const liar = await Liar.to(agent);
    await liar.begin('127.0.0.1:1');
    const answered = liar.answers.length;
    const flood = Array.from({ length: 10_000 }, () => honest['thread/stop-recording'] as object);
    liar.say(toThread({ ...begin, flow: 1, ask: 11 }), ...flood, { type: 'null-server', ask: 1, protocol: null });
    await until(() => liar.refusal !== null || liar.answers.length > answered);
    if (liar.refusal !== null) expect(liar.refusal).toMatchObject(tooMany);
    await liar.leave();
    await expectServed(agent);
  });
});
