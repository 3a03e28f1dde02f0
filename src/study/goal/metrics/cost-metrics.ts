import type { Measurement } from '#profiler/measurement.ts';
import type { DeviceMetrics } from '#profiler/server-figures.ts';
import { countGpus } from '#space/gpus.ts';
import type { Candidate } from '#space/types.ts';
import type { Interval } from '#stats/interval.ts';
import { replicasFor, usableRate } from '#stats/replicas.ts';
import type { CostTerms } from '../../records/goal-schema.ts';
import { costPerMillion } from '../cost-per-million.ts';
import type { Derivation, Metric, MetricColumn, MetricNeed } from './metric.ts';
import { findPart, nameOfModel } from './of-model.ts';

/** Returns the server's number of GPUs, if its metrics or the terms give it. */
const findServerGpus = (terms: CostTerms | null, device: DeviceMetrics): number | undefined =>
  terms?.serverGpus ?? device.gpus?.length;

function gpusMetric(terms: CostTerms | null): Metric {
  const follows: Derivation = {
    from: [],
    counted: () => [],
    of: (_, { shape }, device) => countGpus(shape, findServerGpus(terms, device)),
  };
  return {
    label: 'GPUs',
    description: "different GPUs that the model's instances, or its engine, use",
    unit: '',
    units: {},
    better: 'lower',
    needs: ['gpu-count', 'candidate'],
    ...derived('gpus', follows),
  };
}

/** Returns the metrics that replace those of the same names if a study has prices. */
export const metricsByPrices = (terms: CostTerms): readonly Metric[] => [gpusMetric(terms), ...pricedMetrics(terms)];

function pricedMetrics(terms: CostTerms | null): readonly Metric[] {
  const money = { unit: terms?.currency ?? 'USD', units: {}, better: 'lower', ofServer: true } as const;
  const prices: readonly MetricNeed[] = terms === null ? ['prices'] : terms.per === 'gpu' ? ['gpu-count'] : [];
  const rate: readonly MetricNeed[] = terms?.forRate === undefined ? ['rate'] : [];
  const hourly = (candidate: Candidate, device: DeviceMetrics): number | undefined =>
    terms === null ? undefined : hourlyPrice(terms, candidate, device);
  const forRate = terms === null ? null : servedBy(terms);
  return [
    {
      label: 'cost per hour',
      description: 'what the candidate occupies, its replicas for `--for-rate` included, for an hour',
      ...money,
      needs: prices,
      ...derived('cost-per-hour', forRate ? times(forRate, hourly) : ofCandidate(hourly)),
    },
    {
      label: 'cost per million',
      description: 'of a million inferences, at the throughput that was measured, of one server',
      ...money,
      needs: prices,
      ...derived(
        'cost-per-million',
        perMillion('throughput', ({ throughput }) => throughput, hourly),
      ),
    },
    {
      label: 'cost per million tokens',
      description: 'of a million output tokens, at the rate that was measured, of one server',
      ...money,
      needs: ['tokens', ...prices],
      ...derived(
        'cost-per-million-tokens',
        perMillion('output-token-throughput', ({ tokens }) => tokens?.outputTokensPerSecond, hourly),
      ),
    },
    {
      label: 'replicas',
      description: 'servers like this one that `--for-rate` needs, with the headroom and the chance to hold it',
      unit: '',
      units: {},
      better: 'lower',
      ofServer: true,
      needs: [...(terms === null ? prices : []), ...rate],
      ...derived('replicas', forRate ?? { ...ofCandidate(() => undefined), from: ['throughput'] }),
    },
  ];
}

/**
 * Returns the price of an hour of one server with the candidate; undefined if its GPUs are unknown,
 * and if it has none to pay for.
 */
function hourlyPrice(terms: CostTerms, { shape }: Candidate, device: DeviceMetrics): number | undefined {
  if (terms.per === 'server') return terms.perHour;
  const gpus = countGpus(shape, findServerGpus(terms, device));
  return gpus === undefined || gpus === 0 ? undefined : gpus * terms.perHour;
}

type Hourly = (candidate: Candidate, device: DeviceMetrics) => number | undefined;

const ofCandidate = (of: Hourly): Derivation => ({
  from: [],
  counted: () => [],
  of: (_, candidate, device) => of(candidate, device),
});

