import { max, mean } from 'simple-statistics';
import { randomFor, standardNormal } from '#base/random.ts';
import { makeSampler, type SamplerName } from '#study/search/samplers/registry.ts';
import type { Sampler } from '#study/types.ts';
import { playFleet } from '../test/support/virtual-fleet.ts';
import { largeProblem } from './large-problem.ts';

/**
 * What one study over many servers costs who conducts it, by simulation: a made-up model with a
 * large space on many servers in virtual time. Says, by the number of trials so far, how long the
 * sampler takes for a proposal and the whole of a trial takes of the conductor's CPU.
 * `node bench/fleet-scale.ts [SAMPLER] [TRIALS] [SERVERS]`.
 */
const [name = 'queueing', trials = '10000', servers = '64'] = process.argv.slice(2);
/** The spread of the servers' speeds in a group, as a standard deviation of logarithms. */
const BETWEEN_SERVERS_SD = 0.1;
const ROWS = 20;
const random = randomFor('servers of a large fleet');
const speeds = Array.from({ length: Number(servers) }, (_, at) =>
  at === 0 ? 1 : Math.exp(BETWEEN_SERVERS_SD * standardNormal(random)),
);

const every = Math.max(1, Math.round(Number(trials) / ROWS));
let [asked, told]: [number[], number] = [[], 0];
let since = process.cpuUsage();
console.log('trials  asked  ask ms (mean, longest)  CPU ms a trial, simulated servers included  heap MiB');
const timed = (sampler: Sampler): Sampler => ({
  ...sampler,
  ask: (history, left) => {
    const startMs = performance.now();
    const answer = sampler.ask(history, left);
    asked.push(performance.now() - startMs);
    if (history.trials.length >= told + every) tell(history.trials.length);
    return answer;
  },
});

function tell(soFar: number): void {
  const { user, system } = process.cpuUsage(since);
  const heap = process.memoryUsage().heapUsed / 2 ** 20;
  const cpuMs = (user + system) / 1e3 / (soFar - told);
  const columns = [soFar, asked.length, `${mean(asked).toFixed(0)}, ${max(asked).toFixed(0)}`];
  console.log([...columns, cpuMs.toFixed(0), heap.toFixed(0)].join('  '));
  asked = [];
  told = soFar;
  since = process.cpuUsage();
}

const { state, searchSeconds, busy, end } = await playFleet({
  problem: largeProblem(),
  speeds,
  seed: 1,
  maxTrials: Number(trials),
  make: (space, options) => timed(makeSampler(name as SamplerName, space, { ...options, leastGain: 0 })),
});
console.log(
  `${state.trials.length - 1} trials on ${servers} servers in ${(searchSeconds / 3600).toFixed(1)} hours of virtual time, busy ${(100 * busy).toFixed(0)} %: ${end.stopReason}`,
);
