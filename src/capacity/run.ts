import { NS_PER_S } from '../base/units.ts';
import type { Measurement } from '../profiler/measurement.ts';
import { relativeHalfWidth } from '../stats/precision.ts';
import { bisectRate } from './bisect.ts';
import { findBurstRate } from './burst.ts';
import type { CapacityMeans } from './means.ts';
import { type CapacityPosterior, capacityPosterior } from './posterior.ts';
import { type CapacityQuestion, CLIFF_FACTORS } from './question.ts';
import { isKept } from './reading.ts';
import { priorAround, priorOf, scout } from './scout.ts';
import { type CapacityState, readingsOf } from './state.ts';

/** The maximum number of attempts at a measurement that the load generator distorted because other programs had its CPU. */
const TRIES = 10;
const MOST_READINGS = 30;
/** The search ends at this multiple of the precision, because measuring the answer will narrow the interval further. */
const WITH_THE_ANSWER = 1.1;
/** The answer is not measured again if the lower end of the interval moved by less than this share. */
const SAME_END = 0.02;
/** Seconds of a load beyond the capacity: this many budgets, within bounds. */
const CLIFF_BUDGETS = 20;
const CLIFF_SECONDS = { least: 5, most: 30 } as const;

class ClientLimited extends Error {}

/**
 * Finds the highest request rate within the limit, measures there and beyond it, and plays the requested burst. Puts results into `state` at once,
 * so that they survive an error. Errors: those of the loads.
 */
export async function runCapacity(
  question: CapacityQuestion,
  state: CapacityState,
  means: CapacityMeans,
): Promise<void> {
  const { clock } = means;
  await findPrior(question, state, means);
  try {
    const endNs = clock.nowNs() + question.mostSeconds * NS_PER_S;
    // The reading at the answer counts too: it may narrow the interval enough, or contradict earlier readings.
    let precision = question.precision * WITH_THE_ANSWER;
    do {
      await findCapacity({ ...question, precision }, state, means, endNs);
      if (state.ending === 'infeasible') return;
      if (!isAnswerAtEnd(state)) await measureAnswer(question, state, means, endNs);
      precision = question.precision;
    } while (state.ending === 'precise' && !isPreciseNow(question, state) && clock.nowNs() < endNs);
    await measureCliff(question, state, means);
    if (question.burst) await findBurstRate(question, question.burst, state, means);
  } catch (error) {
    if (!(error instanceof ClientLimited)) throw error;
    state.ending ??= 'client';
  }
}

async function findPrior(question: CapacityQuestion, state: CapacityState, means: CapacityMeans): Promise<void> {
  const { limit, batch, followsHost } = question;
  const { scouting } = means.loads;
  if (scouting.kind === 'rate') {
    state.prior = priorAround(scouting.perSecond, limit, followsHost);
    return;
  }
  const closedLoop = async (concurrency: number): Promise<Measurement> => {
    const measurement = await scouting.measure(concurrency);
    state.closed.push(measurement);
    means.onEvent({ type: 'closed-loop', measurement });
    return measurement;
  };
  state.scouted = await scout(closedLoop, limit, batch);
  state.prior = priorOf(state.scouted, limit, followsHost);
}

const isPreciseNow = ({ precision }: CapacityQuestion, { posterior }: CapacityState): boolean =>
  posterior !== null && relativeHalfWidth(posterior.interval) <= precision;

async function findCapacity(
  question: CapacityQuestion,
  state: CapacityState,
  means: CapacityMeans,
  endNs: number,
): Promise<void> {
  const { onEvent, clock } = means;
  if (!state.prior) return;
  const rule = {
    precision: question.precision,
    mostReadings: MOST_READINGS,
    isOver: () => clock.nowNs() >= endNs,
  };
  const measure: Parameters<typeof bisectRate>[2] = async (perSecond, length, { interval }) => {
    onEvent({ type: 'trying', perSecond, interval });
    const measurement = await unbent(perSecond, state, means, endNs, () => means.loads.atRate(perSecond, length));
    return addProbe(measurement, question, state, means);
  };
  const outcome = await bisectRate(state.prior, rule, measure, readingsOf(state, question));
  state.posterior = outcome.posterior;
  state.ending = outcome.ending;
}

function addProbe(
  measurement: Measurement,
  question: CapacityQuestion,
  state: CapacityState,
  { onEvent }: CapacityMeans,
): ReturnType<typeof readingsOf> {
  state.probes.push(measurement);
  const readings = readingsOf(state, question);
  state.posterior = posteriorOf(question, state);
  const last = readings.at(-1);
  const interval = readings.length > 1 ? (state.posterior?.interval ?? null) : null;
  onEvent({ type: 'tried', measurement, isKept: last !== undefined && isKept(last, question.limit), interval });
  return readings;
}

/** Returns the posterior from all probes so far; null before anything is known. */
function posteriorOf(question: CapacityQuestion, state: CapacityState): CapacityPosterior | null {
  return state.prior && capacityPosterior(readingsOf(state, question), state.prior);
}

/** Returns a measurement that is valid for the server. Errors: ClientLimited after several that are not. */
async function unbent(
  perSecond: number,
  state: CapacityState,
  { onEvent, clock }: CapacityMeans,
  endNs: number,
  measure: () => Promise<Measurement>,
): Promise<Measurement> {
  for (let tries = 1; ; tries++) {
    const measurement = await measure();
    const { bound, starved, reason = '' } = measurement.client;
    if (!bound) return measurement;
    const again = starved === true && tries < TRIES && clock.nowNs() < endNs;
    onEvent({ type: 'client-limit', perSecond, reason, again });
    if (again) continue;
    state.clientLimit = { perSecond, reason };
    throw new ClientLimited(reason);
  }
}

const isAnswerAtEnd = ({ answer, posterior }: CapacityState): boolean =>
  answer !== null && posterior !== null && Math.abs(answer.level.value / posterior.interval.low - 1) < SAME_END;

/** Measures the rate that the server holds with a chance of 97.5 % to the end. The measurement counts for the capacity too. */
async function measureAnswer(
  question: CapacityQuestion,
  state: CapacityState,
  means: CapacityMeans,
  endNs: number,
): Promise<void> {
  if (!state.posterior) return;
  const perSecond = rounded(state.posterior.interval.low);
  means.onEvent({ type: 'at-capacity', perSecond });
  state.answer = await unbent(perSecond, state, means, endNs, () => means.loads.atLength(perSecond));
  addProbe(state.answer, question, state, means);
}

async function measureCliff(
  { limit }: CapacityQuestion,
  state: CapacityState,
  { loads, onEvent }: CapacityMeans,
): Promise<void> {
  if (!state.posterior) return;
  const capacity = state.posterior.interval.value;
  const wanted = limit.kind === 'latency' ? (CLIFF_BUDGETS * limit.budgetMs) / 1e3 : CLIFF_SECONDS.least;
  const seconds = Math.min(Math.max(wanted, CLIFF_SECONDS.least), CLIFF_SECONDS.most);
  for (const factor of CLIFF_FACTORS) {
    const perSecond = rounded(factor * capacity);
    onEvent({ type: 'beyond', factor, perSecond, seconds });
    const load = await loads.forSeconds(perSecond, seconds);
    state.cliff.push({ ...load, factor, perSecond, seconds });
  }
}

const rounded = (perSecond: number): number => Number(perSecond.toPrecision(4));
