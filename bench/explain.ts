import { readFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { median, quantile } from 'simple-statistics';
import { pick, type Random, seededRandom, standardNormal } from '#base/random.ts';
import { explainModel } from '#explain/explain-model.ts';
import type { ModelExplanation } from '#explain/explanation.ts';
import { type CounterName, counterMetrics, toInstanceReadings } from '#explain/prometheus-readings.ts';
import { type CounterReading, readServed } from '#explain/readings.ts';
import { normaliseConfig } from '#triton/config/normal-form.ts';
import type { ModelStatistics } from '#triton/types.ts';
import { drawGroups, interpolate, type OpenConfig, type OpenServer, playOpen, type TimeTable } from './open-server.ts';

/**
 * Judges `tritune explain`: `npm run bench:explain`. Each server (open-server.ts) serves traffic at
 * 20 to 60 % of its ceiling, and `explain` gets its counters. Then every config of a grid is
 * played, which says what the ceilings are.
 *
 * `--laws FILE`: a JSON list of `{ label, points: [[batch, ms], …] }`, such as published times of
 * GPUs. Default: `--count` made-up laws. `--prometheus`: `explain` gets the counters of the metrics
 * page only.
 */
const { values } = parseArgs({
  options: {
    laws: { type: 'string' },
    count: { type: 'string', default: '24' },
    seed: { type: 'string', default: '1' },
    prometheus: { type: 'boolean', default: false },
    verbose: { type: 'boolean', default: false },
  },
});

const PERCENTILE = 99;
/** Requests that are observed, and readings of them. */
const OBSERVED = { requests: 60_000, readings: 300 };
/** Requests that judge one rate. */
const JUDGED = 12_000;

interface Law {
  readonly label: string;
  readonly points: TimeTable;
}

/** Returns readings as Prometheus gives them, without executions by batch size. */
function asPrometheus(readings: readonly CounterReading[]): readonly CounterReading[] {
  const series = (Object.keys(counterMetrics) as CounterName[]).map((counter) => ({
    counter,
    instance: '',
    model: readings[0]?.statistics[0]?.name ?? '',
    version: '1',
    values: new Map(
      readings.map(({ atNs, statistics: [each] }) => [atNs / 1e9, each ? readCounter(each, counter) : 0]),
    ),
  }));
  return toInstanceReadings(series)[0]?.readings ?? [];
}

function readCounter(statistics: ModelStatistics, counter: CounterName): number {
  switch (counter) {
    case 'success':
      return statistics.success.count;
    case 'failure':
      return statistics.fail.count;
    case 'inferences':
      return statistics.inferenceCount;
    case 'executions':
      return statistics.executionCount;
    case 'requestUs':
      return statistics.success.ns / 1e3;
    case 'queueUs':
      return statistics.queue.ns / 1e3;
    case 'inputUs':
      return statistics.computeInput.ns / 1e3;
    case 'inferUs':
      return statistics.computeInfer.ns / 1e3;
    case 'outputUs':
      return statistics.computeOutput.ns / 1e3;
  }
}

const readLaws = (random: Random): Law[] =>
  values.laws === undefined
    ? Array.from({ length: Number(values.count) }, (_, index) => makeUpLaw(index, random))
    : (JSON.parse(readFileSync(values.laws, 'utf8')) as Law[]);

/** A device that takes small batches almost in the time of one until it is full. */
function makeUpLaw(index: number, random: Random): Law {
  const oneMs = 0.5 * 40 ** random.float();
  const share = 0.02 + 0.5 * random.float() ** 2;
  const full = 2 ** random.int(0, 4);
  const noise = 0.06 * random.float();
  const toMs = (batch: number): number =>
    oneMs *
    (1 + share * (0.2 * (batch - 1) + 0.8 * Math.max(0, batch - full))) *
    Math.exp(noise * standardNormal(random));
  return { label: `made-up ${index}`, points: [1, 2, 4, 8, 16, 32, 64, 128].map((batch) => [batch, toMs(batch)]) };
}

/** A server, its present config, and what it should keep. */
interface Case {
  readonly label: string;
  readonly server: OpenServer;
  readonly present: OpenConfig;
  readonly groupSize: number;
  readonly budgetMs: number;
  readonly seed: number;
}

function drawCase({ label, points }: Law, index: number, random: Random): Case {
  const isLock = index % 2 === 0;
  const server: OpenServer = {
    serviceMs: interpolate(points),
    sharing: isLock
      ? { by: 'lock', share: 0.4 + 0.6 * random.float() }
      : { by: 'slowdown', share: 0.1 + 0.8 * random.float() },
    jitter: 0.02 + 0.06 * random.float(),
    stalls: random.float() < 0.5 ? 0.001 : 0,
    frontMs: 0.005 + 0.02 * random.float(),
  };
  const groupSize = random.float() < 0.3 ? 1 + 3 * random.float() : 1;
  const present: OpenConfig = {
    instances: pick([1, 1, 2], random),
    maxBatch: pick([8, 16, 32], random),
    delayMs: pick([0, 0, 1, 5], random),
  };
  const budgetMs = server.serviceMs(present.maxBatch) * (1.5 + 2 * random.float()) + present.delayMs;
  return { label, server, present, groupSize, budgetMs, seed: index + 1 };
}

/** Returns the highest rate within the budget, in requests per second; 0 if there is none. */
function findCeiling({ server, groupSize, budgetMs, seed }: Case, config: OpenConfig): number {
  const keeps = (perSecond: number): boolean => {
    const random = seededRandom(seed);
    const arrivalsMs = drawGroups(groupSize, perSecond, JUDGED, random);
    const { latenciesMs } = playOpen(server, config, { arrivalsMs, count: 1, random });
    return quantile([...latenciesMs.subarray(JUDGED / 20)], PERCENTILE / 100) <= budgetMs;
  };
  const most = (config.instances * config.maxBatch * 1e3) / server.serviceMs(config.maxBatch);
  const shares = [1, 0.7, 0.5, 0.35, 0.25, 0.15, 0.1, 0.05];
  const first = shares.findIndex((share) => keeps(share * most));
  if (first < 0) return 0;
  let [low, high] = [(shares[first] as number) * most, (shares[first - 1] ?? 1) * most];
  for (let halving = 0; halving < 6 && first > 0; halving++) {
    const middle = (low + high) / 2;
    if (keeps(middle)) low = middle;
    else high = middle;
  }
  return low;
}

const toConfig = ({ instances, maxBatch, delayMs }: OpenConfig) =>
  normaliseConfig({
    name: 'model',
    backend: 'tensorrt',
    max_batch_size: maxBatch,
    input: [{ name: 'INPUT', data_type: 'TYPE_FP32', dims: [16] }],
    output: [{ name: 'OUTPUT', data_type: 'TYPE_FP32', dims: [4] }],
    instance_group: [{ count: instances, kind: 'KIND_GPU', gpus: [0] }],
    // With a queue policy, Triton forms batches only for idle instances, as this batcher does.
    dynamic_batching: {
      max_queue_delay_microseconds: 1e3 * delayMs,
      default_queue_policy: { timeout_action: 'DELAY' },
    },
  });

function readProposed({ proposal }: ModelExplanation, present: OpenConfig): OpenConfig {
  if (!proposal) return present;
  const config = normaliseConfig(proposal.config);
  return {
    instances: config.instance_group?.[0]?.count ?? 1,
    maxBatch: config.max_batch_size ?? 1,
    delayMs: Number(config.dynamic_batching?.max_queue_delay_microseconds ?? 0) / 1e3,
  };
}

/** Returns the ceiling by a straight line through the times of the smallest and largest batches. */
function drawLine({ batches }: ModelExplanation, { instances, maxBatch }: OpenConfig, budgetMs: number): number {
  const [first, last] = [batches.sizes[0], batches.sizes.at(-1)];
  if (!first || !last) return 0;
  const slope =
    last.size > first.size
      ? (last.meanExecutionMs - first.meanExecutionMs) / (last.size - first.size)
      : first.meanExecutionMs;
  const fullMs = first.meanExecutionMs + slope * (maxBatch - first.size);
  return budgetMs < fullMs ? 0 : (instances * maxBatch * 1e3) / fullMs;
}

interface Judged {
  readonly error: number;
  readonly lineError: number;
  readonly holds: boolean;
  /** null without a proposal. */
  readonly proposalHolds: boolean | null;
  /** Shares of the best ceiling of the grid. */
  readonly worth: number;
  readonly presentWorth: number;
}

/** Returns null where the budget cannot be kept at any rate. */
function judge(drawn: Case, random: Random): Judged | null {
  const { server, present, groupSize, budgetMs, seed } = drawn;
  const truth = findCeiling(drawn, present);
  const perSecond = truth * (0.2 + 0.4 * random.float());
  if (truth === 0) return null;
  const observing = seededRandom(1000 + seed);
  const arrivalsMs = drawGroups(groupSize, perSecond, OBSERVED.requests, observing);
  const { readings } = playOpen(server, present, { arrivalsMs, count: OBSERVED.readings, random: observing });
  const budget = { percentile: PERCENTILE, latencyMs: budgetMs };
  const explanation = explainModel(
    readServed(values.prometheus ? asPrometheus(readings) : readings),
    toConfig(present),
    [],
    budget,
  );
  const ceiling = explanation?.present?.ceiling;
  if (!explanation || !ceiling) throw new Error(`${drawn.label} was not explained`);
  const grid = [1, 2, 3, 4].flatMap((instances) =>
    [8, 16, 32, 64, 128]
      .filter((maxBatch) => maxBatch >= present.maxBatch && maxBatch <= 8 * present.maxBatch)
      .flatMap((maxBatch) => [0, 0.5, 2, 5].map((delayMs) => ({ instances, maxBatch, delayMs }))),
  );
  const proposed = readProposed(explanation, present);
  const served = findCeiling(drawn, proposed);
  const best = Math.max(truth, served, ...grid.map((config) => findCeiling(drawn, config)));
  const said = explanation.proposal?.ceiling;
  if (values.verbose) {
    const words = ({ instances, maxBatch, delayMs }: OpenConfig): string => `${instances}/${maxBatch}/${delayMs}`;
    console.log(
      `${drawn.label}, ${server.sharing.by} ${server.sharing.share.toFixed(2)}, groups ${groupSize.toFixed(1)}: ` +
        `${words(present)} ceiling ${ceiling.value.toFixed(0)} (${ceiling.low.toFixed(0)} to ${ceiling.high.toFixed(0)}), ` +
        `true ${truth.toFixed(0)}; ${words(proposed)} worth ${(served / best).toFixed(2)} from ${(truth / best).toFixed(2)}; ` +
        explanation.causes.map(({ code, sure }) => `${code} (${sure})`).join(', '),
    );
  }
  return {
    error: Math.abs(ceiling.value / truth - 1),
    lineError: Math.abs(drawLine(explanation, present, budgetMs) / truth - 1),
    holds: ceiling.low <= truth && truth <= ceiling.high,
    proposalHolds: said ? said.low <= served && served <= said.high : null,
    worth: served / best,
    presentWorth: truth / best,
  };
}

const random = seededRandom(Number(values.seed));
const judged = readLaws(random)
  .map((law, index) => drawCase(law, index, random))
  .flatMap((drawn) => judge(drawn, random) ?? []);

const percent = (share: number): string => `${(100 * share).toFixed(1)} %`;
const figures = (of: (each: Judged) => number): number[] => judged.map(of);
const proposals = judged.filter(({ proposalHolds }) => proposalHolds !== null);
console.log(`${judged.length} servers`);
console.log(
  `ceiling: median error ${percent(median(figures(({ error }) => error)))}, worst tenth ` +
    `${percent(
      quantile(
        figures(({ error }) => error),
        0.9,
      ),
    )}; a straight line ${percent(median(figures(({ lineError }) => lineError)))}`,
);
console.log(
  `its interval holds ${judged.filter(({ holds }) => holds).length} of ${judged.length}; that of a proposal ` +
    `${proposals.filter(({ proposalHolds }) => proposalHolds).length} of ${proposals.length}`,
);
console.log(
  `proposal: median ${percent(median(figures(({ worth }) => worth)))} of the best, worst tenth ` +
    `${percent(
      quantile(
        figures(({ worth }) => worth),
        0.1,
      ),
    )}; the present config ${percent(median(figures(({ presentWorth }) => presentWorth)))}`,
);
