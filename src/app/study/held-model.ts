import { holdModel } from '../../adapter/triton/hold-model.ts';
import { originalOf } from '../../space/model-configs.ts';
import type { TritonClient } from '../../triton/types.ts';
import { checkResumed } from '../server/check-own.ts';
import { type OpenServer, type OriginalModel, readOriginal } from '../server/open-server.ts';
import { checkProtected } from '../server/protect.ts';
import { controlOver } from './assemble-parts.ts';
import type { OpenStudy } from './open-study.ts';

/** A model that no other tritune on this machine changes until it is let go of. */
export interface HeldModel {
  readonly original: OriginalModel;
  /** The preparation's value; where it fails the model is first left as it was. Errors: the preparation's own. */
  prepared<T>(preparation: Promise<T>): Promise<T>;
  letGo(): void;
}

/**
 * Takes the model of a study, and reads how it is. Errors: MODEL_LOCKED, USAGE for a protected model, RESTORE_FAILED for
 * one that somebody has changed since the study that is resumed, those of `readOriginal`.
 */
export async function takeModel(
  study: Pick<OpenStudy, 'spec' | 'earlier' | 'started'>,
  { client, server }: OpenServer,
): Promise<HeldModel> {
  const { model } = study.spec;
  const letGo = await holdModel(model, server);
  try {
    await checkProtected(client, model, study.spec.server);
    await checkResumed(study, client);
    const original = await readOriginal(client, model);
    const prepared = <T>(preparation: Promise<T>): Promise<T> =>
      preparation.catch(async (error: unknown) => {
        await leaveAsItWas(client, model, original);
        throw error;
      });
    return { original, prepared, letGo };
  } catch (error) {
    letGo();
    throw error;
  }
}

/** Unloads a model that only was loaded to look at it. Errors: RESTORE_FAILED. */
export async function leaveAsItWas(client: TritonClient, model: string, original: OriginalModel): Promise<void> {
  if (!original.wasLoaded) {
    await controlOver(client, model, { original: originalOf(original.config), wasLoaded: false }, 'config').restore();
  }
}
