import { bestTrial, findChosen } from '#study/goal/ranking.ts';
import type { StudyState } from '#study/records/state.ts';
import type { LevelPlan, LevelPoint, PendingTrial, Sampler } from '#study/types.ts';
import type { Assigned } from '#tuner/trial.ts';
import type { WorkUnderWay } from './work.ts';

/** Returns the work under way, for the sampler. Only trials of the search count. */
export function listPending(running: readonly WorkUnderWay[], { open }: StudyState): readonly PendingTrial[] {
  return running.flatMap(({ kind, trial }): PendingTrial[] => {
    const unfinishedTrial = kind === 'trial' ? open.find(({ number }) => number === trial) : undefined;
    return unfinishedTrial?.role === 'search'
      ? [{ number: trial, candidate: unfinishedTrial.candidate, level: findFirst(unfinishedTrial.levels) }]
      : [];
  });
}

function findFirst(plan: LevelPlan): LevelPoint | null {
  const value = plan.kind === 'fixed' ? plan.values[0] : plan.start;
  return value === undefined ? null : { value, ...(plan.batch !== undefined && { batch: plan.batch }) };
}

/**
 * Returns the plan of a trial that is one measurement. The server that tries a candidate need not
 * know what the others have found, and a sampler that comes back to the candidate may ask for
 * another level.
 */
export function asOneMeasurement(
  { number, role, candidate, levels, earlier = [] }: Assigned,
  sampler: Sampler,
  { compared, speeds }: StudyState,
): LevelPlan {
  if (levels.kind === 'fixed') return levels;
  if (levels.start !== undefined) return fixedAt({ value: levels.start, ...batchIn(levels.batch) });
  const measurements = earlier.map((measurement) => speeds.comparable(measurement));
  const level = sampler.level?.({ trials: compared.trials }, { number, role, candidate, measurements }) ?? null;
  if (level === null) return levels;
  return fixedAt(typeof level === 'number' ? { value: level } : level);
}

const fixedAt = ({ value, batch }: LevelPoint): LevelPlan => ({ kind: 'fixed', values: [value], ...batchIn(batch) });

const batchIn = (batch: number | undefined): { readonly batch?: number } => (batch === undefined ? {} : { batch });

/**
 * Returns the plan. If nothing else says where it begins, it begins near the best level so far,
 * which the server that tries it does not know.
 */
export function withHint(plan: LevelPlan, sampler: Sampler, { compared, goal }: StudyState): LevelPlan {
  const best = bestTrial(compared.trials, goal);
  const near = best && findChosen(best)?.level;
  if (plan.kind === 'fixed' || plan.start !== undefined || sampler.level || !near) return plan;
  return { kind: 'search', start: near.value, ...batchIn(near.batch) };
}
