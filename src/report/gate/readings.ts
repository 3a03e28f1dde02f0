import { z } from 'zod';
import { formatMessage, TrituneError } from '#base/errors.ts';
import { capacityDocumentSchema } from '#capacity/document-schema.ts';
import { failedText } from '#capacity/words.ts';
import type { LoadLevel } from '#loadgen/types.ts';
import { computeClientParts } from '#profiler/client/client-parts.ts';
import { describeTooManyFailed, type FailedRequests } from '#profiler/failed-requests.ts';
import { describeMachine, type Machine } from '#profiler/machine.ts';
import type { Interval } from '#stats/interval.ts';
import { allowedErrorRate } from '#study/goal/goal.ts';
import { builtInMetrics } from '#study/goal/metrics/registry.ts';
import { describeCertificate } from '#study/summary/certificate-words.ts';
import { describeRate } from '#study/summary/cost-point.ts';
import { explanation } from '#study/summary/explanation-schema.ts';
import { best, type CostPoint } from '#study/summary/point-schema.ts';
import { summarySchema } from '#study/summary/summary-schema.ts';
import { profileLevel, profileSchema } from '../profile-json.ts';
import type { LevelTimes } from './times.ts';

/** One comparable metric of a document. */
export interface MetricReading {
  /**
   * Its subject, such as `best` or `concurrency 8`. Only figures with the same subject are
   * compared.
   */
  readonly subject: string;
  readonly metric: string;
  readonly unit: string;
  readonly better: 'higher' | 'lower';
  readonly interval: Interval;
  /**
   * True for a rate at a fixed request rate: until the server is overloaded, it is the load that
   * was sent, however slow the server is.
   */
  readonly followsLoad?: true;
}

/** The part of a document that a gate uses. */
export interface GateDocument {
  readonly kind: 'tune' | 'profile' | 'capacity' | 'table';
  readonly model: string;
  readonly isEmulated: boolean;
  /**
   * Why its figures are meaningless by themselves, such as a budget that nothing met; null if they
   * are not.
   */
  readonly flaw: string | null;
  readonly readings: readonly MetricReading[];
  /** What was made up for the requests, one line for each input. */
  readonly assumptions: readonly string[];
  /** How much better other configs can be, in words; null where that is not known. */
  readonly certificate: string | null;
  /** What it was measured on, in words; null in documents of earlier versions. */
  readonly machine: string | null;
  /** Where the time went, level by level; empty where that is not known. */
  readonly times: readonly LevelTimes[];
}

/**
 * The parts of each document that a gate reads. Figures that documents of earlier versions lack may
 * be absent.
 */
const summary = summarySchema
  .pick({ schemaVersion: true, model: true, emulated: true, budget: true, feasible: true })
  .extend({
    server: summarySchema.shape.server.pick({ machine: true }).optional(),
    best: best
      .pick({ load: true, throughput: true, budgetLatencyMs: true, tokens: true, goodput: true, cost: true })
      .extend(best.pick({ errorRate: true, failure: true }).partial().shape)
      .nullable(),
    ...summarySchema.pick({ constraints: true, objectives: true, assumptions: true, certificate: true }).partial()
      .shape,
    explanation: explanation.pick({ after: true }).partial().nullish(),
  });

const level = profileLevel
  .pick({ level: true, throughput: true, budgetLatencyMs: true, tokens: true, goodput: true })
  .extend({
    client: profileLevel.shape.client.pick({ bound: true }),
    ...profileLevel
      .pick({ errorRate: true, failures: true, latencyMs: true, server: true, clientTimes: true })
      .partial().shape,
  });
const profile = profileSchema.pick({ schemaVersion: true, model: true }).extend({
  server: profileSchema.shape.server.pick({ emulated: true, machine: true }),
  levels: z.array(level),
  ...profileSchema.pick({ assumptions: true }).shape,
});

const capacity = capacityDocumentSchema
  .pick({ schemaVersion: true, model: true, arrivals: true, limit: true, outcome: true, capacity: true, burst: true })
  .extend({
    server: capacityDocumentSchema.shape.server.pick({ emulated: true }),
    ...capacityDocumentSchema.pick({ probes: true, assumptions: true }).partial().shape,
  });

