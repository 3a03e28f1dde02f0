import { holdModels } from '../../adapter/triton/hold-model.ts';
import { checkResumed } from '../server/check-own.ts';
import type { OpenServer } from '../server/open-server.ts';
import { checkParts, checkProtected } from '../server/protect.ts';
import type { OpenStudy } from './open-study.ts';
import { type FindCalls, leaveAsTheyWere, type NamedModels, readModels, type StudyModels } from './study-models.ts';

/** The models of a study, which no other tritune on this machine changes until they are let go of. */
export interface HeldModels {
  readonly models: StudyModels;
  /** Returns the preparation's value; if it fails, the models are put back first. Errors: the preparation's own. */
  prepared<T>(preparation: Promise<T>): Promise<T>;
  letGo(): void;
}

/**
 * Takes the models of a study, and reads how they are. Errors: MODEL_LOCKED, USAGE for a protected model, RESTORE_FAILED
 * for one that another client has changed since the study that is resumed, those of `readModels`.
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
    // What an ensemble is made of is known only now.
    const parts = models.names.filter((name) => !named.names.includes(name));
    held.push(await prepared(holdModels(parts, server)));
    for (const name of parts) await prepared(checkProtected(client, name, study.spec.server));
    return { models, prepared, letGo };
  } catch (error) {
    letGo();
    throw error;
  }
}

/** `checkParts` for all models of a study. Errors: USAGE. */
export async function checkAllParts(
  { client }: Pick<OpenServer, 'client'>,
  { own, others, names }: StudyModels,
  { server }: OpenStudy['spec'],
): Promise<void> {
  for (const [name, { config }] of [[names[0], own] as const, ...others])
    await checkParts(client, name, config, server);
}
