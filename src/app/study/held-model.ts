import { holdModels } from '../../adapter/triton/hold-model.ts';
import { isTrituneError } from '../../base/errors.ts';
import type { Unlock } from '../../study/records/journal-lock.ts';
import { afterRestoring } from '../restore/restore-first.ts';
import { checkResumed } from '../server/check-own.ts';
import { countClients, noteOwnRequests } from '../server/client-requests.ts';
import { checkLeftovers } from '../server/leftover.ts';
import type { OpenServer } from '../server/open-server.ts';
import { checkParts, checkProtected } from '../server/protect.ts';
import { warnWithoutKey } from '../trust/admit-run.ts';
import type { OpenStudy } from './open-study.ts';
import { type FindCalls, leaveAsTheyWere, type NamedModels, readModels, type StudyModels } from './study-models.ts';

/** The locked models of a study. No other tritune on this machine changes them until they are released. */
export interface HeldModels {
  readonly models: StudyModels;
  /** Returns the preparation's value; if it fails, restores the models first. Errors: the preparation's own. */
  prepared<T>(preparation: Promise<T>): Promise<T>;
  /** Does the work and releases the models; if they could not be restored, leaves them to the next run's `checkLeftovers`. */
  during<T>(work: () => Promise<T>): Promise<T>;
  letGo: Unlock;
}

type Study = Pick<OpenStudy, 'spec' | 'earlier' | 'started' | 'directory'>;

/**
 * Locks the models of a study and reads their state. Errors: MODEL_LOCKED, USAGE for a protected model, MODEL_LEFT_CHANGED for a model that another
 * run left changed, RESTORE_FAILED for a model that another client has changed since the study that is resumed, those of `readModels`.
 */
export const takeModels = (
  study: Study,
  named: NamedModels,
  opened: OpenServer,
  tell: (line: string) => void,
  findCalls?: FindCalls,
): Promise<HeldModels> => {
  const { launch } = study.spec.server;
  // A server that was started for the run needs no restoring.
  if (study.started === null && launch === undefined) warnWithoutKey(tell);
  return afterRestoring(study.spec.server, tell, () => takeAll(study, named, opened, findCalls));
};

async function takeAll(
  study: Study,
  named: NamedModels,
  opened: OpenServer,
  findCalls?: FindCalls,
): Promise<HeldModels> {
  const { client, server } = opened;
  const check = async (models: readonly string[]): Promise<void> => {
    // The study that is resumed may itself have left them changed.
    if (study.started === null) await checkLeftovers(opened, models, study.directory);
    for (const name of models) await checkProtected(client, name, study.spec.server);
  };
  await check(named.names);
  const held = [await holdModels(named.names, server, study.directory)];
  const letGo: Unlock = (how) => {
    for (const each of held) each(how);
  };
  try {
    await checkResumed(study, client);
    const models = await readModels(client, named, study.started, findCalls);
    const prepared = <T>(preparation: Promise<T>): Promise<T> =>
      preparation.catch(async (error: unknown) => {
        await leaveAsTheyWere(client, models);
        throw error;
      });
    // The parts of an ensemble are known only now.
    const parts = models.names.filter((name) => !named.names.includes(name));
    await prepared(check(parts));
    held.push(await prepared(holdModels(parts, server, study.directory)));
    const counted = await countClients(opened, models.names);
    const noteSent = await noteOwnRequests(opened, models.names);
    const during: HeldModels['during'] = (work) => thenLetGo(() => work().finally(noteSent), letGo);
    return { models: { ...models, counted }, prepared, during, letGo };
  } catch (error) {
    letGo();
    throw error;
  }
}

async function thenLetGo<T>(work: () => Promise<T>, letGo: Unlock): Promise<T> {
  try {
    const done = await work();
    letGo();
    return done;
  } catch (error) {
    letGo(isTrituneError(error, 'RESTORE_FAILED') ? 'leave' : undefined);
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
