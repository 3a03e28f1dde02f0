import { describe, expect, it } from 'vitest';
import type { Clock } from '#base/clock.ts';
import { encodeMessage } from '#loadgen/agents/codec.ts';
import { readToController } from '#loadgen/agents/protocol.ts';
import { commandAhead, reportAhead } from '#loadgen/agents/times.ts';
import { type Flow, localFlow } from '#loadgen/flow.ts';
import type { Part } from '#loadgen/paced-part.ts';
import type { Batch } from '#loadgen/recorder.ts';
import type { SendOrder } from '#loadgen/sender.ts';
import type { RequestSet, Transport } from '#loadgen/types.ts';
import { BatchMerge } from '#loadgen/workers/batch-merge.ts';
import { packBatch, type ThreadCommand, type ThreadReport } from '#loadgen/workers/messages.ts';
import { LatencyHistogram } from '#stats/histogram.ts';
import { SimulatedClock } from '../simulation.ts';

const LENGTH_NS = 100e6;
const REQUESTS = 3000;

const requests: RequestSet = {
  model: 'm',
  version: '',
  batch: 1,
  requests: [{ model: 'm', version: '', batch: 1, inputs: [] }],
};

const order: SendOrder = {
  requests,
  level: { mode: 'request-rate', value: 1000 },
  schedule: { kind: 'poisson', perSecond: 1000, seed: 7 },
  mostRequests: REQUESTS,
};

/**
 * A server whose latency says when a request came, so that nothing but the schedule decides on it:
 * 2 to 20 ms, now and then 150.
 */
function serverOf(clock: SimulatedClock): Transport {
  return {
    prepare: (request) => ({ request }),
    send: (_, done) => {
      const nowMs = clock.nowNs() / 1e6;
      const latencyMs = 11 + 9 * Math.sin(nowMs / 37) + (nowMs % 500 < 4 ? 130 : 0);
      clock.after(latencyMs * 1e6, () => done({ ok: true }));
    },
    close: () => Promise.resolve(),
  };
}

const rule = { lengthNs: LENGTH_NS, minRequests: 1 };

function totalOf(batches: readonly Batch[], of: 'latencies' | 'fromDue'): LatencyHistogram {
  const whole = new LatencyHistogram();
  for (const batch of batches) whole.merge(batch[of] ?? new LatencyHistogram());
  return whole;
}

/** All that one sender counts. */
async function sentByOne(): Promise<readonly Batch[]> {
  const clock = new SimulatedClock();
  const flow = localFlow(order, { transport: serverOf(clock), clock });
  const batches: Batch[] = [];
  flow.record(rule, (batch) => batches.push(batch), 0);
  flow.start(0);
  await clock.sleep(5000);
  await flow.closeBatch();
  return batches;
}

/**
 * The same, sent by threads of agents whose clocks are ahead by so much, through the bytes of the
 * protocol both ways.
 */
async function sentByAgents(aheadNs: readonly number[], threadsEach: number): Promise<readonly Batch[]> {
  const clock = new SimulatedClock();
  const threads = aheadNs.flatMap((ahead) => Array.from({ length: threadsEach }, () => ahead));
  const batches: Batch[] = [];
  const merge = new BatchMerge(threads.length, { stepNs: LENGTH_NS, originNs: 0, minRequests: 1 }, ({ batch }) =>
    batches.push(batch),
  );
  const flows = threads.map((ahead, index): Flow => {
    const part: Part = { index, of: threads.length };
    const ownClock: Clock = {
      nowNs: () => clock.nowNs() + ahead,
      wallMs: () => clock.wallMs(),
      sleep: (ms, signal) => clock.sleep(ms, signal),
    };
    const flow = localFlow(order, { transport: serverOf(clock), clock: ownClock }, part);
    const record: ThreadCommand = {
      ...({ type: 'record', flow: 1, recording: 1, startNs: 0 } as const),
      rule: { ...rule, inStepWithNs: 0 },
    };
    const told = commandAhead(record, ahead);
    if (told.type !== 'record') throw new Error('another command');
    flow.record(
      told.rule,
      (batch) => {
        const { sent: sentSoFar, failedSoFar, unserved, due } = flow;
        const report: ThreadReport = {
          ...({ type: 'batch', flow: 1, recording: 1, batch: packBatch(batch) } as const),
          state: { failedSoFar, unserved, due },
          sentSoFar,
        };
        const read = readToController(encodeMessage({ type: 'thread', thread: index, report }));
        if (read.type !== 'thread' || read.report.type !== 'batch') throw new Error('another message');
        const { batch: packed, state } = reportAhead(read.report, -ahead);
        merge.add(index, packed, state.due);
      },
      told.startNs,
    );
    flow.start(ahead);
    return flow;
  });
  await clock.sleep(5000);
  for (const flow of flows) await flow.closeBatch();
  merge.flush();
  return batches;
}

describe('the histograms of agents, merged', () => {
  it.each([
    ['two agents', [0, 3.6e12], 1],
    ['three agents of two threads, with clocks hours apart', [-7.2e12, 12_345.678, 9e14], 2],
  ])('are those of one that sends all: %s', async (_, ahead, threadsEach) => {
    const [one, many] = [await sentByOne(), await sentByAgents(ahead, threadsEach)];
    for (const of of ['latencies', 'fromDue'] as const) {
      const [whole, merged] = [totalOf(one, of), totalOf(many, of)];
      expect(whole.count).toBe(REQUESTS);
      expect(merged.count).toBe(REQUESTS);
      for (const p of [0, 0.01, 0.5, 0.9, 0.95, 0.99, 0.999, 1]) {
        // The resolution of a histogram; the clocks of the agents have other last digits.
        expect(Math.abs(merged.quantileNs(p) / whole.quantileNs(p) - 1)).toBeLessThan(0.001);
      }
      expect(merged.meanNs / whole.meanNs).toBeCloseTo(1, 6);
      expect([merged.minNs / whole.minNs, merged.maxNs / whole.maxNs].map((ratio) => ratio.toFixed(6))).toEqual([
        '1.000000',
        '1.000000',
      ]);
    }
  });

  it('have windows that end at the same moments', async () => {
    const [one, many] = [await sentByOne(), await sentByAgents([0, 3.6e12], 2)];
    const ends = (batches: readonly Batch[]): number[] => batches.map(({ endNs }) => endNs / LENGTH_NS);
    expect(many.length).toBeGreaterThan(25);
    for (const [index, batch] of many.entries()) {
      if (index === 0) continue;
      expect(batch.startNs).toBe(many[index - 1]?.endNs);
    }
    // A batch ends with a completion of its own: a moment after the step, and never a step later.
    for (const end of ends(many).slice(0, 25)) expect(Math.abs(end - Math.round(end))).toBeLessThan(0.25);
    expect(Math.abs(ends(many).length - ends(one).length)).toBeLessThan(6);
  });
});
