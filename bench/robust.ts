import type { Candidate } from '#space/types.ts';
import type { ArrivalPlan } from '#workload/arrival-plan.ts';
import { createPlan } from '#workload/plan/plan-of.ts';
import { readWorkload } from '#workload/read-workload.ts';
import type { StudyWorkload, StudyWorkloads } from '#workload/study-workloads.ts';
import { ENCODER_BUDGET_MS, encoder } from '../lab/workloads/encoder.ts';
import { problemUnder, trueCapacity } from '../lab/workloads/problem-under.ts';
import { playUnder } from '../lab/workloads/study-under.ts';

/**
 * What a robust pick is worth: `npm run bench:robust`. Every config of the made-up encoder under
 * examples/robust/steady.yaml and burst.yaml, and whole studies of the default sampler in virtual
 * time: for the even rate alone, for both by the mean, and for both by the worst.
 * `TRITUNE_BENCH_SEEDS` is their number (4).
 */
const seeds = Number(process.env.TRITUNE_BENCH_SEEDS ?? 4);

const workloadOf = async (name: string): Promise<StudyWorkload> => {
  const workload = await readWorkload(`examples/robust/${name}.yaml`);
  const plans = new Map<number, ArrivalPlan>();
  const planAt = (meanPerSecond: number): ArrivalPlan => {
    const plan = plans.get(meanPerSecond) ?? createPlan(workload, { seed: 1, meanPerSecond });
    plans.set(meanPerSecond, plan);
    return plan;
  };
  return { name, weight: 1, perLevel: 1, planAt };
};

const [steady, burst] = [await workloadOf('steady'), await workloadOf('burst')];
const problem = (rule: StudyWorkloads['rule'], ...workloads: [StudyWorkload, ...StudyWorkload[]]) =>
  problemUnder(encoder, { rule, workloads });
const worst = { kind: 'worst' } as const;
const [forSteady, forBurst] = [problem(worst, steady), problem(worst, burst)];
/** Bursts are a twentieth of the traffic. */
const forMean = problem({ kind: 'mean' }, { ...steady, weight: 19 }, burst);
const forBoth = problem(worst, steady, burst);

const wordsOf = ({ assignment }: Candidate): string => {
  const { instances, maxBatchSize, queueDelayUs } = assignment;
  return `instances=${instances} max_batch_size=${maxBatchSize} queue_delay_us=${queueDelayUs ?? 'no batching'}`;
};
const toRow = (name: string, candidate: Candidate, more = ''): string => {
  const [atSteady, atBurst] = [forSteady, forBurst].map((each) => trueCapacity(each, candidate, ENCODER_BUDGET_MS)) as [
    number,
    number,
  ];
  const figures = [atSteady, atBurst].map((rate) => `${Math.round(rate)}`.padStart(7));
  return [name.padEnd(28), wordsOf(candidate).padEnd(56), ...figures, more.padStart(13)].join('');
};

console.log(`requests/s with p99 within ${ENCODER_BUDGET_MS} ms`.padEnd(84), '  steady  burst');
const all = [...forSteady.space.assignments()].flatMap((assignment) => {
  const outcome = forSteady.space.build(assignment);
  return outcome.legal ? [outcome.candidate] : [];
});
for (const [name, made] of [
  ['best: steady alone', forSteady],
  ['best: the mean, 19 to 1', forMean],
  ['best: the worst of both', forBoth],
] as const) {
  const best = all
    .map((candidate) => ({ candidate, capacity: trueCapacity(made, candidate, ENCODER_BUDGET_MS) }))
    .reduce((most, each) => (each.capacity > most.capacity ? each : most));
  console.log(toRow(name, best.candidate));
}

console.log('\nstudies'.padEnd(85), '  steady  burst  measurements');
for (const [name, made] of [
  ['steady alone', forSteady],
  ['the mean, 19 to 1', forMean],
  ['the worst of both', forBoth],
] as const)
  for (let seed = 1; seed <= seeds; seed++) {
    const { best, counts } = await playUnder(made, ENCODER_BUDGET_MS, seed);
    if (best) console.log(toRow(`${name}, seed ${seed}`, best.candidate, `${counts.measurements}`));
  }
