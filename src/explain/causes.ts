import { formatFigure, formatMs } from '#base/format.ts';
import { NS_PER_US } from '#base/units.ts';
import type { Choice } from '#perfmodel/modelled-config.ts';
import type { ServerBreakdown } from '#profiler/server-figures.ts';
import type { BatcherPolicy } from '#queueing/batcher-policy.ts';
import { executionNs } from '#queueing/service-law.ts';
import { ceilingGain, isBusy, latencyGain } from './alternatives.ts';
import type { ArrivalProcess } from './arrivals.ts';
import { busyInstances, hasServed, meanBatch } from './execution-law.ts';
import type { Cause, CauseCode } from './explanation.ts';
import { type Forecast, type ForecastContext, forecast } from './forecast.ts';
import { findPadding } from './padding.ts';
import type { IntervalWork, ModelWork } from './readings.ts';

/** What is known when causes are looked for. */
export interface CauseEvidence {
  readonly served: ModelWork;
  readonly breakdown: ServerBreakdown;
  readonly context: ForecastContext;
  readonly present: Forecast;
  /** The best other config; null if there is none. */
  readonly best: Forecast | null;
  /** True if requests come more evenly than those of independent clients. */
  readonly isSteady: boolean;
  /** False if the simulation does not explain the time in the queue. */
  readonly explainsQueue: boolean;
  /** The mean number of busy instances of other models, by interval. */
  readonly othersBusy: readonly number[];
}

/** A cause with what would be gained without it, as a ratio. */
export interface WeighedCause extends Cause {
  readonly gain: number;
}

/** Less is no cause. */
const MIN_GAIN = 1.1;
/** The share of a request's time from which on a part of it is a cause. */
const LARGE_SHARE = 0.3;
/** The share of padding from which on it is a cause. */
const MIN_WASTE = 0.15;

/** Returns the causes that a simulated change of one setting or of the traffic confirms. */
export function simulatedCauses(seen: CauseEvidence): WeighedCause[] {
  return [
    batchingOff,
    delayNeverFills,
    preferredNeverFits,
    tooFewInstances,
    instancesInterfere,
    batchLimit,
    bursts,
    client,
    atItsCeiling,
  ]
    .flatMap((find) => find(seen) ?? [])
    .map((cause) => (seen.explainsQueue || cause.sure === 'possible' ? cause : { ...cause, sure: lessSure(cause) }));
}

const lessSure = ({ sure }: Pick<Cause, 'sure'>): Cause['sure'] => (sure === 'sure' ? 'likely' : 'possible');

/** Returns the causes that show in the counters alone. */
export function countedCauses({ breakdown, served }: Pick<CauseEvidence, 'breakdown' | 'served'>): WeighedCause[] {
  const { requestUs, overheadUs } = breakdown;
  const causes: WeighedCause[] = [];
  if (served.restarts > 0) {
    causes.push(cause('cold-loads', 'sure', Number.POSITIVE_INFINITY, 'it was loaded while it was observed'));
  }
  if (overheadUs > LARGE_SHARE * requestUs) {
    const evidence = `${formatMs(overheadUs / 1e3)} of ${formatMs(requestUs / 1e3)} are neither queue nor execution`;
    causes.push(cause('front-end', 'likely', requestUs / (requestUs - overheadUs), evidence));
  }
  const padding = findPadding(breakdown);
  if (padding && padding.waste > MIN_WASTE) {
    const evidence = `executions take as long as those of the next of ${padding.steps.join(', ')} samples: ${formatFigure(100 * padding.waste)} % of what is executed is padding`;
    causes.push(cause('padding', 'likely', 1 / (1 - padding.waste), evidence));
  }
  return causes;
}

