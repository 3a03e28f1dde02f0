import { type Random, seededRandom, shuffle } from '#base/random.ts';
import type { Measurement } from '#profiler/measurement.ts';
import { besideInstances } from '#space/shape.ts';
import type { Candidate } from '#space/types.ts';
import type { History, Proposal, Sampler, Trial } from '../../types.ts';

/** The plan of measurements for every candidate. */
export interface ExhaustivePlan {
  /** The baseline and every other candidate, each once. */
  readonly candidates: readonly Candidate[];
  /** In rising order. */
  readonly levels: readonly number[];
  /** Rounds over all points. */
  readonly repeats: number;
  readonly seed: number;
  /**
   * A candidate is not measured above a level whose p99 exceeds this and whose throughput did not
   * grow; absent: no limit.
   */
  readonly latencyLimitMs?: number | undefined;
}

/** A sampler that knows how many points are left. */
export interface ExhaustiveSampler extends Sampler {
  /** Returns the largest number of points that remain to be measured. */
  left(history: History): number;
}

/**
 * The ratio of throughputs from which on a level counts as growth (Model Analyzer's exit from its
 * sweep, applied to one level).
 */
const MIN_GROWTH = 1.05;

/**
 * Measures every candidate at every level, one trial per point, so that a resumed study repeats no
 * finished point. Each round goes over all points in its own random order, because machines drift.
 * Candidates that differ in instances alone stay together, the fewest first: Triton adds instances
 * in place in parallel (0.1 to 0.5 s) and removes them one by one (1.2 s each). The first round
 * decides where a climb through the levels stops, so that all points get equally many readings. A
 * candidate that could not be served is not tried again, unless the server itself was lost.
 */
export function exhaustiveSampler(plan: ExhaustivePlan): ExhaustiveSampler {
  const rounds = Array.from({ length: plan.repeats }, (_, round) =>
    inRandomOrder(plan.candidates, seededRandom(plan.seed + round)),
  );
  return {
    ask: (history) => {
      for (const proposal of due(plan, rounds, history)) return proposal;
      return { kind: 'stop', reason: 'every candidate was measured at every level' };
    },
    // The baseline's first level; the rest of its levels come as points like all others.
    level: (_, running) => (running.measurements.length === 0 ? (plan.levels[0] as number) : null),
    left: (history) => [...due(plan, rounds, history)].length,
  };
}

function* due(
  { levels, latencyLimitMs }: ExhaustivePlan,
  rounds: readonly (readonly Candidate[])[],
  { trials }: History,
): Generator<Proposal> {
  const known = Map.groupBy(trials, ({ candidate }) => candidate.fingerprint);
  for (const [round, candidates] of rounds.entries()) {
    for (const { fingerprint, assignment } of candidates) {
      const trials = known.get(fingerprint) ?? [];
      if (trials.some(isNotServed)) continue;
      const climb: Measurement[] = [];
      for (const level of levels) {
        const readings = readingsAt(trials, level);
        if (readings.length <= round) yield { kind: 'trial', assignment, levels: { kind: 'fixed', values: [level] } };
        climb.push(...readings.slice(0, 1));
        if (isHighEnough(climb, latencyLimitMs)) break;
      }
    }
  }
}

/** Returns a candidate's measurements at a level, in their order. */
export const readingsAt = (trials: readonly Trial[], level: number): Measurement[] =>
  trials.flatMap(({ measurements }) => measurements.filter((each) => each.level.value === level && hasServed(each)));

const hasServed = ({ throughput, tooManyErrors }: Measurement): boolean =>
  throughput.value > 0 && tooManyErrors !== true;

/**
 * True if a trial failed because of its candidate. A trial that the load generator limited was
 * served; a lost server proves nothing about the candidate.
 */
export const isNotServed = ({ failure }: Trial): boolean =>
  failure !== null && failure.kind !== 'client-bound' && failure.kind !== 'server-lost';

function isHighEnough(climb: readonly Measurement[], latencyLimitMs: number | undefined): boolean {
  const last = climb.at(-1);
  const before = climb.slice(0, -1).map(({ throughput }) => throughput.value);
  if (latencyLimitMs === undefined || last === undefined || before.length === 0) return false;
  return last.latencyMs.p99 > latencyLimitMs && last.throughput.value <= MIN_GROWTH * Math.max(...before);
}

function inRandomOrder(candidates: readonly Candidate[], random: Random): Candidate[] {
  const groups = Map.groupBy(candidates, ({ shape }) => besideInstances(shape));
  return shuffle([...groups.values()], random).flatMap((group) =>
    [...group].sort((a, b) => a.shape.policy.instances - b.shape.policy.instances),
  );
}
