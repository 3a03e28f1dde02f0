import { type Hypothesis, matern52 } from '../../stats/gaussian-process.ts';
import type { Source, SpeedPlace, SpeedTerm } from './evidence.ts';

/** How the logarithm of the speed wanders: by how much, and how soon it has forgotten what it was (an Ornstein-Uhlenbeck process). */
interface Wander {
  readonly sd: number;
  readonly seconds: number;
  readonly logPrior: number;
}

/** How far figures leave the lines that the batch, the instances and the level draw, as logarithms. */
interface Roughness {
  /** Of execution times; as much again is each config's own. */
  readonly sd: number;
  /** How far throughput of one config at one level is from one visit to the next: its threads may fall on other cores, or it fails. */
  readonly visitSd: number;
  readonly logPrior: number;
}

/**
 * Most machines hold their speed. The wider ones cover what was seen: GPUs that lose a tenth to heat within a minute, hosts that share
 * their cores. Phases of a few seconds cannot be told from the noise of a measurement.
 */
const WANDERS: readonly [Wander, ...Wander[]] = [
  { sd: 0.01, seconds: 60, logPrior: 0 },
  ...[0.06, 0.2].flatMap((sd) => [60, 240].map((seconds) => ({ sd, seconds, logPrior: -2 }))),
];
/** Beside that the speed may step from one moment to the next: cores at 0.6 of their speed for minutes were seen. */
const STEP_SD = 0.4;
const STEP_LOG_PRIOR = -3;
/**
 * Padding and interference bend the times of some models by a third, and cliffs where batches get too large by four times: else that would
 * be taken for speed.
 */
const ROUGHNESSES: readonly Roughness[] = [
  { sd: 0.08, visitSd: 0.02, logPrior: 0 },
  { sd: 0.25, visitSd: 0.1, logPrior: -0.5 },
  { sd: 0.7, visitSd: 1, logPrior: -1 },
];

/** Execution times: how far apart they may be for other reasons than speed, as logarithms. */
const EXECUTION = {
  /** Unknown at first. */
  level: 3,
  /** Another variant of the model (precision, backend settings) may take half or twice as long. */
  variant: 0.6,
  /** With each doubling of the batch, of the instances, and of the requests in flight. */
  perBatch: 0.7,
  perInstances: 0.35,
  perInFlight: 0.1,
} as const;

/** Throughput of a config at a level is unknown at first. What it is at other levels says little: it stops growing where instances are busy. */
const RATE_LEVEL = 3;
/** How fast a witness is at full speed is unknown at first. */
const WITNESS_LEVEL = 3;

/** The witnesses that do not feel the speed. */
interface Hearing {
  readonly deaf: ReadonlySet<string>;
  readonly logPrior: number;
}

/** A hypothesis, and what it says beside the course of the speed. */
export interface SpeedHypothesis extends Hypothesis<SpeedPlace> {
  readonly roughness: Roughness;
  readonly hearing: Hearing;
}

/** What tells of a speed that may be the server's: the host's own work, the clock of a GPU. */
export type Witness = 'host' | 'clock';

/** How likely it is beforehand that a witness feels the speed of the server, as a logarithm of odds; those that there are. */
export type WitnessOdds = ReadonlyMap<Witness, number>;

/** A server that computes on the CPU of this host shares its speed; one on a GPU shares that of its clock. */
const LIKELY = 3;
export function witnessOdds(kinds: ReadonlySet<string>, isOnCpu: boolean): WitnessOdds {
  const odds: readonly (readonly [Witness, number])[] = [
    ['host', isOnCpu ? LIKELY : -LIKELY],
    ['clock', isOnCpu ? -LIKELY : LIKELY],
  ];
  return new Map(odds.filter(([kind]) => kinds.has(kind)));
}

/**
 * Returns what may be true of the speed: how it wanders beside the steps at these moments, and which witnesses feel it. One that does not
 * wanders by itself, and says nothing. What the readings say decides. `like`: only those that say the same beside the course.
 */
export function speedHypotheses(
  odds: WitnessOdds,
  stepsSeconds: readonly number[],
  like?: SpeedHypothesis,
): [SpeedHypothesis, ...SpeedHypothesis[]] {
  const roughnesses = like ? [like.roughness] : ROUGHNESSES;
  const choices = like ? [like.hearing] : hearingsOf(odds);
  const all = roughnesses.flatMap((roughness) =>
    WANDERS.flatMap((wander) =>
      choices.map((hearing): SpeedHypothesis => {
        const course = { wander, deaf: hearing.deaf, stepsSeconds };
        return {
          kernel: (a, b) => sourceCovariance(a, b, roughness) + speedCovariance(a, b, course),
          logPrior: wander.logPrior + roughness.logPrior + hearing.logPrior + STEP_LOG_PRIOR * stepsSeconds.length,
          ...{ roughness, hearing },
        };
      }),
    ),
  );
  return all as [SpeedHypothesis, ...SpeedHypothesis[]];
}

/** Every way in which each witness feels the speed or not. */
function hearingsOf(odds: WitnessOdds): Hearing[] {
  return [...odds].reduce(
    (choices, [witness, log]) =>
      choices.flatMap(({ deaf, logPrior }) => [
        { deaf, logPrior: logPrior + log / 2 },
        { deaf: new Set([...deaf, witness]), logPrior: logPrior - log / 2 },
      ]),
    [{ deaf: new Set<string>(), logPrior: 0 }],
  );
}

interface Course {
  readonly wander: Wander;
  /** The witnesses that do not feel it. */
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
): number {
  if (a.kind === 'execution' && b.kind === 'execution') return executionCovariance(a, b, sd);
  if (a.kind === 'rate' && b.kind === 'rate') {
    const isSame = terms[0]?.atSeconds === others[0]?.atSeconds;
    return (a.key === b.key ? RATE_LEVEL ** 2 : 0) + (isSame ? visitSd ** 2 : 0);
  }
  const isWitness = a.kind === 'host' || a.kind === 'clock';
  return isWitness && a.kind === b.kind ? WITNESS_LEVEL ** 2 : 0;
}

type Execution = Extract<Source, { readonly kind: 'execution' }>;

function executionCovariance(a: Execution, b: Execution, roughness: number): number {
  const apart = Math.hypot(a.batch - b.batch, a.instances - b.instances, (a.inFlight - b.inFlight) / IN_FLIGHT_LENGTH);
  return (
    EXECUTION.level ** 2 +
    (a.variant === b.variant ? EXECUTION.variant ** 2 : 0) +
    EXECUTION.perBatch ** 2 * a.batch * b.batch +
    EXECUTION.perInstances ** 2 * a.instances * b.instances +
    EXECUTION.perInFlight ** 2 * a.inFlight * b.inFlight +
    roughness ** 2 * (matern52(apart) + (a.fingerprint === b.fingerprint ? 1 : 0))
  );
}

/** Executions of one batch size hardly feel how many requests wait: over so many doublings as over one of the batch. */
const IN_FLIGHT_LENGTH = 4;
