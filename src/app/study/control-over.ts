import { type ControlOptions, createControl } from '../../adapter/triton/control.ts';
import type { ControlClient, OriginalState } from '../../adapter/triton/model/control-options.ts';
import { createArtifacts } from '../../adapter/triton/variants/artifacts.ts';
import { cacheDirectory } from '../../adapter/triton/variants/cache.ts';
import { realClock } from '../../base/clock.ts';
import { MS_PER_S } from '../../base/units.ts';
import { modelConfigOf, modelConfigsOf, otherConfigsOf } from '../../space/model-configs.ts';
import type { StudySpec } from '../../spec/study-spec.ts';
import { foldStudy } from '../../study/records/fold.ts';
import type { StudyStarted } from '../../study/records/records.ts';
import type { Control } from '../../tuner/adapter.ts';
import type { TunePlan } from '../../tuner/run.ts';

const LOAD_TIMEOUT_S = 600;
/** A model that is loaded is ready within that, or within the time that a load may take if that is less. */
const SETTLE_TIMEOUT_MS = 60_000;

/** The part of a journal's first record about the models that the study changes. */
export type Originals = Pick<StudyStarted, 'model' | 'original' | 'wasLoaded' | 'unloadedOthers' | 'topology'>;

/** Returns the models of a study as they were before it: its own first, or those that are tuned together and then the ensembles over them. */
export function originalsOf(started: Originals): readonly OriginalState[] {
  const { model, original, wasLoaded, unloadedOthers = [], topology } = started;
  const own = topology ? modelConfigsOf(original) : { [model]: modelConfigOf(original) };
  return Object.entries({ ...own, ...otherConfigsOf(original) }).map(([name, config]) => ({
    ...{ model: name, config },
    wasLoaded: name === model ? wasLoaded : !unloadedOthers.includes(name),
  }));
}

type ControlLimits = Partial<Pick<StudySpec['limits'], 'loadTimeoutSeconds' | 'maxOutageSeconds'>> &
  Partial<Pick<StudySpec['measurement'], 'allowForeignTraffic'>> &
  Pick<ControlOptions, 'isNewStudy' | 'mayBeLoading' | 'artifacts'>;

/** Control over models of which it is known how they were before. */
export function controlOver(
  client: ControlClient,
  originals: readonly OriginalState[],
  restore: 'config' | 'reload',
  {
    loadTimeoutSeconds = LOAD_TIMEOUT_S,
    maxOutageSeconds,
    allowForeignTraffic = false,
    isNewStudy = false,
    mayBeLoading = false,
    artifacts,
  }: ControlLimits = {},
): Control {
  return createControl(client, originals, {
    clock: realClock,
    restore,
    loadTimeoutMs: loadTimeoutSeconds * MS_PER_S,
    settleTimeoutMs: Math.min(SETTLE_TIMEOUT_MS, loadTimeoutSeconds * MS_PER_S),
    ...(maxOutageSeconds !== undefined && { maxOutageMs: maxOutageSeconds * MS_PER_S }),
    isNewStudy,
    // Others that use a model are not to find it gone.
    mayUnload: !allowForeignTraffic,
    mayBeLoading,
    ...(artifacts && { artifacts }),
  });
}

/** The control over what a study on a Triton changes; `onBuild` is called when a variant is built, with its log. */
export function controlOfStudy(
  { server, limits, measurement }: StudySpec,
  plan: TunePlan,
  { client }: { readonly client: ControlClient },
  onBuild?: (variant: string, log: string) => void,
): Control {
  const isNewStudy = plan.earlier.length === 0;
  return controlOver(client, originalsOf(plan.study), server.restore, {
    ...limits,
    allowForeignTraffic: measurement.allowForeignTraffic,
    isNewStudy,
    mayBeLoading: !isNewStudy && foldStudy(plan.earlier).restored?.verified !== true,
    artifacts: createArtifacts({ clock: realClock, cache: cacheDirectory(), ...(onBuild && { onBuild }) }),
  });
}
