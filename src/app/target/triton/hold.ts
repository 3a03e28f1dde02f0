import { holdModels } from '#adapter/triton/hold-model.ts';
import type { Unlock } from '#study/records/journal-lock.ts';
import { warnWithoutKey } from '../../admit-run.ts';
import { afterRestoring } from '../../restore-first.ts';
import { checkResumed } from '../../server/check-own.ts';
import { countClients, noteOwnRequests } from '../../server/client-requests.ts';
import { checkLeftovers } from '../../server/leftover.ts';
import type { OpenServer } from '../../server/open-server.ts';
import { checkParts, checkProtected } from '../../server/protect.ts';
import type { Left, OpenStudy } from '../../study/study.ts';
import { type FindCalls, leaveAsTheyWere, type NamedModels, readModels, type TritonModels } from './models.ts';

/**
 * The locked models of a study. No other tritune on this machine changes them until they are
 * released.
 */
export interface HeldModels {
  readonly models: TritonModels;
  /**
   * Releases the models. Untouched ones are unloaded if they were; changed ones are left to the
   * next run's `checkLeftovers`. Errors: RESTORE_FAILED.
   */
  release(left: Left): Promise<void>;
}

type Study = Pick<OpenStudy, 'spec' | 'earlier' | 'started' | 'directory'>;

/**
 * Locks the models of a study and reads their state. Errors: MODEL_LOCKED, USAGE for a protected
 * model, MODEL_LEFT_CHANGED for a model that another run left changed, RESTORE_FAILED for a model
 * that another client has changed since the study that is resumed, those of `readModels`.
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
    for (const replica of opened.replicas) await checkResumed(study, replica);
    const models = await readModels(client, named, study.started, findCalls);
    // The parts of an ensemble are known only now.
    const parts = models.names.filter((name) => !named.names.includes(name));
    try {
      await check(parts);
      held.push(await holdModels(parts, server, study.directory));
    } catch (error) {
      await leaveAsTheyWere(client, models);
      throw error;
    }
    const counted = await countClients(opened, models.names);
    const noteSent = await noteOwnRequests(opened, models.names);
    return {
      models: { ...models, counted },
      release: async (left) => {
        try {
          if (left === 'untouched') await leaveAsTheyWere(client, models);
          await noteSent();
          letGo(left === 'changed' ? 'leave' : undefined);
        } catch (error) {
          letGo('leave');
          throw error;
        }
      },
    };
  } catch (error) {
    letGo();
    throw error;
  }
}

/** Calls `checkParts` for all models of a study. Errors: USAGE. */
export async function checkAllParts(
  { client }: Pick<OpenServer, 'client'>,
  { originalModel: model, others, names }: TritonModels,
  { server }: OpenStudy['spec'],
): Promise<void> {
  for (const [name, { config }] of [[names[0], model] as const, ...others])
    await checkParts(client, name, config, server);
}
