import type { AdapterDefinition, AdapterSpace, MeasuringRule, OpenedAdapter } from '#adapter/definition.ts';
import { combinationCount, viewSettings } from '#adapter/settings/space-view.ts';
import { holdModels } from '#adapter/triton/hold-model.ts';
import { MS_PER_S } from '#base/units.ts';
import { toRequestKind } from '#spec/request-kind.ts';
import type { ServerAdapter } from '#tuner/adapter.ts';
import { readHeaders } from '../server/headers.ts';
import { nothingSeen } from '../study/expected-duration.ts';
import { chooseLevels } from '../study/goal.ts';
import type { DescribedTarget, StudyOfTarget, Target, TargetKind } from '../study/study.ts';
import { requestsOfKind } from './request-kinds.ts';
import { requestProfile } from './request-profile.ts';

/**
 * A server that an adapter opens: one that a command starts for each candidate, or one with a
 * user's own settings.
 */
export const byAdapter = (definition: AdapterDefinition): TargetKind => ({
  name: definition.name,
  open: (study) => openByAdapter(definition, study),
});

async function openByAdapter(definition: AdapterDefinition, study: StudyOfTarget): Promise<Target> {
  const { spec, started, directory } = study;
  const opened = await definition.open(toRule(study), started?.original, directory);
  const { adapter, isOwn } = opened;
  try {
    const letGo = isOwn ? () => undefined : await holdModels([spec.model], adapter.identity);
    return {
      ...describeAdapter(opened, started?.original),
      adapter,
      look: () => Promise.resolve(nothingSeen),
      failure: () => null,
      close: async () => {
        letGo();
        await opened.close();
      },
    };
  } catch (error) {
    await opened.close();
    throw error;
  }
}

/** Returns how a study measures a server that an adapter opens. */
function toRule({ spec, workloads }: Pick<StudyOfTarget, 'spec' | 'workloads'>): MeasuringRule {
  const levels = chooseLevels(spec);
  const kind = toRequestKind(spec);
  const { requestTimeoutSeconds } = spec.traffic;
  return {
    percentile: spec.goal.percentile,
    precision: spec.measurement.precisionPercent / 100,
    ...(levels.mode === 'concurrency' && { maxInFlight: levels.high }),
    ...(requestTimeoutSeconds !== undefined && { requestTimeoutMs: requestTimeoutSeconds * MS_PER_S }),
    ...(kind !== 'tensors' && {
      profileAt: async (address) => {
        const serving = { address, headers: readHeaders(spec.server) };
        return requestProfile(spec, () => serving, await requestsOfKind[kind](spec, workloads));
      },
    }),
  };
}

/** Returns what a study tunes on an opened adapter. `original`: that of a resumed study. */
const describeAdapter = (
  { adapter, settings, space = readSpace(settings, adapter) }: OpenedAdapter,
  original = adapter.original,
): DescribedTarget => ({ name: adapter.name, identity: adapter.identity, original, space, wasLoaded: true });

const readSpace = (settings: OpenedAdapter['settings'], adapter: ServerAdapter): AdapterSpace => ({
  definition: { name: adapter.name, settings },
  size: combinationCount(settings),
  places: 1,
  view: (narrowing) => viewSettings(settings, adapter, narrowing),
});
