import { type Random, randomFor } from '../../src/base/random.ts';
import type { Candidate } from '../../src/space/types.ts';
import { listNeighbours } from '../../src/study/search/queueing/joint-candidates.ts';
import type { SpaceView } from '../../src/study/search/samplers/space-view.ts';
import { computeBudget, EDGE, type KnownBudget, type TestProblem, TIGHTNESSES } from '../problems/problem.ts';

/** The best candidate and level that a long search finds. */
export interface Optimum {
  readonly candidate: Candidate;
  readonly level: number;
  readonly throughput: number;
}

/**
 * The number of random starts, in addition to the original config and the best of an earlier
 * search.
 */
const STARTS = 5;
const MAX_STEPS = 60;

/**
 * Finds the highest true throughput with a p99 up to `limitMs`. Climbs over the truth from several
 * starts, taking the first better neighbour.
 */
export function longSearch(problem: TestProblem, limitMs: number, from: readonly Candidate[]): Optimum | null {
  const random = randomFor(`${problem.name} ${limitMs}`);
  const starts = [problem.baseline, ...from, ...Array.from({ length: STARTS }, () => drawn(problem, random))];
  let best: Optimum | null = null;
  for (const start of starts) {
    let now = atBestLevel(problem, start, limitMs, problem.gridLevels);
    for (let step = 0; now && step < MAX_STEPS; step++) {
      const { candidate, level, throughput } = now;
      const next: readonly Candidate[] = shuffled(listMoves(problem.space, candidate), random);
      const better = firstBetter(problem, next, limitMs, nearby(problem, level), throughput);
      if (!better) break;
      now = atBestLevel(problem, better.candidate, limitMs, problem.gridLevels) ?? better;
    }
    if (now && now.throughput > (best?.throughput ?? 0)) best = now;
  }
  return best;
}

function firstBetter(
  problem: TestProblem,
  next: readonly Candidate[],
  limitMs: number,
  levels: readonly number[],
  than: number,
): Optimum | null {
  for (const candidate of next) {
    const best = atBestLevel(problem, candidate, limitMs, levels);
    if (best && best.throughput > than * 1.002) return best;
  }
  return null;
}

function atBestLevel(
  problem: TestProblem,
  candidate: Candidate,
  limitMs: number,
  levels: readonly number[],
): Optimum | null {
  if (problem.refusal(candidate) !== null) return null;
  let best: Optimum | null = null;
  for (const level of levels) {
    const { throughput, latencyMs } = problem.truth(candidate, level);
    if (latencyMs.p99 <= limitMs && throughput > (best?.throughput ?? 0)) best = { candidate, level, throughput };
    if (latencyMs.p99 > 2 * limitMs) break;
  }
  return best;
}

/** Returns the grid's levels from one below to one above. */
function nearby({ gridLevels }: TestProblem, level: number): readonly number[] {
  const at = gridLevels.indexOf(level);
  return gridLevels.slice(Math.max(0, at - 1), at + 2);
}

function drawn({ space, refusal }: TestProblem, random: Random): Candidate {
  for (;;) {
    const outcome = space.build(space.sample(random));
    if (outcome.legal && refusal(outcome.candidate) === null) return outcome.candidate;
  }
}

function shuffled<T>(items: readonly T[], random: Random): readonly T[] {
  return items
    .map((item) => ({ item, key: random.float() }))
    .sort((a, b) => a.key - b.key)
    .map(({ item }) => item);
}

/** Finds the budgets of a problem and their optima. */
export function foundBudgets(problem: TestProblem): readonly KnownBudget[] {
  const lowestMs = Math.min(
    ...problem.gridLevels.slice(0, 3).map((level) => problem.truth(problem.baseline, level).latencyMs.p99),
  );
  const fastest = longSearch(problem, Number.POSITIVE_INFINITY, []);
  if (!fastest) return [];
  const { p99 } = problem.truth(fastest.candidate, fastest.level).latencyMs;
  const from: Candidate[] = [];
  return TIGHTNESSES.toReversed()
    .flatMap((tightness) => {
      const budgetMs = computeBudget(tightness, lowestMs, p99);
      const optimum = longSearch(problem, EDGE * budgetMs, from);
      if (!optimum) return [];
      from.push(optimum.candidate);
      const { candidate, level, throughput } = optimum;
      return [{ tightness, budgetMs, optimum: throughput, assignment: candidate.assignment, level }];
    })
    .toReversed();
}

/**
 * Returns the candidates next to one: those that differ in one parameter of one model, and those
 * with an instance of one model replaced by one of another.
 */
const listMoves = (space: SpaceView, candidate: Candidate): readonly Candidate[] => [
  ...listNeighbours(space, candidate),
  ...listSwaps(space, candidate),
];

/**
 * Returns the candidates with one step more instances of one model and one step fewer of another:
 * the useful move when a limit applies to the total of instances.
 */
export function listSwaps(space: SpaceView, candidate: Candidate): readonly Candidate[] {
  const models = Object.keys(candidate.shape.members ?? {});
  return models.flatMap((model) => {
    const more = step(space, candidate, model, 1);
    if (!more) return [];
    return models.filter((other) => other !== model).flatMap((other) => step(space, more, other, -1) ?? []);
  });
}

const countInstances = ({ shape }: Candidate, model: string): number => shape.members?.[model]?.policy.instances ?? 0;

/** Returns the neighbour with the next number of instances of one model, up or down. */
function step(space: SpaceView, candidate: Candidate, model: string, direction: 1 | -1): Candidate | undefined {
  const now = countInstances(candidate, model);
  return listNeighbours(space, candidate)
    .filter((next) => Math.sign(countInstances(next, model) - now) === direction)
    .sort((a, b) => direction * (countInstances(a, model) - countInstances(b, model)))[0];
}
