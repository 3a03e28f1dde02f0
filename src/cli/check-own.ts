import { TrituneError } from '../base/errors.ts';
import type { StudyRecord, StudyStarted } from '../study/records.ts';
import { compareConfigs } from '../triton/config-comparison.ts';
import type { ModelConfig } from '../triton/model-config.ts';
import type { ControlClient } from '../tuner/control.ts';
import type { TuneRequest } from './tune-request.ts';

/** `checkOwn` for a study that is resumed, unless its server is one that was started for it. */
export async function checkResumed(
  { options, earlier, started }: Pick<TuneRequest, 'options' | 'earlier' | 'started'>,
  client: ControlClient,
): Promise<void> {
  if (started === null || options.launch !== undefined) return;
  const remedy = 'tune it anew as it is now, or put the config from before back first: tritune restore --force DIR';
  await checkOwn(client, earlier, started, remedy);
}

/**
 * Before a study's model is put back, or tuned on. `remedy`: what to do about it. Errors: RESTORE_FAILED when the model now
 * has a config that the study neither found nor sent: somebody has changed it since, and the original is no longer what
 * they want.
 */
export async function checkOwn(
  client: ControlClient,
  records: readonly StudyRecord[],
  { model, originalConfig }: Pick<StudyStarted, 'model' | 'originalConfig'>,
  remedy: string,
): Promise<void> {
  const entries = (await client.index()).filter((entry) => entry.name === model);
  if (!entries.some((entry) => entry.state === 'READY')) return;
  const current = await client.modelConfig(model);
  const sent = records.flatMap((record) => (record.type === 'trial-started' ? [record.candidate.config] : []));
  // What only the server's config has are its own defaults.
  const isCurrent = (config: ModelConfig): boolean =>
    compareConfigs(config, current).every((difference) => difference.before === undefined);
  if ([originalConfig, ...sent].some(isCurrent)) return;
  throw new TrituneError(
    'RESTORE_FAILED',
    `'${model}' has a config that this run did not set: somebody has changed it since`,
    remedy,
  );
}
