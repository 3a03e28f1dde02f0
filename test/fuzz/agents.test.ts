import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { realClock } from '#base/clock.ts';
import { isTrituneError } from '#base/errors.ts';
import { decodeMessage, encodeMessage } from '#loadgen/agents/codec.ts';
import { AGENT_PROTOCOL, readToAgent, readToController, type ToAgent } from '#loadgen/agents/protocol.ts';
import { ServedSession } from '#loadgen/agents/served-session.ts';
import { AgentUsage } from '#loadgen/agents/usage.ts';
import { packBatch } from '#loadgen/workers/messages.ts';
import { LatencyHistogram } from '#stats/histogram.ts';
import { noLimits } from '../support/agents.ts';
import { damagedBytes, FUZZ_TIMEOUT_MS, fuzz, hostileNames, refusedOr } from '../support/fuzz.ts';

const latencies = new LatencyHistogram();
for (let ms = 1; ms < 40; ms++) latencies.record(ms * 1e6);
const counts = { startNs: 0, endNs: 1e9, succeeded: 39, failed: 0, responses: 0, sequences: 0 };
const state = { failedSoFar: 0, unserved: { sinceNs: 5, message: 'refused' }, due: null };
const batch = packBatch({ ...counts, latencies });

const toAgent: readonly object[] = [
  { type: 'probe', probe: 1 },
  { type: 'open', ask: 1, threads: 1, transport: { protocol: 'grpc', options: { url: 'h:1', timeoutMs: 1 } } },
  { type: 'null-server', ask: 2, protocol: null },
  { type: 'requests', hash: 'ab', bytes: 10 },
  { type: 'piece', bytes: Buffer.alloc(10) },
  { type: 'learn', hash: 'ab', set: 0 },
  { type: 'read-watch', ask: 3 },
  { type: 'thread', thread: 0, message: { type: 'start', flow: 1, startNs: 5 } },
  {
    type: 'thread',
    thread: 0,
    message: {
      type: 'begin',
      ask: 4,
      flow: 1,
      set: 0,
      part: { index: 0, of: 1 },
      order: { level: { mode: 'concurrency', value: 1 } },
    },
  },
  {
    type: 'thread',
    thread: 0,
    message: {
      type: 'record',
      flow: 1,
      recording: 1,
      startNs: null,
      rule: { lengthNs: Number.POSITIVE_INFINITY, minRequests: 1 },
    },
  },
];
const toController: readonly object[] = [
  { type: 'hello', protocol: AGENT_PROTOCOL, version: '0.1.0', cores: 2, wallZeroNs: 1e18 },
  { type: 'probed', probe: 1, atNs: 5 },
  { type: 'answer', ask: 1, value: new Map([[200, 3]]) },
  { type: 'failed', code: 'USAGE', message: 'no', hint: 'yes' },
  { type: 'thread', thread: 0, report: { type: 'batch', flow: 1, recording: 1, batch, state, sentSoFar: 39 } },
  { type: 'thread', thread: 0, report: { type: 'state', flow: 1, recording: 1, state } },
];

const bytesOf = (messages: readonly object[]): Buffer[] => messages.map((each) => Buffer.from(encodeMessage(each)));
const anything = fc.oneof(
  damagedBytes(bytesOf([...toAgent, ...toController])),
  fc.uint8Array({ maxLength: 60 }),
  fc.anything({ key: fc.oneof(fc.constantFrom(...hostileNames), fc.string()), maxDepth: 4 }).map((value) => {
    try {
      return encodeMessage(value);
    } catch {
      return new Uint8Array();
    }
  }),
);

describe('bytes of a hostile agent or controller', () => {
  it(
    'are a message, or refused with one kind of error',
    () => {
      for (const bytes of bytesOf(toAgent)) expect(readToAgent(bytes)).toBeDefined();
      for (const bytes of bytesOf(toController)) expect(readToController(bytes)).toBeDefined();
      fuzz(anything, (bytes) => {
        for (const read of [readToAgent, readToController]) refusedOr(() => read(Buffer.from(bytes)), 'AGENT_FAILED');
      });
    },
    FUZZ_TIMEOUT_MS,
  );

  it('take memory and time in proportion to their number only', () => {
    const promises = [
      // Arrays and maps of four thousand million values, one in the other.
      Buffer.from('ddffffffff'.repeat(1000), 'hex'),
      Buffer.from('dfffffffff'.repeat(1000), 'hex'),
      Buffer.from('dc7fff'.repeat(100_000), 'hex'),
      Buffer.from('91'.repeat(100_000), 'hex'),
      Buffer.from('c6ffffffff00', 'hex'),
      Buffer.from('c9ffffffff0200', 'hex'),
      // A map in an extension whose array is longer than it.
      Buffer.from('c70502ddffffffff', 'hex'),
    ];
    const before = process.memoryUsage().rss;
    for (const bytes of promises) expect(() => decodeMessage(bytes)).toThrow(/cannot be read/);
    expect(process.memoryUsage().rss - before).toBeLessThan(200e6);
  });

  it(
    'never make an agent throw anything but an error for people',
    () => {
      const message = fc.oneof(
        fc.constantFrom(...toAgent.filter((each) => !('transport' in each) && !('protocol' in each))),
        fc.record({ type: fc.constant('piece'), bytes: fc.uint8Array({ maxLength: 12 }) }),
        fc.record({ type: fc.constant('requests'), hash: fc.string(), bytes: fc.nat(1000) }),
        fc.record({ type: fc.constant('learn'), hash: fc.constantFrom(...hostileNames), set: fc.nat(5) }),
      );
      fuzz(fc.array(message, { maxLength: 8 }), (messages) => {
        const usage = new AgentUsage({ ...noLimits, memoryBytes: 5000 }, 0);
        const session = new ServedSession(
          () => undefined,
          (error) => expect(isTrituneError(error)).toBe(true),
          realClock,
          usage,
        );
        for (const each of messages) refusedOr(() => session.take(each as ToAgent), 'AGENT_FAILED', 'USAGE');
        void session.close();
      });
    },
    FUZZ_TIMEOUT_MS,
  );
});

it('what has no form of its own is not sent as something else', () => {
  for (const row of [Int32Array.of(1), Float32Array.of(1), new DataView(new ArrayBuffer(1)), [BigInt64Array.of(1n)]])
    expect(() => encodeMessage(row)).toThrow(/have no form here/);
});

it('what is sent comes as it was', () => {
  const data = fc.letrec((tie) => ({
    value: fc.oneof(
      { maxDepth: 4 },
      ...[fc.integer(), fc.string(), fc.boolean(), fc.constant(null)],
      // Whole numbers are kept as such: 0 has no sign.
      fc.double({ noNaN: true }).map((value) => value + 0),
      fc.uint8Array().map((bytes) => new Uint8Array(bytes)),
      fc.array(fc.nat()).map((values) => Uint32Array.from(values)),
      fc.array(fc.nat(65_535)).map((values) => Uint16Array.from(values)),
      fc.array(fc.double({ noNaN: true })).map((values) => Float64Array.from(values)),
      fc.array(fc.tuple(fc.nat(), fc.nat()), { maxLength: 4 }).map((pairs) => new Map(pairs)),
      fc.array(tie('value'), { maxLength: 4 }),
      fc.dictionary(
        fc.string().filter((key) => key !== '__proto__'),
        tie('value'),
        { maxKeys: 4, noNullPrototype: true },
      ),
    ),
  })).value;
  fuzz(data, (value) => expect(decodeMessage(encodeMessage(value))).toEqual(value));
});
