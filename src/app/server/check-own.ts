import type { ControlClient } from '../../adapter/triton/control.ts';
import { TrituneError } from '../../base/errors.ts';
import { modelConfigOf, modelConfigsOf } from '../../space/model-configs.ts';
import type { Candidate } from '../../space/types.ts';
import type { StudyRecord, StudyStarted } from '../../study/records/records.ts';
import { compareConfigs } from '../../triton/config/comparison.ts';
import type { OpenStudy } from '../study/open-study.ts';

/** `checkOwn` for a study that is resumed, unless its server is one that was started for it. */
export async function checkResumed(
  { spec, earlier, started }: Pick<OpenStudy, 'spec' | 'earlier' | 'started'>,
  client: ControlClient,
): Promise<void> {
  if (started === null || spec.server.launch !== undefined) return;
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
  { model, original }: Pick<StudyStarted, 'model' | 'original'>,
  remedy: string,
): Promise<void> {
  const entries = (await client.index()).filter((entry) => entry.name === model);
  if (!entries.some((entry) => entry.state === 'READY')) return;
  const current = await client.modelConfig(model);
  // A candidate that breaks a rule of the space was never built, and has no config.
  const sent = records
    .flatMap((record) => (record.type === 'trial-started' ? [record.candidate] : []))
    .filter(hasConfig);
  // What only the server's config has are its own defaults.
  const isCurrent = (candidate: Candidate): boolean =>
    compareConfigs(modelConfigOf(candidate), current).every((difference) => difference.before === undefined);
  if ([original, ...sent].some(isCurrent)) return;
  throw new TrituneError(
    'RESTORE_FAILED',
    `'${model}' has a config that this run did not set: somebody has changed it since`,
    remedy,
  );
}

const hasConfig = (candidate: Candidate): boolean => Object.keys(modelConfigsOf(candidate)).length > 0;
