import { holdModels } from '../../adapter/triton/hold-model.ts';
import { checkResumed } from '../server/check-own.ts';
import type { OpenServer } from '../server/open-server.ts';
import { checkParts, checkProtected } from '../server/protect.ts';
import type { OpenStudy } from './open-study.ts';
import { type FindCalls, leaveAsTheyWere, type NamedModels, readModels, type StudyModels } from './study-models.ts';

/** The locked models of a study. No other tritune on this machine changes them until they are released. */
export interface HeldModels {
  readonly models: StudyModels;
  /** Returns the preparation's value; if it fails, restores the models first. Errors: the preparation's own. */
  prepared<T>(preparation: Promise<T>): Promise<T>;
  letGo(): void;
}

/**
 * Locks the models of a study and reads their state. Errors: MODEL_LOCKED, USAGE for a protected model, RESTORE_FAILED for a model that another
 * client has changed since the study that is resumed, those of `readModels`.
 */
export async function takeModels(
  study: Pick<OpenStudy, 'spec' | 'earlier' | 'started'>,
  named: NamedModels,
  { client, server }: OpenServer,
  findCalls?: FindCalls,
): Promise<HeldModels> {
  const held = [await holdModels(named.names, server)];
  const letGo = (): void => {
    for (const each of held) each();
  };
  try {
    for (const name of named.names) await checkProtected(client, name, study.spec.server);
    await checkResumed(study, client);
    const models = await readModels(client, named, study.started, findCalls);
    const prepared = <T>(preparation: Promise<T>): Promise<T> =>
      preparation.catch(async (error: unknown) => {
        await leaveAsTheyWere(client, models);
        throw error;
      });
    // The parts of an ensemble are known only now.
    const parts = models.names.filter((name) => !named.names.includes(name));
    held.push(await prepared(holdModels(parts, server)));
    for (const name of parts) await prepared(checkProtected(client, name, study.spec.server));
    return { models, prepared, letGo };
  } catch (error) {
    letGo();
    throw error;
  }
}

/** Calls `checkParts` for all models of a study. Errors: USAGE. */
export async function checkAllParts(
  { client }: Pick<OpenServer, 'client'>,
  { own, others, names }: StudyModels,
  { server }: OpenStudy['spec'],
): Promise<void> {
  for (const [name, { config }] of [[names[0], own] as const, ...others])
    await checkParts(client, name, config, server);
}
