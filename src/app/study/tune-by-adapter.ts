import type { AdapterDefinition, AdapterSpace, OpenedAdapter } from '../../adapter/definition.ts';
import { combinationCount, viewSettings } from '../../adapter/settings/space-view.ts';
import { whileHeld } from '../../adapter/triton/hold-model.ts';
import { realClock } from '../../base/clock.ts';
import type { ServerAdapter } from '../../tuner/adapter.ts';
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
  const opened = await definition.open(rule, study.started?.original, study.directory);
  const { adapter, isOwn } = opened;
  const held = (work: () => Promise<StudyOutcome>): Promise<StudyOutcome> =>
    isOwn ? work() : whileHeld([model], adapter.identity, work);
  try {
    return await held(() => {
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
  { adapter, settings, space = spaceOf(settings, adapter) }: OpenedAdapter,
): Pick<PlannedRun, 'plan' | 'sampler' | 'samplerFor'> {
  const { started } = study;
  const { plan, sampler, samplerFor, usual } = planRun(study, {
    ...{ adapter: adapter.name, server: adapter.identity },
    original: started?.original ?? adapter.original,
    wasLoaded: true,
    space: space.definition,
    size: space.size,
    places: space.places,
    viewSpace: space.view,
  });
  // No request was sent, and no load seen, before the study.
  const nothing = { requestMs: null, loadSeconds: null };
  return { plan: { ...plan, ...(usual && { usual: usual(nothing) }) }, sampler, samplerFor };
}

const spaceOf = (settings: OpenedAdapter['settings'], adapter: ServerAdapter): AdapterSpace => ({
  definition: { name: adapter.name, settings },
  size: combinationCount(settings),
  places: 1,
  view: (narrowing) => viewSettings(settings, adapter, narrowing),
});
