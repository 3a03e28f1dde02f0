/**
 * How well a server is predicted from a few of its results: for each set-up of a published table,
 * the rows of one request at a time and three rows of traffic are fitted, and the 29 others
 * predicted: `npm run bench:calibration`. Set beside two naive guesses from the rows of one request
 * at a time alone. `TRITUNE_BENCH_LEVELS` (8,64,256) chooses the rows of traffic. Arguments are
 * files of other tables, of which those count that say how they were batched.
 */
import { readFileSync } from 'node:fs';
import { basename } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { median } from 'simple-statistics';
import { NS_PER_US } from '#base/units.ts';
import { readResultTable, type SetUp, type SetUpSettings } from '#emulator/profile/result-table.ts';
import type { BatcherPolicy } from '#queueing/batcher-policy.ts';
import { levelsToFit, predictHeldOut } from '#queueing/calibration/held-out.ts';
import { computeMisses } from '#queueing/calibration/loss.ts';
import { calibratedLaw, predictRow } from '#queueing/calibration/model.ts';
import { aloneRows } from '#queueing/calibration/row.ts';
import { usualUnknowns } from '#queueing/calibration/search.ts';

const TARGET = 0.1;
const levels = (process.env.TRITUNE_BENCH_LEVELS ?? '8,64,256').split(',').map(Number);
/**
 * As published for the built-in table: two instances, batches up to 1024, preferred 512 and 1024, a
 * queue delay of 1 µs.
 */
const policy = {
  maxBatchSize: 1024,
  preferredBatchSizes: [512, 1024],
  maxQueueDelayNs: 1000,
  instances: 2,
  dynamicBatching: true,
};

const fixture = new URL('../test/fixtures/queueing/tft-results.csv.gz', import.meta.url);
const files = process.argv.slice(2);
const builtIn = readResultTable(gunzipSync(readFileSync(fixture)).toString(), 'tft-results.csv', 1);
const subjects =
  files.length === 0
    ? builtIn.map((setUp) => ({ file: '', setUp, policy, levels }))
    : files.flatMap((file) =>
        readResultTable(readFileSync(file, 'utf8'), file, 1)
          .filter(({ rows, settings }) => settings.maxBatchSize !== null && rows.some((row) => row.concurrency > 1))
          .map((setUp) => ({
            file: basename(file).replace(/\..*$/, ''),
            setUp,
            policy: policyOfTable(setUp.settings),
            levels: levelsToFit(setUp.rows),
          })),
      );

function policyOfTable(settings: SetUpSettings): BatcherPolicy {
  return {
    maxBatchSize: settings.maxBatchSize ?? 0,
    preferredBatchSizes: settings.preferredBatchSizes ?? [],
    maxQueueDelayNs: NS_PER_US * (settings.queueDelayUs ?? 0),
    instances: settings.instances ?? 1,
    dynamicBatching: true,
  };
}
const percent = (share: number): string => `${(100 * share).toFixed(1)} %`.padStart(8);

console.log('fitted: offline rows and three rows of traffic; median errors over the other rows');
console.log(
  'set-up                                                infer/s       p50   seconds   naive: free instances   interference 0.6',
);
let met = 0;
for (const { file, setUp, policy, levels } of subjects) {
  const { labels, rows } = setUp;
  const start = performance.now();
  const { medianMiss } = predictHeldOut(rows, policy, levels);
  const seconds = (performance.now() - start) / 1e3;
  if (!medianMiss) throw new Error('no row is left to predict');
  if (medianMiss.throughput <= TARGET && medianMiss.p50 <= TARGET) met++;
  const guesses = [0, 0.6].map((perInstance) => {
    const { throughput, p50 } = naive(rows, policy, levels, perInstance);
    return `${percent(throughput)} ${percent(p50)}`;
  });
  const name = [file, ...Object.values(labels)].join(' ').trim().slice(0, 50).padEnd(50);
  const own = `${percent(medianMiss.throughput)}  ${percent(medianMiss.p50)}`;
  console.log(`${name}   ${own}  ${seconds.toFixed(1).padStart(8)}       ${guesses.join('    ')}`);
}
console.log(`${met} of ${subjects.length} set-ups within ${percent(TARGET).trim()} in both`);

/**
 * Predicts from executions timed alone, and from how much a second instance is assumed to slow the
 * first.
 */
function naive(
  rows: SetUp['rows'],
  policy: BatcherPolicy,
  levels: readonly number[],
  perInstance: number,
): { throughput: number; p50: number } {
  const alone = aloneRows(rows, policy.maxBatchSize);
  const unknowns = { ...usualUnknowns(alone, policy.instances), perInstance };
  const law = calibratedLaw(alone, policy.maxBatchSize, unknowns, { input: 0, output: 0 });
  const server = { policy, law, roundTripNs: 0, jitterNs: 0, windowNs: Number.POSITIVE_INFINITY };
  const misses = rows
    .filter(({ concurrency }) => concurrency > 1 && !levels.includes(concurrency))
    .map((row) => computeMisses(predictRow(server, row.concurrency, row.samplesPerRequest), row));
  return { throughput: median(misses.map((each) => each.throughput)), p50: median(misses.map((each) => each.p50)) };
}
