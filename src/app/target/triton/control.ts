import { randomUUID } from 'node:crypto';
import { rm } from 'node:fs/promises';
import { hostname } from 'node:os';
import { resolve } from 'node:path';
import { type ControlOptions, createControl } from '#adapter/triton/control.ts';
import { type ControlledServer, controlOfAll } from '#adapter/triton/control-of-all.ts';
import type { KeptEngines, OriginalState } from '#adapter/triton/control-options.ts';
import { createArtifacts } from '#adapter/variants/artifacts.ts';
import { cacheDirectory } from '#adapter/variants/cache.ts';
import { realClock } from '#base/clock.ts';
import { MS_PER_S } from '#base/units.ts';
import type { StudySpec } from '#spec/study-spec.ts';
import { foldStudy } from '#study/records/fold.ts';
import type { TritonClient } from '#triton/types.ts';
import type { Control } from '#tuner/adapter.ts';
import type { OpenServer, Replicas } from '../../server/open-server.ts';
import type { DescribedTarget, OpenStudy } from '../../study/study.ts';
import { toLoadTimeoutMs } from '../time-limits.ts';
import { listOriginals } from './originals.ts';

/**
 * A loaded model is ready within this time, or within the time allowed for a load if that is
 * shorter.
 */
const SETTLE_TIMEOUT_MS = 60_000;

type ControlLimits = Partial<Pick<StudySpec['limits'], 'loadTimeoutSeconds' | 'maxOutageSeconds'>> &
  Partial<Pick<StudySpec['measurement'], 'allowForeignTraffic'>> &
  Pick<ControlOptions, 'isNewStudy' | 'mayBeLoading' | 'artifacts' | 'mark' | 'engines'>;

/** Returns control over models whose earlier state is known, on each of the servers. */
export function controlOver(
  replicas: Replicas,
  originals: readonly OriginalState[],
  restore: 'config' | 'reload',
  {
    loadTimeoutSeconds,
    maxOutageSeconds,
    allowForeignTraffic = false,
    isNewStudy = false,
    mayBeLoading = false,
    artifacts,
    mark,
    engines,
  }: ControlLimits = {},
): Control {
  const longestLoadMs = toLoadTimeoutMs({ loadTimeoutSeconds });
  const options: ControlOptions = {
    clock: realClock,
    restore,
    loadTimeoutMs: longestLoadMs,
    settleTimeoutMs: Math.min(SETTLE_TIMEOUT_MS, longestLoadMs),
    ...(maxOutageSeconds !== undefined && { maxOutageMs: maxOutageSeconds * MS_PER_S }),
    isNewStudy,
    // Other clients that use a model must not find it gone.
    mayUnload: !allowForeignTraffic,
    mayBeLoading,
    ...(artifacts && { artifacts }),
    ...(mark && { mark }),
    ...(engines && { engines }),
  };
  const [first, ...others] = replicas;
  const controlled = (client: TritonClient): ControlledServer => ({
    url: client.url,
    control: createControl(client, originals, options),
  });
  return controlOfAll([controlled(first), ...others.map(controlled)]);
}

/** The machine of a server that was launched in a container, or emulated, ends with it. */
const engineRemoval = (launch: string | undefined): Pick<KeptEngines, 'remove'> => {
  if (launch === undefined) return {};
  const isHere = launch === 'local';
  return { remove: async (directory) => (isHere ? rm(directory, { recursive: true, force: true }) : undefined) };
};

/**
 * Returns control over what a study on a Triton changes. `onBuild` is called with the log of each
 * variant that is built.
 */
export function controlOfStudy(
  { spec, directory, earlier }: Pick<OpenStudy, 'spec' | 'directory' | 'earlier'>,
  target: DescribedTarget,
  { replicas }: Pick<OpenServer, 'replicas'>,
  onBuild?: (variant: string, log: string) => void,
): Control {
  const { model, server, limits, measurement } = spec;
  const isNewStudy = earlier.length === 0;
  return controlOver(replicas, listOriginals({ model, ...target }), server.restore, {
    ...limits,
    allowForeignTraffic: measurement.allowForeignTraffic,
    isNewStudy,
    mayBeLoading: !isNewStudy && foldStudy(earlier).restored?.verified !== true,
    // A server that was started for the run ends with it.
    ...(server.launch === undefined && { mark: { host: hostname(), directory: resolve(directory) } }),
    engines: { secret: randomUUID(), ...engineRemoval(server.launch) },
    artifacts: createArtifacts({ clock: realClock, cache: cacheDirectory(), ...(onBuild && { onBuild }) }),
  });
}
