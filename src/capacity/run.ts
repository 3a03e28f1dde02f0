import { MS_PER_S, NS_PER_S } from '#base/units.ts';
import type { Measurement } from '#profiler/measurement.ts';
import { relativeHalfWidth } from '#stats/precision.ts';
import { bisectRate, isFound, type KnownRates, knownFrom } from './bisect.ts';
import { findBurstRate } from './burst.ts';
import type { RateMeasurement } from './loads.ts';
import type { CapacityMeans } from './means.ts';
import type { CapacityPrior } from './posterior/prior.ts';
import { type CapacityQuestion, CLIFF_FACTORS } from './question.ts';
import { isEstimate, isKept, toReading } from './reading.ts';
import { priorAround, type Scouting, scout, toPrior } from './scout.ts';
import { type CapacityState, listReadings } from './state.ts';
import { FIRST_PACE, type LoadPace, type TimePlan, timePlan } from './time-plan.ts';

/**
 * The maximum number of attempts at a measurement that the load generator distorted because other
 * programs had its CPU.
 */
const TRIES = 10;
const MAX_READINGS = 30;
/**
 * The search ends at this multiple of the precision, because measuring the answer will narrow the
 * interval further.
 */
const WITH_THE_ANSWER = 1.1;
/**
 * The answer is not measured again if the lower end of the interval moved by less than this share.
 */
const SAME_END = 0.02;

class ClientLimited extends Error {}

/**
 * Finds the highest request rate within the limit, measures there and beyond it, and plays the
 * requested burst. Each part ends in time for those after it; what was cut short is in
 * `state.cutShort`. Puts results into `state` at once, so that they survive an error. Errors: those
 * of the loads; SERVER_FAILED or SERVER_TIMEOUT if not one request got a reply.
 */
export async function runCapacity(
  question: CapacityQuestion,
  state: CapacityState,
  means: CapacityMeans,
): Promise<void> {
  const { scouting } = means.loads;
  const passSeconds = scouting.kind === 'rate' ? scouting.passSeconds : null;
  const { mostSeconds, limit } = question;
  const plan = timePlan(means.clock, { mostSeconds, limit, loadsBeyond: CLIFF_FACTORS.length, passSeconds });
  const run: Run = { ...means, question, state, plan, passSeconds, pace: FIRST_PACE };
  await findPrior(run);
  try {
    // The reading at the answer counts too: it may narrow the interval enough, or contradict
    // earlier readings.
    let precision = question.precision * WITH_THE_ANSWER;
    do {
      await findCapacity(run, precision);
      if (state.ending === 'infeasible') return;
      if (!isAnswerAtEnd(state)) await measureAnswer(run);
      precision = question.precision;
    } while (isUnfinished(run) && hasTimeForAnswer(run));
    await measureCliff(run);
    if (question.burst && isKnown(run)) await findBurstRate(question, question.burst, state, means);
  } catch (error) {
    if (!(error instanceof ClientLimited)) throw error;
    state.ending ??= 'client';
  }
}

/** What the parts of a run share. */
interface Run extends CapacityMeans {
  readonly question: CapacityQuestion;
  readonly state: CapacityState;
  readonly plan: TimePlan;
  /** Seconds of a measurement of a workload; null for rates. */
  readonly passSeconds: number | null;
  /** The pace of the last load. */
  pace: LoadPace;
}

/**
 * True if there is an estimate that says more than the first guess: of several readings, some of
 * which kept the limit.
 */
const isKnown = ({ question, state }: Run): boolean => isEstimate(listReadings(state, question), question.limit);

const hasTimeForAnswer = ({ plan, pace }: Run): boolean => plan.hasTimeUntil(plan.answerEndNs(pace), pace);

async function findPrior({ question, state, plan, loads, onEvent }: Run): Promise<void> {
  const { limit, batch, followsHost } = question;
  const { scouting } = loads;
  if (scouting.kind === 'rate') {
    state.prior = priorAround(scouting.perSecond, limit, followsHost);
    return;
  }
  const measure: Scouting['measure'] = async (concurrency, attempt) => {
    const measurement = await scouting.measure(concurrency, plan.closedLoopEndNs(attempt));
    if (measurement.requests === 0) return measurement;
    state.closed.push(measurement);
    onEvent({ type: 'closed-loop', measurement, perSecond: measurement.throughput.value / batch });
    return measurement;
  };
  state.scouted = await scout({ measure, isOver: plan.isScoutingOver }, limit, batch);
  state.prior = toPrior(state.scouted, limit, followsHost);
}

const isPreciseNow = ({ question, state: { posterior } }: Run): boolean =>
  posterior !== null && relativeHalfWidth(posterior.interval) <= question.precision;

async function findCapacity(run: Run, precision: number): Promise<void> {
  const { question, state, plan, loads, onEvent } = run;
  const { prior } = state;
  if (!prior) return;
  // While nothing is known, there is nothing to keep time for.
  const endNs = (): number => (isKnown(run) ? plan.searchEndNs(run.pace) : plan.endNs);
  const isOver = (): boolean => !plan.hasTimeUntil(endNs(), isKnown(run) ? run.pace : FIRST_PACE);
  const rule = { precision, mostReadings: MAX_READINGS, isOver };
  const measure: Parameters<typeof bisectRate>[2] = async (perSecond, length, posterior) => {
    onEvent({ type: 'trying', perSecond, interval: posterior.interval });
    const untilNs = endNs();
    const measurement = await unbent(run, perSecond, untilNs, () => loads.atRate(perSecond, length, untilNs));
    return measurement ? addProbe(run, prior, measurement) : { readings: listReadings(state, question), posterior };
  };
  const outcome = await bisectRate(prior, rule, measure, knownFrom(listReadings(state, question), prior));
  state.posterior = outcome.posterior;
  state.ending = outcome.ending;
  if (outcome.ending === 'limit' && rule.isOver()) state.cutShort.add('search');
}

