import { type Hypothesis, matern52 } from '#stats/gaussian-process.ts';
import type { Source, SpeedPlace, SpeedTerm } from './evidence.ts';

/** An Ornstein-Uhlenbeck process of the log speed: its standard deviation and its time constant. */
interface Wander {
  readonly sd: number;
  readonly seconds: number;
  readonly logPrior: number;
}

/**
 * The deviation of figures from linear dependence on batch, busy instances and level, as standard
 * deviations of logarithms.
 */
interface Roughness {
  /** Execution times; each config has as much again of its own. */
  readonly sd: number;
  /**
   * Throughput of one config at one level between visits: its threads may run on other cores, or it
   * fails.
   */
  readonly visitSd: number;
  readonly logPrior: number;
}

/**
 * Hypotheses of the process. Most machines hold their speed; the wider ones cover what was seen:
 * GPUs that lose a tenth to heat within a minute, hosts that share their cores. Phases of a few
 * seconds cannot be told from the noise of a measurement.
 */
const WANDERS: readonly [Wander, ...Wander[]] = [
  { sd: 0.01, seconds: 60, logPrior: 0 },
  ...[0.06, 0.2].flatMap((sd) => [60, 240].map((seconds) => ({ sd, seconds, logPrior: -2 }))),
];
/**
 * The standard deviation and the log prior of a step of the speed: cores at 0.6 of their speed for
 * minutes were seen. With a prior of -3, steps explained configs that were slow for other reasons.
 */
const STEP_SD = 0.4;
const STEP_LOG_PRIOR = -6;
/**
 * Hypotheses of the roughness. Padding and interference change the times of some models by a third,
 * and cliffs by a factor of four, which must not be attributed to the speed.
 */
const ROUGHNESSES: readonly Roughness[] = [
  { sd: 0.08, visitSd: 0.02, logPrior: 0 },
  { sd: 0.25, visitSd: 0.1, logPrior: -0.5 },
  { sd: 0.7, visitSd: 1, logPrior: -1 },
];

/** Standard deviations of the logarithm of execution times for other reasons than speed. */
const EXECUTION = {
  /** The level, unknown a priori. */
  level: 3,
  /** Other settings (precision, backend settings): half or twice the time. */
  settings: 0.6,
  /** Per doubling of the batch, of the busy instances, and of the requests in flight. */
  perBatch: 0.7,
  perBusy: 0.35,
  perInFlight: 0.1,
} as const;

/**
 * The prior standard deviation of throughput at a level. Other levels say little about it, because
 * it saturates.
 */
const RATE_LEVEL = 3;
/** The prior standard deviation of a witness's value at full speed. */
const WITNESS_LEVEL = 3;

/** A hypothesis of the witnesses. */
interface Hearing {
  /** Witnesses that do not share the server's speed. */
  readonly deaf: ReadonlySet<string>;
  /**
   * The scatter of the host's own work between readings beyond that of an idle core, as a standard
   * deviation of logarithms.
   */
  readonly hostSd: number;
  readonly logPrior: number;
}

/**
 * Other users of the cores make the host's own work take up to a third longer for moments. If only
 * an idle core's noise were considered, such readings would pass for the server's speed.
 */
const HOST_SCATTERS = [
  { hostSd: 0, logPrior: 0 },
  { hostSd: 0.12, logPrior: -1 },
] as const;

/** A hypothesis of the speed, with its roughness and its witnesses. */
export interface SpeedHypothesis extends Hypothesis<SpeedPlace> {
  readonly roughness: Roughness;
  readonly hearing: Hearing;
}

/**
 * A witness of a speed that may also be the server's: the host's own work, or the clock of a GPU.
 */
export type Witness = 'host' | 'clock';

/** Prior log odds that a witness shares the server's speed, for the witnesses that exist. */
export type WitnessOdds = ReadonlyMap<Witness, number>;

/**
 * Prior log odds: a server on this host's CPU shares the host's speed; one on a GPU shares that of
 * its clock.
 */
const WITNESS_LOG_ODDS = 3;

/** Returns the prior log odds of each existing witness. */
export function witnessOdds(kinds: ReadonlySet<string>, isOnCpu: boolean): WitnessOdds {
  const odds: readonly (readonly [Witness, number])[] = [
    ['host', isOnCpu ? WITNESS_LOG_ODDS : -WITNESS_LOG_ODDS],
    ['clock', isOnCpu ? -WITNESS_LOG_ODDS : WITNESS_LOG_ODDS],
  ];
  return new Map(odds.filter(([kind]) => kinds.has(kind)));
}

/**
 * Returns the hypotheses of the speed: the process, with steps at these moments, and the witnesses
 * that share it. A witness that does not share it has a process of its own and says nothing.
 * `like`: only hypotheses with the same roughness and witnesses.
 */
