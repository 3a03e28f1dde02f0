import { mean, quantileSorted } from 'simple-statistics';
import { randomFor, standardNormal } from '#base/random.ts';
import { makeSampler, type SamplerName } from '#study/search/samplers/registry.ts';
import { listBudgetedProblems } from '../lab/problems/problem.ts';
import { scenarios } from '../lab/problems/problems.ts';
import { type FleetOutcome, playFleet } from '../test/support/virtual-fleet.ts';

/**
 * What several servers are worth, in virtual time: whole studies on the made-up models of
 * `bench-search`, over 1, 2, 4 and 8 servers whose speeds differ by 10 % (standard deviation), with
 * as many trials each. `node bench/fleet.ts [SAMPLER] [TRIALS] [MODELS] [SERVERS,…]`.
 */
const [sampler = 'queueing', trials = '16', models = '2', counts = '1,2,4,8'] = process.argv.slice(2);
/** The spread of the servers' speeds in a group, as a standard deviation of logarithms. */
const BETWEEN_SERVERS_SD = 0.1;
const FINAL_ROUNDS = 2;

const problems = scenarios(Number(models)).flatMap((each) => listBudgetedProblems(each));
console.log('servers  trials/min  speed  ideal  search  study  share  worst tenth  busy');
let alone: number | null = null;
for (const servers of counts.split(',').map(Number)) {
  const outcomes: FleetOutcome[] = [];
  for (const [index, problem] of problems.entries()) {
    const random = randomFor(`servers ${index}`);
    const speeds = Array.from({ length: servers }, (_, at) =>
      at === 0 ? 1 : Math.exp(BETWEEN_SERVERS_SD * standardNormal(random)),
    );
    outcomes.push(
      await playFleet({
        problem,
        speeds,
        seed: 1 + index,
        maxTrials: Number(trials),
        finalRounds: FINAL_ROUNDS,
        // All studies have the same number of trials, to compare their time and their results.
        make: (space, options) => makeSampler(sampler as SamplerName, space, { ...options, leastGain: 0 }),
      }),
    );
  }
  const rate = mean(outcomes.map(({ state, searchSeconds }) => ((state.trials.length - 1) / searchSeconds) * 60));
  alone ??= rate;
  const shares = outcomes.map(({ share }) => share).sort((a, b) => a - b);
  const columns = [
    ...[String(servers), rate.toFixed(1), (rate / alone).toFixed(2), String(servers)],
    ...[`${mean(outcomes.map((each) => each.searchSeconds)).toFixed(0)} s`],
    ...[`${mean(outcomes.map((each) => each.seconds)).toFixed(0)} s`],
    ...[mean(shares).toFixed(3), quantileSorted(shares, 0.1).toFixed(3)],
    mean(outcomes.map(({ busy }) => busy)).toFixed(2),
  ];
  console.log(columns.join('  '));
}
