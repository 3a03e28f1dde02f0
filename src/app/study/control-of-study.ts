import { createArtifacts } from '../../adapter/triton/variants/artifacts.ts';
import { cacheDirectory } from '../../adapter/triton/variants/cache.ts';
import { realClock } from '../../base/clock.ts';
import type { StudySpec } from '../../spec/study-spec.ts';
import { foldStudy } from '../../study/records/fold.ts';
import type { Control } from '../../tuner/adapter.ts';
import type { TunePlan } from '../../tuner/run.ts';
import type { OpenServer } from '../server/open-server.ts';
import { controlOver, originalsOf } from './control-over.ts';

/** The control over what a study on a Triton changes; `onBuild` is told when a variant is built, with the log of that. */
export function controlOfStudy(
  { server, limits, measurement }: StudySpec,
  plan: TunePlan,
  { client }: Pick<OpenServer, 'client'>,
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
