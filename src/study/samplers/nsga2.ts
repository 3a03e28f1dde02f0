import { type Random, seededRandom } from '../../base/random.ts';
import type { Assignment, ParameterValue } from '../../space/types.ts';
import { type CrowdedRank, compareCrowded, crowdedRanks } from '../../stats/crowded-sort.ts';
import { frontAxes, pointOf } from '../ranking.ts';
import type { Goal, History, Sampler, Trial } from '../types.ts';
import { anyUntried } from './random.ts';
import { seedAt } from './seeds.ts';
import { type SpaceView, untried } from './space-view.ts';

/** Few, because a study has some tens of trials; the first so many are random. */
const POPULATION = 6;
/** Part of the children with values of both parents. */
const CROSSOVER = 0.9;
/** Children that were tried before, or are illegal, before one is drawn from the whole space instead. */
const MAX_CHILDREN = 100;

interface Individual extends CrowdedRank {
  readonly trial: Trial;
}

/**
 * NSGA-II (Deb and others, 2002) over the values of the parameters: the population are the trials on the best fronts of throughput, the
 * budgeted latency and the goal's other objectives, those with the most room on the last of them; a trial that meets the constraints is
 * before one that does not. The winners of two tournaments have a child that takes each value from one of them, and some anew. Parameters
 * are lists of values, so crossover is uniform and mutation draws a value of the list. A generation is one child (steady state: Durillo
 * and others, 2009), because what one trial has shown should count for the very next.
 */
export function nsga2Sampler(space: SpaceView, seed: number, goal: Goal): Sampler {
  return {
    ask(history) {
      const random = seededRandom(seedAt(seed, history.trials.length));
      const trials = history.trials.filter(({ role }) => role === 'search');
      const child = trials.length >= POPULATION ? childOf(populationAfter(trials, goal), space, history, random) : null;
      const assignment = child ?? anyUntried(space, history, random);
      if (assignment) return { kind: 'trial', assignment, levels: { kind: 'search' } };
      return { kind: 'stop', reason: 'every candidate of the search space was tried' };
    },
  };
}

/** The first trials; each later one takes the place of the least fit, unless that is itself. */
function populationAfter(trials: readonly Trial[], goal: Goal): readonly Individual[] {
  let population = trials.slice(0, POPULATION);
  for (const child of trials.slice(POPULATION)) {
    const fittest = ranked([...population, child], goal).sort(compareCrowded);
    population = fittest.slice(0, POPULATION).map(({ trial }) => trial);
  }
  return ranked(population, goal);
}

function ranked(trials: readonly Trial[], goal: Goal): Individual[] {
  const axes = frontAxes(goal);
  const ranks = crowdedRanks(trials.map((trial) => pointOf(trial, goal, axes)));
  return trials.map((trial, index) => ({ trial, ...(ranks[index] as CrowdedRank) }));
}

/** One that is worth a trial; null when none was born in so many attempts. */
function childOf(
  population: readonly Individual[],
  space: SpaceView,
  history: History,
  random: Random,
): Assignment | null {
  for (let attempt = 0; attempt < MAX_CHILDREN; attempt++) {
    const [mother, father] = [winner(population, random), winner(population, random)];
    const genes = random.float() < CROSSOVER ? crossed(mother, father, random) : mother;
    const child = space.complete(mutated(genes, random), random);
    if (child && untried(space, child, history)) return child;
  }
  return null;
}

/** Of two drawn at random the better one. */
function winner(population: readonly Individual[], random: Random): Assignment {
  const [one, other] = [0, 0].map(() => population[random.int(0, population.length - 1)] as Individual);
  const fitter = compareCrowded(one as Individual, other as Individual) <= 0 ? one : other;
  return (fitter as Individual).trial.candidate.assignment;
}

/** Each value from one of the two; a parameter that applies to one of them only keeps its value, for the case that it applies to the child. */
function crossed(mother: Assignment, father: Assignment, random: Random): Assignment {
  const child: Record<string, ParameterValue> = { ...mother, ...father };
  for (const name of Object.keys(mother)) if (random.float() < 0.5) child[name] = mother[name] as ParameterValue;
  return child;
}

/** Leaves out about one value of the child: the space then draws it anew. */
function mutated(genes: Assignment, random: Random): Assignment {
  const values = Object.entries(genes);
  return Object.fromEntries(values.filter(() => random.float() >= 1 / values.length));
}
