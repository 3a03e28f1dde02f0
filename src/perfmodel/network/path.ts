import type { Stage, Step } from '#queueing/network/types.ts';
import { executionNs } from '#queueing/service-law.ts';

/**
 * Returns the time of one request through steps when nothing else is served, in nanoseconds: the
 * longest path through the branches, each stage with its calls. `toLog`: the term added to the
 * logarithm of a stage's execution time.
 */
export function aloneNs(
  steps: readonly Step[],
  stages: readonly Stage[],
  samples: number,
  toLog: (stage: string) => number = () => 0,
): number {
  const byName = new Map(stages.map((stage) => [stage.name, stage]));
  const ofStage = (name: string, size: number): number => {
    const stage = byName.get(name);
    if (!stage) return 0;
    const executionTimeNs = executionNs(stage.law, size, 1) * Math.exp(toLog(name));
    return (stage.calls ?? []).reduce((sum, { steps: called, requestsPerSample, inParallel }) => {
      const times = requestsPerSample === undefined ? 1 : requestsPerSample * size;
      const each = ofSteps(called, requestsPerSample === undefined ? size : 1);
      return sum + each * (inParallel ? Math.min(1, times) : times);
    }, executionTimeNs);
  };
  const ofSteps = (all: readonly Step[], size: number): number => {
    const ends: number[] = [];
    for (const step of all) {
      const start = Math.max(0, ...(step.after ?? []).map((place) => ends[place] ?? 0));
      ends.push(start + ('stage' in step ? ofStage(step.stage, size) : ofSteps(step.steps, size)));
    }
    return Math.max(0, ...ends);
  };
  return ofSteps(steps, samples);
}