/**
 * Reads the `summary.json` of a tune run, the `--json` of a profile, or a `capacity.json`. Errors:
 * INPUT_INVALID with the path.
 */
export function readGateDocument(text: string, path: string): GateDocument {
  let json: unknown;
  try {
    json = JSON.parse(text);
  } catch (error) {
    throw invalid(path, `it is not JSON: ${formatMessage(error)}`);
  }
  if (typeof json === 'object' && json !== null && 'kind' in json && json.kind === 'capacity')
    return known(capacityReadings(parsed(capacity, json, path)), path);
  if (typeof json === 'object' && json !== null && 'levels' in json)
    return known(profileDocument(parsed(profile, json, path)), path);
  if (typeof json === 'object' && json !== null && 'models' in json) {
    throw new TrituneError('INPUT_INVALID', `${path} has several models`, 'compare the directory of each of them');
  }
  return known(tuneDocument(parsed(summary, json, path)), path);
}

/** Documents hold null for what could not be computed. Errors: INPUT_INVALID for such a figure. */
function known(document: GateDocument, path: string): GateDocument {
  const unknown = document.readings.find(({ interval }) => Object.values(interval).some(Number.isNaN));
  if (!unknown) return document;
  throw invalid(path, `the ${unknown.metric} of ${unknown.subject} is null: it could not be measured`);
}

function parsed<S extends z.ZodType>(schema: S, json: unknown, path: string): z.infer<S> {
  const outcome = schema.safeParse(json);
  if (outcome.success) return outcome.data;
  const [issue] = outcome.error.issues;
  throw invalid(path, `'${issue?.path.join('.')}' is not as expected: ${issue?.message}`);
}

/**
 * With a budget, or limits on the times of tokens, only rates count: the study chose the level that
 * uses them up.
 */
function tuneDocument({ model, emulated, budget, feasible, best, ...more }: z.infer<typeof summary>): GateDocument {
  const why = best && describeTooManyFailed(findFailed(best), allowedErrorRate(more.constraints ?? []));
  const flaw = !feasible || !best ? `no configuration met the constraints${why ? `: ${why}` : ''}` : null;
  const costs = best ? costReadings(best.cost, more.objectives) : [];
  const throughput = best && toThroughput('best', best.throughput);
  const isLimited = budget !== null || (more.constraints ?? []).length > 0;
  const latency = best && budget === null ? [toLatency('best', best.budgetLatencyMs)] : [];
  const ofTokens = best ? tokenReadings('best', best.tokens, best.budgetLatencyMs.percentile, !isLimited) : [];
  const goodput = best ? goodputReadings('best', best) : [];
  return {
    kind: 'tune',
    model,
    isEmulated: emulated !== null,
    flaw,
    // A cheaper config may well serve less on one server.
    readings: costs.length > 0 ? costs : throughput ? [throughput, ...latency, ...ofTokens, ...goodput] : [],
    assumptions: more.assumptions ?? [],
    certificate: more.certificate?.gain == null ? null : describeCertificate(more.certificate),
    machine: findMachine(more.server?.machine),
    times: bestTimes(more.explanation),
  };
}

/** Returns the parts of a request's mean time at the best; none where that is not known. */
function bestTimes(why: z.infer<typeof summary>['explanation']): readonly LevelTimes[] {
  const time = why?.after;
  if (!time) return [];
  const { totalMs, parts } = time;
  const split = parts && { queue: parts.queueMs, compute: parts.computeMs, 'network and client': parts.outsideMs };
  return [toTimes("the best's level", { 'mean latency': totalMs, ...split })];
}

/** `partsMs`: the mean latency and its parts by name, in milliseconds. */
const toTimes = (subject: string, partsMs: Readonly<Record<string, number>>): LevelTimes => ({
  subject,
  figures: [],
  parts: Object.entries(partsMs).map(([name, value]) => ({ name, unit: 'ms', value })),
});

/**
 * Returns the costs in the study's goal. A cost without an interval, such as a price per hour, is
 * exact.
 */
