import { seededRandom } from '#base/random.ts';
import { NS_PER_MS } from '#base/units.ts';
import { encodeMessage } from '#loadgen/agents/codec.ts';
import { readToController } from '#loadgen/agents/protocol.ts';
import { Recorder } from '#loadgen/recorder.ts';
import { BatchMerge } from '#loadgen/workers/batch-merge.ts';
import { packBatch, type ThreadReport } from '#loadgen/workers/messages.ts';

/**
 * What the controller pays for the batches of many agents, by simulation: to read the message of
 * each and to merge them, per window. Agents of four threads, each thread with 1,000 log-normal
 * latencies in a window: node bench/agents.ts, or with TRITUNE_BENCH_AGENTS=10,100,1000.
 */

const AGENTS = (process.env.TRITUNE_BENCH_AGENTS ?? '10,100,1000').split(',').map(Number);
const THREADS = 4;
const REQUESTS = 1000;
const WINDOWS = 5;
const STEP_NS = 1e9;

/** Returns one thread's batches as an agent sends them. */
function messagesOf(seed: number): readonly Uint8Array[] {
  const random = seededRandom(seed);
  const rows: Uint8Array[] = [];
  const recorder = new Recorder();
  recorder.start(
    { lengthNs: STEP_NS, minRequests: 1, inStepWithNs: 0 },
    (batch) => {
      const state = { failedSoFar: 0, due: null, unserved: null };
      const report = {
        type: 'batch',
        flow: 1,
        recording: 1,
        batch: packBatch(batch),
        state,
        sentSoFar: REQUESTS,
      } satisfies ThreadReport;
      rows.push(encodeMessage({ type: 'thread', thread: 0, report }));
    },
    0,
  );
  for (let request = 1; request <= WINDOWS * REQUESTS + 1; request++) {
    const normal = Math.sqrt(-2 * Math.log(1 - random.float())) * Math.cos(2 * Math.PI * random.float());
    recorder.record((request * STEP_NS) / REQUESTS, 8 * NS_PER_MS * Math.exp(0.4 * normal), { ok: true });
  }
  return rows;
}

/** A few different threads represent all. */
const kinds = Array.from({ length: 16 }, (_, seed) => messagesOf(seed + 1));

for (const agents of AGENTS) {
  const threads = agents * THREADS;
  let [merged, requests] = [0, 0];
  const merge = new BatchMerge(threads, { stepNs: STEP_NS, originNs: 0, minRequests: 1 }, ({ batch }) => {
    merged++;
    requests += batch.succeeded;
    batch.latencies.quantileNs(0.99);
  });
  const cpuBefore = process.cpuUsage();
  for (let window = 0; window < WINDOWS; window++) {
    for (let thread = 0; thread < threads; thread++) {
      const message = kinds[thread % kinds.length]?.[window] as Uint8Array;
      const read = readToController(message);
      if (read.type === 'thread' && read.report.type === 'batch') merge.add(thread, read.report.batch, null);
    }
  }
  const { user, system } = process.cpuUsage(cpuBefore);
  const bytes = kinds.flat().reduce((sum, { length }) => sum + length, 0) / kinds.flat().length;
  console.log(
    `${agents} agents, ${threads} threads: ${((user + system) / 1e3 / merged).toFixed(1)} ms of CPU a window to read ${(bytes / 1024).toFixed(1)} KiB from each thread and to merge them; ${requests} requests in ${merged} windows`,
  );
}
