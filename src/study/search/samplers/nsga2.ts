import { type Random, seededRandom } from '#base/random.ts';
import type { Assignment, ParameterValue } from '#space/types.ts';
import { type CrowdedRank, compareCrowded, crowdedRanks } from '#stats/crowded-sort.ts';
import { frontAxes, toPoint } from '../../goal/ranking.ts';
import type { Goal, History, Sampler, Trial } from '../../types.ts';
import { anyUntried } from './random.ts';
import { seedAt } from './seeds.ts';
import { type SpaceView, untried } from './space-view.ts';

/**
 * The population size; the first trials of this number are random. Small, because a study has some
 * tens of trials.
 */
const POPULATION = 6;
/** The probability of a crossover. */
const CROSSOVER = 0.9;
/**
 * Children that may be illegal or tried already before an assignment is drawn from the whole space
 * instead.
 */
const MAX_CHILDREN = 100;

interface Individual extends CrowdedRank {
  readonly trial: Trial;
}

/**
 * NSGA-II (Deb and others, 2002) over the values of the parameters. The population are the trials
 * on the best fronts of throughput, the budgeted latency and the goal's other objectives, by
 * crowding distance on the last front; feasible trials dominate infeasible ones. Two tournament
 * winners have a child by uniform crossover; mutation draws a value of the parameter's list anew. A
 * generation is one child (steady state: Durillo and others, 2009), so that each trial counts for
 * the very next.
 */
export function nsga2Sampler(space: SpaceView, seed: number, goal: Goal): Sampler {
  return {
    ask(history) {
      const random = seededRandom(seedAt(seed, history.trials.length));
      const trials = history.trials.filter(({ role }) => role === 'search');
      const child =
        trials.length >= POPULATION ? createChild(populationAfter(trials, goal), space, history, random) : null;
      const assignment = child ?? anyUntried(space, history, random);
      if (assignment) return { kind: 'trial', assignment, levels: { kind: 'search' } };
      return { kind: 'stop', reason: 'every candidate of the search space was tried' };
    },
  };
}

/**
 * Returns the population: the first trials, with the least fit replaced by each later trial, unless
 * that is the least fit itself.
 */
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
  const ranks = crowdedRanks(trials.map((trial) => toPoint(trial, goal, axes)));
  return trials.map((trial, index) => ({ trial, ...(ranks[index] as CrowdedRank) }));
}

/** Returns a child that is legal, untried and not known to fail; null when no attempt gave one. */
function createChild(
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

/** Binary tournament: draws two individuals and returns the fitter one. */
function winner(population: readonly Individual[], random: Random): Assignment {
  const [one, other] = [0, 0].map(() => population[random.int(0, population.length - 1)] as Individual);
  const fitter = compareCrowded(one as Individual, other as Individual) <= 0 ? one : other;
  return (fitter as Individual).trial.candidate.assignment;
}

/**
 * Uniform crossover. A parameter that applies to one parent only keeps its value, in case it
 * applies to the child.
 */
function crossed(mother: Assignment, father: Assignment, random: Random): Assignment {
  const child: Record<string, ParameterValue> = { ...mother, ...father };
  for (const name of Object.keys(mother)) if (random.float() < 0.5) child[name] = mother[name] as ParameterValue;
  return child;
}

/** Mutation: drops about one value, which the space then draws anew. */
function mutated(genes: Assignment, random: Random): Assignment {
  const values = Object.entries(genes);
  return Object.fromEntries(values.filter(() => random.float() >= 1 / values.length));
}
