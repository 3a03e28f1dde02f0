import { toModelConfig, toOriginal } from '#space/model-configs.ts';
import { spaceFromJson } from '#space/source/load.ts';
import type { StudyRecord } from '#study/records/records.ts';
import { type SpaceView, viewSpace } from '#study/search/samplers/space-view.ts';
import type { ModelConfig } from '#triton/config/model-config.ts';
import { goalOf, measured, originalConfig, studyStarted, toCandidate } from '../study/builders.ts';
import { withServer } from '../tui/recorded.ts';

const range = (count: number, step = 1): readonly number[] =>
  Array.from({ length: count }, (_, index) => (index + 1) * step);

/** 5,120 candidates. */
const parameters = {
  // With batches of one there would be no delay to choose.
  max_batch_size: range(20).map((size) => size + 1),
  queue_delay_us: range(16, 100),
  instances: range(16),
  dynamic_batching: ['on'],
};

export const longSpace = spaceFromJson({ name: 'long', parameters });
export const longView: SpaceView = viewSpace(longSpace, toOriginal(originalConfig));
export const longGoal = goalOf(40);

/** Trials are measured at so many levels. */
const LEVELS = [1, 4, 16, 64];

/**
 * The records of a study of so many trials, each with all that a server can tell of itself, as
 * after a kill in the last.
 */
export function longStudy(trials: number): readonly StudyRecord[] {
  const records: StudyRecord[] = [studyStarted(longGoal, { space: longSpace.definition as never })];
  const add = (trial: number, candidate: ReturnType<typeof toCandidate>): void => {
    const at = new Date(Date.UTC(2026, 0, 1) + trial * 60_000).toISOString();
    const role = trial === 0 ? 'baseline' : 'search';
    records.push({ type: 'trial-started', at, trial, role, candidate });
    records.push({ type: 'trial-applied', at, trial, change: 'full', loadMs: 900 });
    for (const level of LEVELS)
      records.push({ type: 'trial-measured', at, trial, measurement: figuresOf(toModelConfig(candidate), level) });
    records.push({ type: 'trial-finished', at, trial, chosen: 2, feasible: true, failure: null });
  };
  add(0, toCandidate(originalConfig));
  let trial = 1;
  for (const assignment of longView.assignments()) {
    if (trial > trials) break;
    const outcome = longView.build(assignment);
    if (outcome.legal) add(trial++, outcome.candidate);
  }
  if (trial <= trials) throw new Error(`the space has ${trial - 1} candidates only`);
  return records;
}

/** Some figures that differ from candidate to candidate. */
function figuresOf(config: ModelConfig, level: number) {
  const instances = config.instance_group?.[0]?.count ?? 1;
  const batch = config.max_batch_size ?? 1;
  const delayMs = Number(config.dynamic_batching?.max_queue_delay_microseconds ?? 0) / 1e3;
  const capacity = 100 * instances ** 0.9 * (1 + 0.1 * batch);
  const throughput = Math.min(capacity, level * 80);
  return withServer(measured(level, throughput, (level * 1000) / throughput + delayMs), config);
}