export function speedHypotheses(
  odds: WitnessOdds,
  stepsSeconds: readonly number[],
  like?: SpeedHypothesis,
): [SpeedHypothesis, ...SpeedHypothesis[]] {
  const roughnesses = like ? [like.roughness] : ROUGHNESSES;
  const choices = like ? [like.hearing] : listHearings(odds);
  const all = roughnesses.flatMap((roughness) =>
    WANDERS.flatMap((wander) =>
      choices.map((hearing): SpeedHypothesis => {
        const course = { wander, deaf: hearing.deaf, stepsSeconds };
        return {
          kernel: (a, b) => sourceCovariance(a, b, roughness, hearing) + speedCovariance(a, b, course),
          logPrior: wander.logPrior + roughness.logPrior + hearing.logPrior + STEP_LOG_PRIOR * stepsSeconds.length,
          roughness,
          hearing,
        };
      }),
    ),
  );
  return all as [SpeedHypothesis, ...SpeedHypothesis[]];
}

/**
 * Returns every combination of witnesses that share the speed or do not, and of the host's scatter
 * where it is one of them.
 */
function listHearings(odds: WitnessOdds): Hearing[] {
  const scatters = odds.has('host') ? HOST_SCATTERS : HOST_SCATTERS.slice(0, 1);
  return [...odds].reduce<Hearing[]>(
    (choices, [witness, log]) =>
      choices.flatMap(({ deaf, hostSd, logPrior }) => [
        { deaf, hostSd, logPrior: logPrior + log / 2 },
        { deaf: new Set([...deaf, witness]), hostSd, logPrior: logPrior - log / 2 },
      ]),
    scatters.map((scatter) => ({ deaf: new Set<string>(), ...scatter })),
  );
}

interface Course {
  readonly wander: Wander;
  /** The witnesses that do not share it. */
  readonly deaf: ReadonlySet<string>;
  readonly stepsSeconds: readonly number[];
}

function speedCovariance(a: SpeedPlace, b: SpeedPlace, { wander, deaf, stepsSeconds }: Course): number {
  const isDeaf = deaf.has(a.source.kind) || deaf.has(b.source.kind);
  if (isDeaf && a.source.kind !== b.source.kind) return 0;
  const steps = stepsSeconds.reduce((sum, at) => sum + timesAfter(a.terms, at) * timesAfter(b.terms, at), 0);
  return wandering(a.terms, b.terms, wander) + STEP_SD ** 2 * steps;
}

const timesAfter = (terms: readonly SpeedTerm[], seconds: number): number =>
  terms.reduce((sum, { atSeconds, times }) => (atSeconds > seconds ? sum + times : sum), 0);

function wandering(a: readonly SpeedTerm[], b: readonly SpeedTerm[], { sd, seconds }: Wander): number {
  let sum = 0;
  for (const one of a) {
    for (const other of b)
      sum += one.times * other.times * Math.exp(-Math.abs(one.atSeconds - other.atSeconds) / seconds);
  }
  return sd * sd * sum;
}

function sourceCovariance(
  { source: a, terms }: SpeedPlace,
  { source: b, terms: others }: SpeedPlace,
  { sd, visitSd }: Roughness,
  { hostSd }: Hearing,
): number {
  if (a.kind === 'execution' && b.kind === 'execution') return executionCovariance(a, b, sd);
  const isSame = terms[0]?.atSeconds === others[0]?.atSeconds;
  if (a.kind === 'rate' && b.kind === 'rate')
    return (a.key === b.key ? RATE_LEVEL ** 2 : 0) + (isSame ? visitSd ** 2 : 0);
  if (a.kind === 'host' && b.kind === 'host') return WITNESS_LEVEL ** 2 + (isSame ? hostSd ** 2 : 0);
  return a.kind === 'clock' && b.kind === 'clock' ? WITNESS_LEVEL ** 2 : 0;
}

type Execution = Extract<Source, { readonly kind: 'execution' }>;

function executionCovariance(a: Execution, b: Execution, roughness: number): number {
  const apart = Math.hypot(
    a.batch - b.batch,
    a.busyInstances - b.busyInstances,
    (a.inFlight - b.inFlight) / IN_FLIGHT_LENGTH,
  );
  return (
    EXECUTION.level ** 2 +
    (a.settingsKey === b.settingsKey ? EXECUTION.settings ** 2 : 0) +
    EXECUTION.perBatch ** 2 * a.batch * b.batch +
    EXECUTION.perBusy ** 2 * a.busyInstances * b.busyInstances +
    EXECUTION.perInFlight ** 2 * a.inFlight * b.inFlight +
    roughness ** 2 * (matern52(apart) + (a.fingerprint === b.fingerprint ? 1 : 0))
  );
}

/**
 * Requests in flight hardly affect executions of one batch size: the ratio of length scales, in
 * doublings.
 */
const IN_FLIGHT_LENGTH = 4;
