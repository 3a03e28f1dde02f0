import { describe, expect, it } from 'vitest';
import { ENCODER_BUDGET_MS, encoder } from '../../src/benchmark/workloads/encoder.ts';
import { capacityUnder, problemUnder } from '../../src/benchmark/workloads/problem-under.ts';
import { playUnder } from '../../src/benchmark/workloads/study-under.ts';
import type { ArrivalPlan } from '../../src/workload/arrival-plan.ts';
import { planOf } from '../../src/workload/plan/plan-of.ts';
import { readWorkload } from '../../src/workload/read-workload.ts';
import type { StudyWorkload } from '../../src/workload/study-workloads.ts';

const [steady, burst] = (await Promise.all(
  ['steady', 'burst'].map(async (name): Promise<StudyWorkload> => {
    const workload = await readWorkload(`examples/robust/${name}.yaml`);
    const plans = new Map<number, ArrivalPlan>();
    const planAt = (meanPerSecond: number): ArrivalPlan => {
      const plan = plans.get(meanPerSecond) ?? planOf(workload, { seed: 1, meanPerSecond });
      plans.set(meanPerSecond, plan);
      return plan;
    };
    return { name, weight: 1, perLevel: 1, planAt };
  }),
)) as [StudyWorkload, StudyWorkload];

const problem = (...workloads: [StudyWorkload, ...StudyWorkload[]]) =>
  problemUnder(encoder, { rule: { kind: 'worst' }, workloads });
const forSteady = problem(steady);

/** Requests per second within the budget. */
const capacities = (...[candidate]: [Parameters<typeof capacityUnder>[1]]) => ({
  steady: capacityUnder(forSteady, candidate, steady.planAt, ENCODER_BUDGET_MS),
  burst: capacityUnder(forSteady, candidate, burst.planAt, ENCODER_BUDGET_MS),
});

describe('a model that serves most at an even rate without waiting for batches', () => {
  it('has a config for that rate which loses two fifths in bursts, and another that loses next to nothing', () => {
    const candidates = [...forSteady.space.assignments()].flatMap((assignment) => {
      const { instances, maxBatchSize } = assignment as { instances: number; maxBatchSize: number };
      const outcome = forSteady.space.build(assignment);
      return outcome.legal && instances >= 2 && (maxBatchSize === 8 || maxBatchSize === 16) ? [outcome.candidate] : [];
    });
    const all = candidates.map((candidate) => ({ candidate, ...capacities(candidate) }));
    const bySteady = all.reduce((best, each) => (each.steady > best.steady ? each : best));
    const byWorst = all.reduce((best, each) => (each.burst > best.burst ? each : best));
    expect(bySteady.candidate.assignment).toMatchObject({ instances: 2, maxBatchSize: 16, queueDelayUs: 0 });
    expect(byWorst.candidate.assignment).toMatchObject({ instances: 3, maxBatchSize: 16, queueDelayUs: 8000 });
    expect(bySteady.burst).toBeLessThan(0.65 * byWorst.burst);
    expect(byWorst.steady).toBeGreaterThan(0.95 * bySteady.steady);
  }, 300_000);

  it('is tuned for bursts where the study has them: the pick for the even rate alone loses over a fifth', async () => {
    const alone = await playUnder(forSteady, ENCODER_BUDGET_MS, 1);
    const robust = await playUnder(problem(steady, burst), ENCODER_BUDGET_MS, 1);
    const [pick, robustPick] = [alone, robust].map(({ best }) => capacities(best?.candidate as never)) as [
      ReturnType<typeof capacities>,
      ReturnType<typeof capacities>,
    ];
    expect(robust.best?.feasible).toBe(true);
    expect(pick.burst).toBeLessThan(0.8 * robustPick.burst);
    expect(robustPick.steady).toBeGreaterThan(0.8 * pick.steady);
    expect(robust.best?.measurements[robust.best.chosen ?? 0]?.workloads?.map(({ workload }) => workload)).toEqual([
      'steady',
      'burst',
    ]);
  }, 300_000);
});