/** Returns the causes by the executions of each interval beside what the law says of them. */
export function driftCauses({ served, context, present, othersBusy }: CauseEvidence): WeighedCause[] {
  const intervals = served.intervals.flatMap((each, index) =>
    hasServed(each)
      ? [{ slowness: computeSlowness(context, present.choice, each), othersBusy: othersBusy[index] ?? 0 }]
      : [],
  );
  if (intervals.length < MIN_INTERVALS) return [];
  const sorted = intervals.toSorted((a, b) => a.othersBusy - b.othersBusy);
  const third = Math.floor(sorted.length / 3);
  const [idle, busy] = [sorted.slice(0, third), sorted.slice(-third)];
  const mean = (part: typeof intervals, of: (each: (typeof intervals)[number]) => number): number =>
    part.reduce((sum, each) => sum + of(each), 0) / part.length;
  const variance = (part: typeof intervals): number =>
    mean(part, ({ slowness }) => (slowness - mean(part, (each) => each.slowness)) ** 2) / part.length;
  const ratio = mean(busy, ({ slowness }) => slowness) / mean(idle, ({ slowness }) => slowness);
  const apart = mean(busy, (each) => each.othersBusy) - mean(idle, (each) => each.othersBusy);
  const error = Math.sqrt(variance(busy) + variance(idle));
  if (!(ratio >= 1.15 && ratio - 1 > 3 * error && apart >= MIN_OTHERS_BUSY)) return [];
  const evidence = `executions take ${formatFigure(100 * (ratio - 1))} % longer while ${formatFigure(apart)} more instances of others are busy`;
  return [cause('other-models', 'likely', ratio, evidence)];
}

const MIN_INTERVALS = 12;
const MIN_OTHERS_BUSY = 0.1;

/** Returns the time of an interval's executions over what the law says. */
function computeSlowness(
  { laws }: ForecastContext,
  choice: Choice,
  served: IntervalWork & { readonly breakdown: ServerBreakdown },
): number {
  const law = laws.of(choice);
  const busy = Math.max(1, busyInstances(served));
  const { batches } = served.breakdown;
  const seen = batches.reduce((sum, { executions, meanExecutionUs }) => sum + executions * meanExecutionUs, 0);
  const expected = batches.reduce((sum, { executions, size }) => sum + executions * executionNs(law, size, busy), 0);
  return (seen * NS_PER_US) / expected;
}

/** Returns the choice with another policy. */
function withPolicy(choice: Choice, change: Partial<BatcherPolicy>): Choice {
  const policy = { ...choice.policy, ...change };
  const largestBatch = policy.dynamicBatching ? Math.max(1, policy.maxBatchSize) : 1;
  return {
    ...choice,
    policy,
    largestBatch,
    delayUs: policy.maxQueueDelayNs / NS_PER_US,
    key: `${choice.key} ${JSON.stringify(change)}`,
  };
}

type FindCause = (seen: CauseEvidence) => WeighedCause | null;

const batchingOff: FindCause = ({ context, present, breakdown }) => {
  const { policy } = present.choice;
  if (policy.dynamicBatching || policy.maxBatchSize <= 1) return null;
  const other = forecast(context, withPolicy(present.choice, { dynamicBatching: true }));
  const gain = relevantGain(context, present, other);
  if (!other || gain < MIN_GAIN) return null;
  return cause(
    'batching-off',
    other.uncertainty < SURE ? 'sure' : 'likely',
    gain,
    `max_batch_size is ${policy.maxBatchSize} without dynamic_batching; ${queueWords(breakdown)}`,
  );
};

const delayNeverFills: FindCause = ({ context, present, breakdown }) => {
  const { policy, largestBatch } = present.choice;
  if (!policy.dynamicBatching || policy.maxQueueDelayNs === 0 || waitsForPreferred(policy)) return null;
  const other = forecast(context, withPolicy(present.choice, { maxQueueDelayNs: 0, preferredBatchSizes: [] }));
  const gain = other ? latencyGain(present, other) : 0;
  if (gain < MIN_GAIN) return null;
  const delay = formatMs(policy.maxQueueDelayNs / 1e6);
  const evidence = `batches of ${formatFigure(meanBatch(breakdown))} of at most ${largestBatch} wait ${delay}; ${queueWords(breakdown)}`;
  return cause('delay-never-fills', 'sure', gain, evidence);
};

