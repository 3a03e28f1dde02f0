import { ENCODER_BUDGET_MS, encoder } from '../src/benchmark/workloads/encoder.ts';
import { capacityUnder, problemUnder } from '../src/benchmark/workloads/problem-under.ts';
import { playUnder } from '../src/benchmark/workloads/study-under.ts';
import type { Candidate } from '../src/space/types.ts';
import type { ArrivalPlan } from '../src/workload/arrival-plan.ts';
import { planOf } from '../src/workload/plan/plan-of.ts';
import { readWorkload } from '../src/workload/read-workload.ts';
import type { StudyWorkload, StudyWorkloads } from '../src/workload/study-workloads.ts';

/**
 * What a robust pick is worth: `npm run bench:robust`. Every config of the made-up encoder under examples/robust/steady.yaml and burst.yaml, and whole studies
 * of the default sampler in virtual time: for the even rate alone, for both by the mean, and for both by the worst. `TRITUNE_BENCH_SEEDS` is their number (4).
 */
const seeds = Number(process.env.TRITUNE_BENCH_SEEDS ?? 4);

const workloadOf = async (name: string): Promise<StudyWorkload> => {
  const workload = await readWorkload(`examples/robust/${name}.yaml`);
  const plans = new Map<number, ArrivalPlan>();
  const planAt = (meanPerSecond: number): ArrivalPlan => {
    const plan = plans.get(meanPerSecond) ?? planOf(workload, { seed: 1, meanPerSecond });
    plans.set(meanPerSecond, plan);
    return plan;
  };
  return { name, weight: 1, perLevel: 1, planAt };
};

const [steady, burst] = [await workloadOf('steady'), await workloadOf('burst')];
const problem = (rule: StudyWorkloads['rule'], ...workloads: [StudyWorkload, ...StudyWorkload[]]) =>
  problemUnder(encoder, { rule, workloads });
const plain = problem({ kind: 'worst' }, steady);
const capacities = (candidate: Candidate) =>
  [steady, burst].map(({ planAt }) => Math.round(capacityUnder(plain, candidate, planAt, ENCODER_BUDGET_MS)));

const wordsOf = ({ assignment }: Candidate): string => {
  const { instances, maxBatchSize, queueDelayUs } = assignment;
  return `instances=${instances} max_batch_size=${maxBatchSize} queue_delay_us=${queueDelayUs ?? 'no batching'}`;
};

const all = [...plain.space.assignments()].flatMap((assignment) => {
  const outcome = plain.space.build(assignment);
  if (!outcome.legal) return [];
  const [atSteady = 0, atBurst = 0] = capacities(outcome.candidate);
  return [{ candidate: outcome.candidate, atSteady, atBurst }];
});
const best = (of: (each: (typeof all)[number]) => number) =>
  all.reduce((most, each) => (of(each) > of(most) ? each : most));
const bestSteady = best(({ atSteady }) => atSteady);
const bestWorst = best(({ atSteady, atBurst }) => Math.min(atSteady, atBurst));
console.log(`requests/s with p99 within ${ENCODER_BUDGET_MS} ms, of ${all.length} configs`);
for (const [words, { candidate, atSteady, atBurst }] of [
  ['best at the even rate', bestSteady],
  ['best at the worst', bestWorst],
] as const)
  console.log(`${words}: ${wordsOf(candidate)}: steady ${atSteady}, burst ${atBurst}`);

console.log(
  '\nstudies             seed  pick                                                   steady  burst  measurements',
);
for (const [name, made] of [
  ['steady alone', plain],
  ['both, by the mean', problem({ kind: 'mean' }, steady, burst)],
  ['both, by the worst', problem({ kind: 'worst' }, steady, burst)],
] as const)
  for (let seed = 1; seed <= seeds; seed++) {
    const state = await playUnder(made, ENCODER_BUDGET_MS, seed);
    if (!state.best) continue;
    const [atSteady, atBurst] = capacities(state.best.candidate);
    const cells = [name.padEnd(19), `${seed}`.padStart(4), ` ${wordsOf(state.best.candidate).padEnd(54)}`];
    console.log(
      [...cells, `${atSteady}`.padStart(6), `${atBurst}`.padStart(6), `${state.counts.measurements}`.padStart(8)].join(
        ' ',
      ),
    );
  }
