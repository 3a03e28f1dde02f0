import { mean } from 'simple-statistics';
import { seededRandom } from '#base/random.ts';
import type { Candidate } from '#space/types.ts';
import { computeStanding } from '#study/goal/ranking.ts';
import { makeSampler, type SamplerName } from '#study/search/samplers/registry.ts';
import type { PendingTrial, Trial } from '#study/types.ts';
import { CandidateRefusedError } from '#tuner/refused.ts';
import { toGoal } from '../lab/problems/contest.ts';
import { OfflineWorld } from '../lab/problems/world.ts';
import { largeProblem } from './large-problem.ts';

/**
 * What a proposal costs after so many trials, by simulation: a history of random candidates of a
 * large space, each measured once at a random level, while as many trials as there are other
 * servers are pending. `node bench/fleet-asks.ts [SAMPLER] [TRIALS,…] [SERVERS]`.
 */
const [name = 'queueing', counts = '40,100,1000,10000', servers = '64'] = process.argv.slice(2);
/** The number of timed proposals for each count, each after one more trial. */
const ASKS = 5;
const LEVELS = [4, 8, 16, 32, 64];
const UNLIMITED = { trials: Number.POSITIVE_INFINITY, seconds: Number.POSITIVE_INFINITY };

const problem = largeProblem();
const goal = toGoal(problem);
const { space, levels } = problem.testProblem;
const world = new OfflineWorld(problem.testProblem, { seed: 1, statistics: true });
const random = seededRandom(1);
const signal = new AbortController().signal;

function drawn(): Candidate {
  const outcome = space.build(space.sample(random));
  return outcome.legal ? outcome.candidate : problem.testProblem.baseline;
}

async function trialOf(number: number): Promise<Trial> {
  const candidate = number === 0 ? problem.testProblem.baseline : drawn();
  const base = { number, role: number === 0 ? 'baseline' : 'search', candidate } as const;
  try {
    const applied = await world.adapter.apply(candidate, signal);
    const value = LEVELS[random.int(0, LEVELS.length - 1)] as number;
    const measurements = [
      await world.adapter.measure(applied, { mode: 'concurrency', value }, { signal, onProgress: () => undefined }),
    ];
    return { ...base, measurements, ...computeStanding(measurements, candidate, goal), failure: null };
  } catch (error) {
    if (!(error instanceof CandidateRefusedError)) throw error;
    const failure = { kind: error.kind, reason: error.message };
    return { ...base, measurements: [], chosen: null, feasible: false, failure };
  }
}

const cpuMs = (since: NodeJS.CpuUsage): number => {
  const { user, system } = process.cpuUsage(since);
  return (user + system) / 1e3;
};

console.log('trials  ms of CPU for a proposal  for the doubts before it');
const trials: Trial[] = [];
const sampler = makeSampler(name as SamplerName, space, { seed: 1, goal, levels, leastGain: 0 });
for (const count of counts.split(',').map(Number)) {
  while (trials.length < count) trials.push(await trialOf(trials.length));
  const [asks, doubts]: [number[], number[]] = [[], []];
  // The first proposal compiles the code for the later ones.
  for (let ask = 0; ask <= ASKS; ask++) {
    trials.push(await trialOf(trials.length));
    const pending = Array.from({ length: Number(servers) - 1 }, (_, index): PendingTrial => {
      const number = trials.length + index;
      return { number, candidate: drawn(), level: { value: LEVELS[index % LEVELS.length] as number } };
    });
    const history = { trials: [...trials], pending };
    let since = process.cpuUsage();
    sampler.doubted?.(history);
    if (ask > 0) doubts.push(cpuMs(since));
    since = process.cpuUsage();
    sampler.ask(history, UNLIMITED);
    if (ask > 0) asks.push(cpuMs(since));
  }
  console.log([count, mean(asks).toFixed(0), mean(doubts).toFixed(0)].join('  '));
}
