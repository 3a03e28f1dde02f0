import { describe, expect, it } from 'vitest';
import type { Candidate } from '#space/types.ts';
import type { ArrivalPlan } from '#workload/arrival-plan.ts';
import { createPlan } from '#workload/plan/plan-of.ts';
import { readWorkload } from '#workload/read-workload.ts';
import { parseRobustRule, type RobustRule } from '#workload/robust-rule.ts';
import type { StudyWorkload } from '#workload/study-workloads.ts';
import { ENCODER_BUDGET_MS, encoder } from '../../lab/workloads/encoder.ts';
import { problemUnder, trueCapacity } from '../../lab/workloads/problem-under.ts';
import { playUnder } from '../../lab/workloads/study-under.ts';
import { isNightly } from '../support/fuzz.ts';

const [steady, burst] = (await Promise.all(
  ['steady', 'burst'].map(async (name): Promise<StudyWorkload> => {
    const workload = await readWorkload(`examples/robust/${name}.yaml`);
    const plans = new Map<number, ArrivalPlan>();
    const planAt = (meanPerSecond: number): ArrivalPlan => {
      const plan = plans.get(meanPerSecond) ?? createPlan(workload, { seed: 1, meanPerSecond });
      plans.set(meanPerSecond, plan);
      return plan;
    };
    return { name, weight: 1, perLevel: 1, planAt };
  }),
)) as [StudyWorkload, StudyWorkload];

const problem = (rule: RobustRule, ...workloads: [StudyWorkload, ...StudyWorkload[]]) =>
  problemUnder(encoder, { rule, workloads });
const worst = parseRobustRule('worst');
const [forSteady, forBurst] = [problem(worst, steady), problem(worst, burst)];
const forBoth = problem(worst, steady, burst);

/** Requests per second within the budget. */
const capacities = (candidate: Candidate) => ({
  steady: trueCapacity(forSteady, candidate, ENCODER_BUDGET_MS),
  burst: trueCapacity(forBurst, candidate, ENCODER_BUDGET_MS),
});

describe('a model that serves most at an even rate without waiting for batches', () => {
  it.runIf(isNightly)(
    'has a pick for the even rate, and for the mean, that loses over a fifth in bursts, and a robust one that loses next to nothing',
    () => {
      const candidates = [...forSteady.space.assignments()].flatMap((assignment) => {
        const { instances, maxBatchSize } = assignment as { instances: number; maxBatchSize: number };
        const outcome = forSteady.space.build(assignment);
        return outcome.legal && instances >= 2 && maxBatchSize >= 16 ? [outcome.candidate] : [];
      });
      const bestFor = (of: ReturnType<typeof problem>) => {
        const [first] = candidates
          .map((candidate) => ({ candidate, capacity: trueCapacity(of, candidate, ENCODER_BUDGET_MS) }))
          .sort((a, b) => b.capacity - a.capacity);
        const { candidate } = first as { candidate: Candidate };
        return { assignment: candidate.assignment, ...capacities(candidate) };
      };
      const [bySteady, byWorst] = [bestFor(forSteady), bestFor(forBoth)];
      // Bursts are a twentieth of the traffic.
      const byMean = bestFor(problem({ kind: 'mean' }, { ...steady, weight: 19 }, burst));
      expect(bySteady.assignment).toMatchObject({ instances: 2, queueDelayUs: 0 });
      expect(byWorst.assignment).toMatchObject({ instances: 3, queueDelayUs: 8000 });
      expect(bySteady.burst).toBeLessThan(0.65 * byWorst.burst);
      expect(byMean.burst).toBeLessThan(0.8 * byWorst.burst);
      expect(byWorst.steady).toBeGreaterThan(0.95 * bySteady.steady);
    },
    300_000,
  );

  // Two whole searches take half a minute of a core.
  it.runIf(isNightly)(
    'is tuned for bursts where the study has them',
    async () => {
      const alone = await playUnder(forSteady, ENCODER_BUDGET_MS, 1);
      const robust = await playUnder(forBoth, ENCODER_BUDGET_MS, 1);
      const [pick, robustPick] = [alone, robust].map(({ best }) => capacities(best?.candidate as Candidate)) as [
        ReturnType<typeof capacities>,
        ReturnType<typeof capacities>,
      ];
      expect(robust.best?.feasible).toBe(true);
      expect(pick.burst).toBeLessThan(0.8 * robustPick.burst);
      expect(robustPick.steady).toBeGreaterThan(0.8 * pick.steady);
      const under = robust.best?.measurements[robust.best.chosen ?? 0]?.workloads;
      expect(under?.map(({ workload }) => workload)).toEqual(['steady', 'burst']);
    },
    300_000,
  );
});