function costReadings(
  point: CostPoint | undefined,
  objectives: readonly { readonly metric: string }[] = [],
): readonly MetricReading[] {
  if (!point) return [];
  const figures = {
    'cost-per-hour': point.perHour,
    'cost-per-million': point.perMillion,
    'cost-per-million-tokens': point.perMillionTokens,
  };
  return Object.entries(figures).flatMap(([metric, figure]): MetricReading[] => {
    if (!objectives.some((each) => each.metric === metric) || !figure) return [];
    const { value, low, high } = figure;
    if (value === null || !(value > 0)) return [];
    return [
      {
        subject: 'best',
        unit: point.currency,
        better: 'lower',
        metric: metric === 'cost-per-hour' && point.forRate ? `${metric} for ${describeRate(point.forRate)}` : metric,
        interval: { value, low: low ?? value, high: high ?? value },
      },
    ];
  });
}

function profileDocument({ model, server, levels, assumptions = [] }: z.infer<typeof profile>): GateDocument {
  const bound = levels.find(({ client }) => client.bound);
  const failing = levels.flatMap((each) => {
    const why = describeTooManyFailed(findFailed(each), allowedErrorRate([]));
    return why === null ? [] : [`${formatName(each.level)}: ${why}`];
  });
  return {
    kind: 'profile',
    model,
    isEmulated: server.emulated !== null,
    flaw: bound ? `the client was the limit at ${formatName(bound.level)}` : (failing[0] ?? null),
    readings: levels.flatMap((each) => (each.throughput.value > 0 ? levelReadings(each) : [])),
    assumptions,
    certificate: null,
    machine: findMachine(server.machine),
    times: levels.flatMap(findTimes),
  };
}

const US_PER_MS = 1e3;

/** Returns the mean latency of a level and its parts; none without the server's statistics. */
function findTimes({ level: of, latencyMs, server, clientTimes }: z.infer<typeof level>): readonly LevelTimes[] {
  if (!latencyMs || !server) return [];
  const { sendUs = 0, receiveUs = 0 } = computeClientParts({ clientTimes }) ?? {};
  const parts = {
    queue: server.queueUs / US_PER_MS,
    'compute input': server.computeInputUs / US_PER_MS,
    'compute infer': server.computeInferUs / US_PER_MS,
    'compute output': server.computeOutputUs / US_PER_MS,
    client: (sendUs + receiveUs) / US_PER_MS,
  };
  const rest = Math.max(0, latencyMs.avg - Object.values(parts).reduce((sum, ms) => sum + ms, 0));
  return [toTimes(formatName(of), { 'mean latency': latencyMs.avg, ...parts, 'network and front end': rest })];
}

const findFailed = ({
  errorRate = null,
  failure,
  failures = [],
}: {
  readonly errorRate?: number | null | undefined;
  readonly failure?: string | undefined;
  readonly failures?: readonly { readonly firstMessage: string }[] | undefined;
}): FailedRequests => ({ errorRate, failure: failure ?? failures[0]?.firstMessage });

const SENT_RATES: readonly string[] = ['throughput', 'output-token-throughput'];

function levelReadings(each: z.infer<typeof level>): readonly MetricReading[] {
  const subject = formatName(each.level);
  const readings = [
    toThroughput(subject, each.throughput),
    toLatency(subject, each.budgetLatencyMs),
    ...tokenReadings(subject, each.tokens, each.budgetLatencyMs.percentile, true),
    ...goodputReadings(subject, each),
  ];
  if (each.level.mode === 'concurrency') return readings;
  return readings.map((reading) => (SENT_RATES.includes(reading.metric) ? { ...reading, followsLoad: true } : reading));
}

/**
 * The subject contains the arrivals and the limit, so that only capacities with the same ones are
 * compared.
 */
