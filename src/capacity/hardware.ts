import type { Measurement } from '#profiler/measurement.ts';
import { type Interval, timesInterval } from '#stats/interval.ts';
import { costPerMillion, costsPerMillion } from '#study/goal/cost-per-million.ts';
import { instanceTypeCosts } from '#study/goal/instance-types.ts';
import type { CostTerms } from '#study/records/goal-schema.ts';
import type { CapacityDocument } from './document-schema.ts';
import type { CapacityState } from './state.ts';

/** The hardware that the measured server uses, and its price. */
export interface Hardware {
  /** The GPUs, or MIG slices, that the model uses; 0 if none, null if unknown. */
  readonly gpus: number | null;
  /**
   * The prices; null without any. The rate, headroom and chance of a run are those of its question.
   */
  readonly terms: CostTerms | null;
}

/** What a capacity means for the hardware. */
type HardwareFigures = Required<Pick<CapacityDocument, 'tokens' | 'gpus' | 'cost'>>;

interface Capacity {
  /** Requests per second. */
  readonly perSecond: Interval;
  /** Samples in one request. */
  readonly batch: number;
  readonly replicas: CapacityDocument['replicas'];
}

/**
 * Returns the tokens, the figures of each GPU and the costs of a capacity; null where something is
 * unknown.
 */
export function hardwareFigures(
  { perSecond, batch, replicas }: Capacity,
  state: CapacityState,
  { gpus, terms }: Hardware,
): HardwareFigures {
  const tokens = findTokens(perSecond, state, batch);
  const isOnGpus = gpus !== null && gpus > 0;
  const perGpu = isOnGpus
    ? {
        count: gpus,
        requestsPerSecond: timesInterval(perSecond, 1 / gpus),
        ...(tokens && { outputTokensPerSecond: timesInterval(tokens.outputPerSecond, 1 / gpus) }),
      }
    : null;
  return { tokens, gpus: perGpu, cost: findCost(timesInterval(perSecond, batch), tokens, replicas, { gpus, terms }) };
}

/**
 * Counts the tokens of a reply where the server was measured at the capacity, or else at the last
 * rate.
 */
function findTokens(perSecond: Interval, { answer, probes }: CapacityState, batch: number): HardwareFigures['tokens'] {
  const { tokens, throughput }: Partial<Measurement> = answer ?? probes.at(-1) ?? {};
  if (!tokens || !throughput || !(throughput.value > 0)) return null;
  const outputPerRequest = (tokens.outputTokensPerSecond.value * batch) / throughput.value;
  return { outputPerRequest, outputPerSecond: timesInterval(perSecond, outputPerRequest) };
}

function findCost(
  inferences: Interval,
  tokens: HardwareFigures['tokens'],
  requestedReplicas: CapacityDocument['replicas'],
  { gpus, terms }: Hardware,
): HardwareFigures['cost'] {
  const perHour = terms && hourlyPrice(terms, gpus);
  if (terms === null || perHour === null) return null;
  const { currency, name, per, instanceTypes = [] } = terms;
  const replicas = requestedReplicas?.replicas ?? null;
  const ofAll = replicas === null ? null : replicas * perHour;
  const one = { gpus: gpus ?? 0, perSecond: inferences, tokensPerSecond: tokens?.outputPerSecond ?? null, replicas };
  return {
    currency,
    name,
    per,
    perHour,
    perMillion: costsPerMillion(perHour, inferences),
    ...(tokens && { perMillionTokens: costsPerMillion(perHour, tokens.outputPerSecond) }),
    forRate:
      requestedReplicas && ofAll !== null
        ? { perHour: ofAll, perMillion: costPerMillion(ofAll, requestedReplicas.perSecond) }
        : null,
    instanceTypes: one.gpus > 0 ? [...instanceTypeCosts(instanceTypes, one)] : [],
  };
}

/**
 * Returns the price of an hour of one server; null if its GPUs are unknown, or if it has none to
 * pay for.
 */
function hourlyPrice({ per, perHour }: CostTerms, gpus: number | null): number | null {
  if (per === 'server') return perHour;
  return gpus === null || gpus === 0 ? null : gpus * perHour;
}

/** Returns why a run with prices has no cost, and what to do; null if it has one. */
export function whyNoCost({ gpus, terms }: Hardware): string | null {
  if (!terms || hourlyPrice(terms, gpus) !== null) return null;
  return gpus === 0
    ? 'there is no cost, because the model uses no GPU: give --instance-type'
    : 'there is no cost, because the number of GPUs is unknown: add --server-gpus';
}