/** True if batches of another size than the largest are preferred. */
const waitsForPreferred = ({ preferredBatchSizes, maxBatchSize }: BatcherPolicy): boolean =>
  preferredBatchSizes.some((size) => size !== maxBatchSize);

const preferredNeverFits: FindCause = ({ context, present, breakdown }) => {
  const { policy } = present.choice;
  if (!policy.dynamicBatching || policy.maxQueueDelayNs === 0 || !waitsForPreferred(policy)) return null;
  const executions = countExecutions(breakdown);
  const fitting = breakdown.batches
    .filter(({ size }) => policy.preferredBatchSizes.includes(size))
    .reduce((sum, each) => sum + each.executions, 0);
  if (fitting > LARGE_SHARE * executions) return null;
  const other = forecast(context, withPolicy(present.choice, { maxQueueDelayNs: 0, preferredBatchSizes: [] }));
  const gain = other ? latencyGain(present, other) : 0;
  if (gain < MIN_GAIN) return null;
  const evidence = `${formatFigure((100 * fitting) / executions)} % of the executions have a preferred size (${policy.preferredBatchSizes.join(', ')}); ${queueWords(breakdown)}`;
  return cause('preferred-never-fits', 'sure', gain, evidence);
};

const tooFewInstances: FindCause = ({ context, present, breakdown, served }) => {
  const { policy } = present.choice;
  // Where nothing waits, a further instance has nothing to do.
  if (breakdown.queueUs <= SMALL_SHARE * breakdown.requestUs) return null;
  const other = forecast(context, withPolicy(present.choice, { instances: 2 * policy.instances }));
  const gain = relevantGain(context, present, other);
  if (!other || gain < MIN_GAIN) return null;
  const busy = busyInstances({ ...served, breakdown });
  const evidence = `${formatFigure(busy)} of ${policy.instances} instances are busy in the mean; ${queueWords(breakdown)}`;
  const isKnown = other.uncertainty < LIKELY && showsInterference(served);
  // Twice the instances take twice the memory.
  return cause('too-few-instances', isKnown ? 'likely' : 'possible', Math.sqrt(gain), evidence);
};

/** True if more instances were busy at some times than at others, so that their effect shows. */
function showsInterference({ intervals }: ModelWork): boolean {
  const busy = intervals.filter(hasServed).map(busyInstances);
  return Math.max(...busy) > 1.5 && Math.max(...busy) > 1.5 * Math.min(...busy);
}

const instancesInterfere: FindCause = ({ context, present, breakdown, served }) => {
  const { choice } = present;
  const { instances } = choice.policy;
  if (instances < 2) return null;
  const other = forecast(context, withPolicy(choice, { instances: Math.ceil(instances / 2) }));
  if (!other?.today || !present.today || other.uncertainty > LIKELY) return null;
  const size = Math.max(1, Math.round(meanBatch(breakdown)));
  const law = context.laws.of(choice);
  const slower = executionNs(law, size, instances) / executionNs(law, size, 1);
  const kept = other.ceilingPerSecond / present.ceilingPerSecond;
  const busy = busyInstances({ ...served, breakdown });
  const faster = present.today.mean / other.today.mean;
  if (kept < KEPT || faster < KEPT || slower < MIN_SLOWER || busy < MIN_BUSY) return null;
  const evidence = `an execution takes ${formatFigure(slower)} times as long with all ${instances} instances busy as alone; half as many would serve ${formatFigure(100 * kept)} % of the ceiling`;
  return cause('instances-interfere', 'likely', Math.max(MIN_GAIN, faster, kept), evidence);
};

/** The share of the ceiling and of the latency that fewer instances keep. */
const KEPT = 0.9;
/** The slowdown by all instances from which on they interfere. */
const MIN_SLOWER = 1.3;
/** Busy instances below which interference does not show. */
const MIN_BUSY = 1;

