/**
 * Cost of simulating 2,000 requests, for a few policies. With QUEUEING_PEER set to the path of a
 * Python module whose `simulate(arrivals, max_batch, preferred, delay, instances, service)` does
 * the same, both run in turn and the ratio is printed: node bench/queueing.ts
 */
import { spawnSync } from 'node:child_process';
import { affineLaw } from '#queueing/service-law.ts';
import { simulate } from '#queueing/simulate.ts';

const REQUESTS = 2000;
const ROUNDS = 15;

const setUps = [
  { name: 'max batch 8, no delay', maxBatchSize: 8, preferred: [], delayMs: 0, instances: 2 },
  { name: 'max batch 64, delay 2 ms', maxBatchSize: 64, preferred: [], delayMs: 2, instances: 4 },
  { name: 'preferred 4 of 16, delay 5 ms', maxBatchSize: 16, preferred: [4], delayMs: 5, instances: 2 },
  { name: 'no batching', maxBatchSize: 1, preferred: [], delayMs: 0, instances: 4 },
];

for (const setUp of setUps) {
  const ours: number[] = [];
  const theirs: number[] = [];
  for (let round = 0; round < ROUNDS; round++) {
    ours.push(milliseconds(setUp));
    if (process.env.QUEUEING_PEER && round % 5 === 0) theirs.push(peerMilliseconds(setUp, process.env.QUEUEING_PEER));
  }
  const own = median(ours.slice(5));
  const ratio = theirs.length > 0 ? `  peer / ours: ${(median(theirs) / own).toFixed(1)}` : '';
  console.log(`${setUp.name.padEnd(32)} ${own.toFixed(2)} ms per ${REQUESTS} requests${ratio}`);
}

type SetUp = (typeof setUps)[number];

/**
 * Evenly spaced arrivals at 80 % of what the set-up can serve with full batches of 2 ms + 0.1 ms
 * per sample.
 */
function arrivalsMs({ maxBatchSize, instances }: SetUp): number[] {
  const perMs = (0.8 * instances * maxBatchSize) / (2 + 0.1 * maxBatchSize);
  return Array.from({ length: REQUESTS }, (_, index) => index / perMs);
}

function milliseconds(setUp: SetUp): number {
  const policy = {
    maxBatchSize: setUp.maxBatchSize,
    preferredBatchSizes: setUp.preferred,
    maxQueueDelayNs: setUp.delayMs * 1e6,
    instances: setUp.instances,
    dynamicBatching: true,
  };
  const law = affineLaw(2e6, 0.1e6);
  const arrivalsNs = Float64Array.from(arrivalsMs(setUp), (ms) => ms * 1e6);
  const start = performance.now();
  const { requests } = simulate(policy, law, { kind: 'open', arrivalsNs }, { warmUpRequests: 0, requests: 1, seed: 1 });
  const spent = performance.now() - start;
  if (requests !== REQUESTS) throw new Error(`${requests} requests were served`);
  return spent;
}

function peerMilliseconds(setUp: SetUp, path: string): number {
  const program = [
    'import importlib.util, json, sys, time',
    "spec = importlib.util.spec_from_file_location('peer', sys.argv[1])",
    'peer = importlib.util.module_from_spec(spec); spec.loader.exec_module(peer)',
    'given = json.load(sys.stdin)',
    'start = time.perf_counter()',
    'peer.simulate(*given, lambda batch: 2 + 0.1 * batch)',
    'print((time.perf_counter() - start) * 1000)',
  ].join('\n');
  const given = [arrivalsMs(setUp), setUp.maxBatchSize, setUp.preferred, setUp.delayMs, setUp.instances];
  const { status, stdout, stderr } = spawnSync('python3', ['-c', program, path], {
    input: JSON.stringify(given),
    encoding: 'utf8',
  });
  if (status !== 0) throw new Error(`the peer failed: ${stderr}`);
  return Number(stdout);
}

function median(values: readonly number[]): number {
  return [...values].sort((a, b) => a - b)[values.length >> 1] as number;
}
