import type { AdapterDefinition, AdapterSpace, MeasuringRule, OpenedAdapter } from '../../adapter/definition.ts';
import { combinationCount, viewSettings } from '../../adapter/settings/space-view.ts';
import { whileHeld } from '../../adapter/triton/hold-model.ts';
import { realClock } from '../../base/clock.ts';
import { MS_PER_S } from '../../base/units.ts';
import { requestKindOf } from '../../spec/request-kind.ts';
import type { ServerAdapter } from '../../tuner/adapter.ts';
import { headersOf } from '../server/headers.ts';
import { requestsOfKind } from './engine/request-kinds.ts';
import { requestProfile } from './engine/request-profile.ts';
import { levelsOf } from './goal.ts';
import type { OpenStudy } from './open-study.ts';
import { type PlannedFrom, type PlannedRun, planRun } from './plan-study.ts';
import { tuneAndWrite } from './tune-and-write.ts';
import type { StudyOutcome, StudyWatch } from './watch.ts';

/** Runs one study on a server that an adapter opens. Returns how it ended. Errors: MODEL_LOCKED, SERVER_*, what ended the study. */
export async function tuneByAdapter(
  study: OpenStudy,
  definition: AdapterDefinition,
  watch: StudyWatch,
  signal: AbortSignal,
): Promise<StudyOutcome> {
  const { spec, started, directory } = study;
  const opened = await definition.open(ruleOf(study), started?.original, directory);
  const { adapter, isOwn } = opened;
  const held = (work: () => Promise<StudyOutcome>): Promise<StudyOutcome> =>
    isOwn ? work() : whileHeld([spec.model], adapter.identity, work);
  try {
    return await held(() => {
      const { plan, sampler, samplerFor } = planByAdapter(study, opened);
      const { journal } = study;
      const parts = { adapter, journal, clock: realClock, sampler, samplerFor };
      const documentsOf = adapter.documents;
      return tuneAndWrite(study, plan, parts, watch, signal, () => Promise.resolve(), documentsOf);
    });
  } finally {
    await opened.close();
  }
}

/** Returns how a study measures a server that an adapter opens. */
export function ruleOf({ spec, workloads }: Pick<OpenStudy, 'spec' | 'workloads'>): MeasuringRule {
  const levels = levelsOf(spec);
  const kind = requestKindOf(spec);
  const { requestTimeoutSeconds } = spec.traffic;
  return {
    percentile: spec.goal.percentile,
    precision: spec.measurement.precisionPercent / 100,
    ...(levels.mode === 'concurrency' && { maxInFlight: levels.high }),
    ...(requestTimeoutSeconds !== undefined && { requestTimeoutMs: requestTimeoutSeconds * MS_PER_S }),
    ...(kind !== 'tensors' && {
      profileAt: async (address) => {
        const serving = { address, headers: headersOf(spec.server) };
        return requestProfile(spec, () => serving, await requestsOfKind[kind](spec, workloads));
      },
    }),
  };
}

/** Returns the plan of a study on an opened adapter. Errors: USAGE, INPUT_INVALID. */
export function planByAdapter(
  study: PlannedFrom,
  { adapter, settings, space = spaceOf(settings, adapter) }: OpenedAdapter,
): PlannedRun {
  const { started } = study;
  const { plan, usual, ...others } = planRun(study, {
    ...{ adapter: adapter.name, server: adapter.identity },
    original: started?.original ?? adapter.original,
    wasLoaded: true,
    space: space.definition,
    size: space.size,
    places: space.places,
    viewSpace: space.view,
  });
  // Before the study, no request was sent and no load was seen.
  const nothing = { requestMs: null, loadSeconds: null };
  return { ...others, plan: { ...plan, ...(usual && { usual: usual(nothing) }) } };
}

const spaceOf = (settings: OpenedAdapter['settings'], adapter: ServerAdapter): AdapterSpace => ({
  definition: { name: adapter.name, settings },
  size: combinationCount(settings),
  places: 1,
  view: (narrowing) => viewSettings(settings, adapter, narrowing),
});