const perMillion = (
  from: string,
  rateIn: (measurement: Measurement) => Interval | undefined,
  hourly: Hourly,
): Derivation => ({
  from: [from],
  counted: (measurement) => numbers([rateIn(measurement)?.value]),
  of: ([perSecond = 0], candidate, device) => {
    const price = hourly(candidate, device);
    return price === undefined ? undefined : costPerMillion(price, perSecond);
  },
  ends: (measurement) => {
    const rate = rateIn(measurement);
    return rate && { least: [rate.low], most: [rate.high] };
  },
});

/**
 * Returns the replicas for the rate of the terms; null if they ask for none. For rates by model the
 * scarcest model decides.
 */
function servedBy(terms: CostTerms): Derivation | null {
  const { forRate } = terms;
  if (forRate === undefined) return null;
  const parts =
    typeof forRate === 'number'
      ? [{ rate: forRate, name: 'throughput', capacityIn: ({ throughput }: Measurement) => throughput }]
      : Object.entries(forRate).map(([model, rate]) => ({
          rate,
          name: nameOfModel('throughput', model),
          capacityIn: (measurement: Measurement) => findPart(measurement, model)?.throughput,
        }));
  const counts = (measurement: Measurement, of: (capacity: Interval) => number): readonly number[] | undefined =>
    numbers(parts.map(({ capacityIn }) => capacityIn(measurement)).map((capacity) => capacity && of(capacity)));
  const computeLoad = (usable: readonly number[]): number =>
    Math.max(...parts.map(({ rate }, index) => rate / (usable[index] ?? 0)));
  return {
    from: parts.map(({ name }) => name),
    counted: (measurement) => counts(measurement, (capacity) => usableRate(capacity, terms)),
    of: (usable) => finite(replicasFor(computeLoad(usable), 1)),
    smooth: (usable) => finite(computeLoad(usable)),
    ends: (measurement) => {
      const of = (end: 'low' | 'high'): readonly number[] =>
        counts(measurement, (capacity) => capacity[end] * (1 - terms.headroom)) ?? [];
      return { least: of('low'), most: of('high') };
    },
  };
}

const times = (replicas: Derivation, hourly: Hourly): Derivation => {
  const product =
    (count: Derivation['of']): Derivation['of'] =>
    (counted, candidate, device) => {
      const [many, price] = [count(counted, candidate, device), hourly(candidate, device)];
      return many === undefined || price === undefined ? undefined : many * price;
    };
  return { ...replicas, of: product(replicas.of), ...(replicas.smooth && { smooth: product(replicas.smooth) }) };
};

/**
 * Returns the parts of an entry that its derivation gives. Serving less costs more, so the ends of
 * the interval swap.
 */
function derived(
  name: string,
  follows: Derivation,
): Pick<Metric, 'name' | 'follows' | 'read' | 'interval' | 'columns'> {
  const read: Metric['read'] = (measurement, candidate) => {
    const counted = follows.counted(measurement);
    return counted && follows.of(counted, candidate, measurement.device);
  };
  const { ends } = follows;
  const findInterval = (measurement: Measurement, candidate: Candidate): Interval => {
    const at = ends?.(measurement);
    const valueAt = (counted: readonly number[] | undefined): number =>
      (counted && follows.of(counted, candidate, measurement.device)) ?? Number.NaN;
    const value = read(measurement, candidate) ?? Number.NaN;
    const [low, high] = [valueAt(at?.most), valueAt(at?.least)];
    return { value, low: Math.min(value, low), high: Math.max(value, high) };
  };
  const column = name.replaceAll('-', '_');
  return {
    name,
    follows,
    read,
    interval: ends ? { from: 'windows', of: findInterval } : null,
    columns: [
      { name: column, read },
      ...(ends
        ? [
            { name: `${column}_low`, read: (...of) => findInterval(...of).low } satisfies MetricColumn,
            { name: `${column}_high`, read: (...of) => findInterval(...of).high } satisfies MetricColumn,
          ]
        : []),
    ],
  };
}

const finite = (value: number): number | undefined => (Number.isFinite(value) ? value : undefined);

const numbers = (values: readonly (number | undefined)[]): readonly number[] | undefined =>
  values.every((value): value is number => value !== undefined) ? values : undefined;

/** The candidate's GPUs, and its cost metrics by name alone, which need prices for a value. */
export const gpuAndCostMetrics: readonly Metric[] = [gpusMetric(null), ...pricedMetrics(null)];