function addProbe({ question, state, onEvent }: Run, prior: CapacityPrior, measurement: RateMeasurement): KnownRates {
  state.probes.push(measurement);
  const known = knownFrom(listReadings(state, question), prior);
  state.posterior = known.posterior;
  const last = known.readings.at(-1);
  const interval = known.readings.length > 1 ? known.posterior.interval : null;
  onEvent({ type: 'tried', measurement, isKept: last !== undefined && isKept(last, question.limit), interval });
  return known;
}

/**
 * Returns a measurement that is valid for the server; null if the time was up before it counted
 * anything, or a whole pass of a workload. Errors: ClientLimited after several that are not valid.
 */
async function unbent(
  run: Run,
  perSecond: number,
  untilNs: number,
  measure: () => Promise<RateMeasurement>,
): Promise<RateMeasurement | null> {
  const { question, state, onEvent, clock, passSeconds } = run;
  for (let tries = 1; ; tries++) {
    const startNs = clock.nowNs();
    const measurement = await measure();
    run.pace = computePace(measurement, clock.nowNs() - startNs);
    const isLate = clock.nowNs() >= untilNs;
    if (isLate && (measurement.requests === 0 || (passSeconds !== null && !measurement.stable))) return null;
    const { bound, starved, reason = '' } = measurement.client;
    if (!bound) return measurement;
    // The load generator's own delay only adds latency, so a limit that was met despite it is met.
    // The share of late requests says no more than that.
    const isMet = isKept(toReading(measurement, { ...question, usualHostWorkUs: null }), question.limit);
    if (isMet) state.metDespiteClient = Math.max(perSecond, state.metDespiteClient ?? 0);
    const again = starved === true && tries < TRIES && !isLate;
    onEvent({ type: 'client-limit', perSecond, reason, again });
    if (again) continue;
    state.clientLimit = { perSecond, reason };
    throw new ClientLimited(reason);
  }
}

function computePace({ durationMs, windows, voidWindows = 0 }: Measurement, tookNs: number): LoadPace {
  const windowsSeconds = (durationMs / MS_PER_S) * (1 + voidWindows / Math.max(windows, 1));
  return { windowsSeconds, besideSeconds: Math.max(FIRST_PACE.besideSeconds, tookNs / NS_PER_S - windowsSeconds) };
}

/**
 * True if the answer's reading contradicts earlier ones, or if no rate was kept yet and a lower one
 * is left to try.
 */
const isUnfinished = (run: Run): boolean =>
  run.state.ending === 'precise' ? !isPreciseNow(run) : !isKnown(run) && !isAnswerAtEnd(run.state);

const isAnswerAtEnd = ({ answer, posterior }: CapacityState): boolean =>
  answer !== null && posterior !== null && Math.abs(answer.level.value / posterior.interval.low - 1) < SAME_END;

/**
 * Measures the rate that the server holds with a chance of 97.5 % to the end. The measurement
 * counts for the capacity too.
 */
async function measureAnswer(run: Run): Promise<void> {
  const { question, state, plan, loads, clock, onEvent } = run;
  const { prior, posterior } = state;
  const untilNs = plan.answerEndNs(run.pace);
  if (!prior || !posterior || state.probes.length < 2 || !hasTimeForAnswer(run)) {
    state.cutShort.add('answer');
    return;
  }
  const perSecond = rounded(posterior.interval.low);
  onEvent({ type: 'at-capacity', perSecond });
  const answer = await unbent(run, perSecond, untilNs, () => loads.atLength(perSecond, untilNs));
  if (clock.nowNs() >= untilNs) state.cutShort.add('answer');
  if (!answer) return;
  state.answer = answer;
  const known = addProbe(run, prior, answer);
  // A search that ran out of time may have lacked this reading only.
  if (state.ending !== 'limit' || !isFound(known, prior, question.precision)) return;
  state.ending = 'precise';
  state.cutShort.delete('search');
}

async function measureCliff(run: Run): Promise<void> {
  const { state, plan, loads, onEvent, pace } = run;
  const capacity = state.posterior?.interval.value;
  for (const [index, factor] of CLIFF_FACTORS.entries()) {
    const seconds = plan.beyondSeconds(CLIFF_FACTORS.length - index, pace);
    const isLeftOut = seconds === null || capacity === undefined || !isKnown(run);
    if (isLeftOut || seconds < plan.targetBeyond) state.cutShort.add('beyond');
    if (isLeftOut) return;
    const perSecond = rounded(factor * capacity);
    onEvent({ type: 'beyond', factor, perSecond, seconds });
    const load = await loads.forSeconds(perSecond, seconds, plan.endNs);
    state.cliff.push({ ...load, factor, perSecond, seconds });
  }
}

const rounded = (perSecond: number): number => Number(perSecond.toPrecision(4));
