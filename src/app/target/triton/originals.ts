import type { OriginalState } from '#adapter/triton/control-options.ts';
import { toModelConfig, toModelConfigs, toOtherConfigs } from '#space/model-configs.ts';
import type { StudyStarted } from '#study/records/records.ts';

/** The part of a journal's first record about the models that the study changes. */
export type Originals = Pick<StudyStarted, 'model' | 'original' | 'wasLoaded' | 'unloadedOthers' | 'topology'>;

/**
 * Returns the models of a study as they were before it: its own first, or those tuned together,
 * followed by the ensembles over them.
 */
export function listOriginals(started: Originals): readonly OriginalState[] {
  const { model, original, wasLoaded, unloadedOthers = [], topology } = started;
  const configs = topology ? toModelConfigs(original) : { [model]: toModelConfig(original) };
  return Object.entries({ ...configs, ...toOtherConfigs(original) }).map(([name, config]) => ({
    model: name,
    config,
    wasLoaded: name === model ? wasLoaded : !unloadedOthers.includes(name),
  }));
}
