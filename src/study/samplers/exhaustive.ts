import { type Random, seededRandom } from '../../base/random.ts';
import type { Measurement } from '../../profiler/measurement.ts';
import type { Candidate } from '../../space/types.ts';
import { besideInstances } from '../../triton/config-comparison.ts';
import { normaliseConfig } from '../../triton/config-normal-form.ts';
import { instancesOf } from '../../triton/instances.ts';
import type { History, Proposal, Sampler, Trial } from '../types.ts';

/** What is measured of every candidate. */
export interface ExhaustivePlan {
  /** The original config, and every other candidate; none twice. */
  readonly candidates: readonly Candidate[];
  /** In rising order. */
  readonly levels: readonly number[];
  /** Rounds over all of it. */
  readonly repeats: number;
  readonly seed: number;
  /** A candidate is left alone above a level whose p99 is beyond this and whose throughput is no higher than below it. */
  readonly latencyLimitMs?: number | undefined;
}

/** A sampler that also knows how much is to come. */
export interface ExhaustiveSampler extends Sampler {
  /** Points that are not measured yet, at most. */
  left(history: History): number;
}

/** A level must raise the throughput by more than 5 % to count as growth: the exit of Model Analyzer's sweep, over one level. */
const LEAST_GROWTH = 1.05;

/**
 * Every candidate at every level, a trial for each point, so that a resumed study repeats none that was finished. Rounds go over all of it,
 * each in an order of its own, because a machine drifts; candidates that differ in instances alone stay together and come with the fewest
 * first, because Triton adds instances in place side by side (0.1 to 0.5 s) and removes them one by one, 1.2 s for each. Where to stop
 * climbing is what the first round says, so that all points have as many readings. A candidate that could not be served is not tried
 * again, unless the server itself was lost.
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
    // The baseline's: the rest of its levels come as points like all others.
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
      const own = known.get(fingerprint) ?? [];
      if (own.some(isNotServed)) continue;
      const climb: Measurement[] = [];
      for (const level of levels) {
        const readings = readingsAt(own, level);
        if (readings.length <= round) yield { kind: 'trial', assignment, levels: { kind: 'fixed', values: [level] } };
        climb.push(...readings.slice(0, 1));
        if (isHighEnough(climb, latencyLimitMs)) break;
      }
    }
  }
}

/** What a study measured of a candidate at a level, in order. */
export const readingsAt = (trials: readonly Trial[], level: number): Measurement[] =>
  trials.flatMap(({ measurements }) => measurements.filter((each) => each.level.value === level && hasServed(each)));

const hasServed = ({ throughput, tooManyErrors }: Measurement): boolean =>
  throughput.value > 0 && tooManyErrors !== true;

/** A measurement that the load generator limited is one all the same; a server that went away says nothing of the candidate. */
export const isNotServed = ({ failure }: Trial): boolean =>
  failure !== null && failure.kind !== 'client-bound' && failure.kind !== 'server-lost';

function isHighEnough(climb: readonly Measurement[], latencyLimitMs: number | undefined): boolean {
  const last = climb.at(-1);
  const before = climb.slice(0, -1).map(({ throughput }) => throughput.value);
  if (latencyLimitMs === undefined || last === undefined || before.length === 0) return false;
  return last.latencyMs.p99 > latencyLimitMs && last.throughput.value <= LEAST_GROWTH * Math.max(...before);
}

function inRandomOrder(candidates: readonly Candidate[], random: Random): Candidate[] {
  const groups = Map.groupBy(candidates, ({ config }) => besideInstances(normaliseConfig(config)));
  return shuffled([...groups.values()], random).flatMap((group) =>
    [...group].sort((a, b) => instancesOf(a.config) - instancesOf(b.config)),
  );
}

/** Fisher and Yates. */
function shuffled<T>(items: readonly T[], random: Random): T[] {
  const all = [...items];
  for (let last = all.length - 1; last > 0; last--) {
    const other = random.int(0, last);
    [all[last], all[other]] = [all[other] as T, all[last] as T];
  }
  return all;
}
