import type { ControlClient } from '#adapter/triton/control-options.ts';
import { TrituneError } from '#base/errors.ts';
import { toModelConfigs } from '#space/model-configs.ts';
import type { StudyRecord } from '#study/records/records.ts';
import { compareConfigs } from '#triton/config/comparison.ts';
import type { ModelConfig } from '#triton/config/model-config.ts';
import type { OpenStudy } from '../study/study.ts';
import { listOriginals, type Originals } from '../target/triton/originals.ts';

/** Does `checkOwn` for a resumed study, unless its server was started for it. */
export async function checkResumed(
  { spec, earlier, started }: Pick<OpenStudy, 'spec' | 'earlier' | 'started'>,
  client: ControlClient,
): Promise<void> {
  if (started === null || spec.server.launch !== undefined) return;
  const remedy = 'start a new study, or put the earlier config back with tritune restore --force DIRECTORY';
  await checkOwn(client, earlier, started, remedy);
}

/**
 * Call before restoring a study's models or tuning them further. `remedy`: advice for the error.
 * `wasSent`: what is known of a model's config beside the records. Errors: RESTORE_FAILED if a
 * model has a config that the study neither found nor sent: another client has changed it since,
 * and no longer wants the original.
 */
export async function checkOwn(
  client: ControlClient,
  records: readonly StudyRecord[],
  started: Originals,
  remedy: string,
  wasSent: (model: string) => Promise<boolean> = () => Promise.resolve(false),
): Promise<void> {
  const index = await client.index();
  // A candidate that breaks a rule of the space was never built, and has no config.
  const sent = records.flatMap((record) =>
    record.type === 'trial-started' ? Object.entries(toModelConfigs(record.candidate)) : [],
  );
  for (const { model, config: original } of listOriginals(started)) {
    if (!index.some(({ name, state }) => name === model && state === 'READY')) continue;
    const current = await client.modelConfig(model);
    // Fields that only the server's config has are the server's own defaults.
    const isCurrent = (config: ModelConfig): boolean =>
      compareConfigs(config, current).every((difference) => difference.before === undefined);
    const configs = sent.flatMap(([name, config]) => (name === model || name === '' ? [config] : []));
    if ([original, ...configs].some(isCurrent) || (await wasSent(model))) continue;
    throw new TrituneError('RESTORE_FAILED', `somebody has changed the config of '${model}' since this run`, remedy);
  }
}
