import type { AdapterDefinition, OpenedAdapter } from '../../adapter/definition.ts';
import { combinationCount, viewSettings } from '../../adapter/settings/space-view.ts';
import { whileHeld } from '../../adapter/triton/hold-model.ts';
import { realClock } from '../../base/clock.ts';
import { levelsOf } from './goal.ts';
import type { OpenStudy } from './open-study.ts';
import { type PlannedRun, planRun } from './plan-study.ts';
import { tuneAndWrite } from './tune-and-write.ts';
import type { StudyOutcome, StudyWatch } from './watch.ts';

/** One study on a server that an adapter opens. Returns how it ended. Errors: MODEL_LOCKED, SERVER_*, what ended the study. */
export async function tuneByAdapter(
  study: OpenStudy,
  definition: AdapterDefinition,
  watch: StudyWatch,
  signal: AbortSignal,
): Promise<StudyOutcome> {
  const { goal, measurement, model } = study.spec;
  const levels = levelsOf(study.spec);
  const rule = {
    percentile: goal.percentile,
    precision: measurement.precisionPercent / 100,
    ...(levels.mode === 'concurrency' && { maxInFlight: levels.high }),
  };
  const opened = await definition.open(rule, study.started?.original);
  const { adapter } = opened;
  try {
    return await whileHeld([model], adapter.identity, () => {
      const { plan, ...samplers } = planOf(study, opened);
      const { journal } = study;
      const parts = { adapter, journal, clock: realClock, ...samplers };
      const documentsOf = adapter.documents;
      return tuneAndWrite(study, plan, parts, watch, signal, () => Promise.resolve(), documentsOf);
    });
  } finally {
    await opened.close();
  }
}

function planOf(
  study: OpenStudy,
  { adapter, settings }: OpenedAdapter,
): Pick<PlannedRun, 'plan' | 'sampler' | 'samplerFor'> {
  const { started } = study;
  const { plan, sampler, samplerFor, usual } = planRun(study, {
    ...{ adapter: adapter.name, server: adapter.identity },
    original: started?.original ?? adapter.original,
    wasLoaded: true,
    space: { name: adapter.name, settings },
    size: combinationCount(settings),
    viewSpace: (narrowing) => viewSettings(settings, adapter, narrowing),
  });
  // No request was sent, and no load seen, before the study.
  const nothing = { requestMs: null, loadSeconds: null };
  return { plan: { ...plan, ...(usual && { usual: usual(nothing) }) }, sampler, samplerFor };
}