const batchLimit: FindCause = ({ context, present, breakdown }) => {
  const { policy, largestBatch } = present.choice;
  if (largestBatch < 2) return null;
  const executions = countExecutions(breakdown);
  const full = breakdown.batches.find(({ size }) => size >= largestBatch)?.executions ?? 0;
  if (full < LARGE_SHARE * executions) return null;
  const other = forecast(context, withPolicy(present.choice, { maxBatchSize: 4 * policy.maxBatchSize }));
  const gain = relevantGain(context, present, other);
  if (!other || gain < MIN_GAIN) return null;
  const evidence = `${formatFigure((100 * full) / executions)} % of the executions have the largest batch, ${largestBatch}; ${queueWords(breakdown)}`;
  return cause('batch-limit', 'likely', gain, evidence);
};

const bursts: FindCause = ({ context, present, breakdown }) => {
  const { process } = context;
  const how = describeBursts(process);
  if (how === null || !present.today) return null;
  const evenly = forecast({ ...context, process: { kind: 'poisson' } }, present.choice);
  const gain = evenly?.today ? present.today.mean / evenly.today.mean : 0;
  if (gain < MIN_GAIN) return null;
  return cause('bursts', process.kind === 'recorded' ? 'sure' : 'likely', gain, `${how}; ${queueWords(breakdown)}`);
};

/** Returns what shows that requests come in bursts; null if they do not. */
function describeBursts(process: ArrivalProcess): string | null {
  switch (process.kind) {
    case 'recorded':
      return `the traces show ${formatFigure(process.dispersion)} times the variance of independent clients`;
    case 'bursts':
      return `requests come in groups of ${formatFigure(process.meanSize)} in the mean`;
    case 'groups':
      return `each second has as many requests, but they wait like groups of ${process.size} that come at once`;
    default:
      return null;
  }
}

const client: FindCause = ({ isSteady, present, breakdown, served }) => {
  const busy = busyInstances({ ...served, breakdown });
  const { instances } = present.choice.policy;
  if (!isSteady || breakdown.queueUs > SMALL_SHARE * breakdown.requestUs) return null;
  const evidence = `requests come more evenly than those of independent clients, and wait ${formatMs(breakdown.queueUs / 1e3)}; ${formatFigure(busy)} of ${instances} instances are busy`;
  return cause('client', 'likely', 1, evidence);
};

const SMALL_SHARE = 0.1;

const atItsCeiling: FindCause = ({ context, present, best }) => {
  const load = context.perSecond / present.ceilingPerSecond;
  const isBetter = best && ceilingGain(present, best) >= MIN_GAIN;
  // What more instances would give was not seen.
  if (load < NEAR_CEILING || (isBetter && best.choice.policy.instances <= present.choice.policy.instances)) return null;
  const evidence = `${formatFigure(context.perSecond)} requests/s come, and its ceiling is ${formatFigure(present.ceilingPerSecond)}`;
  return cause('at-its-ceiling', present.uncertainty < SURE && !isBetter ? 'sure' : 'likely', CEILING_GAIN, evidence);
};

const NEAR_CEILING = 0.9;
/** The weight of a ceiling that is reached, as the gain of another cause. */
const CEILING_GAIN = 2;
/** Deviations of execution times' logarithm below which a forecast is sure, or likely. */
const SURE = 0.08;
const LIKELY = 0.25;

/** Returns the gain in latency, and that in the ceiling where today's rate is near it. */
function relevantGain(context: ForecastContext, present: Forecast, other: Forecast | null): number {
  if (!other) return 0;
  return Math.max(latencyGain(present, other), isBusy(context, present) ? ceilingGain(present, other) : 0);
}

const countExecutions = ({ batches }: ServerBreakdown): number =>
  batches.reduce((sum, { executions }) => sum + executions, 0);

const queueWords = ({ queueUs, requestUs }: ServerBreakdown): string =>
  `${formatMs(queueUs / 1e3)} of a request's ${formatMs(requestUs / 1e3)} are queue`;

/** Returns a cause with its weight. */
export const cause = (code: CauseCode, sure: Cause['sure'], gain: number, evidence: string): WeighedCause => ({
  code,
  sure,
  evidence,
  gain,
});