function capacityReadings(document: z.infer<typeof capacity>): GateDocument {
  const { model, server, arrivals, limit, outcome, burst } = document;
  const { percentile, budgetMs, limits } = limit;
  const subject = `${arrivals} arrivals, p${percentile} within ${budgetMs === null ? limits : `${budgetMs} ms`}`;
  const rate = (metric: string, of: Interval): MetricReading => ({
    subject,
    metric,
    unit: 'requests/s',
    better: 'higher',
    interval: of,
  });
  const why = failedText({ limit, probes: document.probes ?? [] });
  const recovering = burst?.recoverSeconds == null ? '' : `, over within ${burst.recoverSeconds} s`;
  return {
    kind: 'capacity',
    model,
    isEmulated: server.emulated !== null,
    flaw: document.capacity === null ? `no capacity was found (${outcome})${why ? `: ${why}` : ''}` : null,
    readings: [
      ...(document.capacity ? [rate('capacity', document.capacity)] : []),
      ...(burst?.basePerSecond
        ? [rate(`base rate of a burst of ${burst.factor}x for ${burst.seconds} s${recovering}`, burst.basePerSecond)]
        : []),
    ],
    assumptions: document.assumptions ?? [],
    certificate: null,
    machine: null,
    times: [],
  };
}

const formatName = ({ mode, value }: LoadLevel): string => `${mode.replace('-', ' ')} ${value}`;

const findUnit = (metric: string): Pick<MetricReading, 'unit' | 'better'> => {
  const { unit, better } = builtInMetrics.named(metric);
  return { unit, better };
};

/** An interval of a document, in which null stands for what could not be computed. */
type Figures = { readonly [end in keyof Interval]: number | null };

const findInterval = ({ value, low, high }: Figures): Interval => ({
  value: value ?? Number.NaN,
  low: low ?? Number.NaN,
  high: high ?? Number.NaN,
});

const toThroughput = (subject: string, figures: Figures): MetricReading => ({
  subject,
  metric: 'throughput',
  ...findUnit('throughput'),
  interval: findInterval(figures),
});

const toLatency = (
  subject: string,
  { percentile, ...figures }: Figures & { readonly percentile: number },
): MetricReading => ({
  subject,
  metric: `p${percentile} latency`,
  ...findUnit('latency'),
  interval: findInterval(figures),
});

interface TokensRead {
  readonly budget: { readonly [time in 'ttftMs' | 'itlMs' | 'tpotMs']: Figures };
  readonly outputTokensPerSecond: Figures;
  readonly goodput?: Figures | undefined;
}

/**
 * Returns rates, and the times of tokens if those are compared. Leaves out a figure of 0, which has
 * no ratio.
 */
function tokenReadings(
  subject: string,
  read: TokensRead | undefined,
  percentile: number,
  withTimes: boolean,
): readonly MetricReading[] {
  if (!read) return [];
  const { budget, outputTokensPerSecond } = read;
  const reading = (metric: string, figures: Figures, name = metric): MetricReading => ({
    subject,
    metric: name,
    ...findUnit(metric),
    interval: findInterval(figures),
  });
  const toTime = (metric: 'ttft' | 'itl' | 'tpot'): MetricReading =>
    reading(metric, budget[`${metric}Ms`], `p${percentile} ${metric.toUpperCase()}`);
  return [
    reading('output-token-throughput', outputTokensPerSecond),
    ...(withTimes ? [toTime('ttft'), toTime('itl'), toTime('tpot')] : []),
  ].filter(isComparable);
}

/** A figure of 0 has no ratio; one that is not known is kept, to be refused. */
const isComparable = ({ interval: { low } }: MetricReading): boolean => Number.isNaN(low) || low > 0;

/** Documents of earlier versions list goodput among the tokens. */
function goodputReadings(
  subject: string,
  { goodput, tokens: read }: { readonly goodput?: Figures | undefined; readonly tokens?: TokensRead | undefined },
): readonly MetricReading[] {
  const figures = goodput ?? read?.goodput;
  if (!figures) return [];
  const reading: MetricReading = {
    subject,
    metric: 'goodput',
    ...findUnit('goodput'),
    interval: findInterval(figures),
  };
  return isComparable(reading) ? [reading] : [];
}

const findMachine = (machine: Machine | undefined): string | null => (machine ? describeMachine(machine) : null);

const invalid = (path: string, what: string): TrituneError =>
  new TrituneError(
    'INPUT_INVALID',
    `${path}: ${what}`,
    'give a summary.json, a capacity.json, the directory of either, or a file of profile --json',
  );
