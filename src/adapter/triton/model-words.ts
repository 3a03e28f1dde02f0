import { formatMessage, isTrituneError, TrituneError } from '#base/errors.ts';
import { RESTORE_THE_RUN } from '#base/restore-advice.ts';
import type { ConfigDifference } from '#triton/config/comparison.ts';
import { LoadRefusedError } from '#triton/control/load-refused.ts';
import type { ModelFiles } from '#triton/types.ts';
import type { Restored } from '#tuner/adapter.ts';
import { CandidateRefusedError } from '#tuner/refused.ts';
import { isUploadRefusal, uploadRefused } from '../variants/upload.ts';

/** Returns a refused load as an error of the tuner; also for a refused upload. */
export const refused =
  (files: ModelFiles | undefined) =>
  (error: unknown): never => {
    if (files && isUploadRefusal(error)) throw uploadRefused(error, files);
    if (!(error instanceof LoadRefusedError)) throw error;
    const { kind, serverMessage, message, hint } = error;
    throw new CandidateRefusedError(kind, serverMessage, { message, hint, cause: error });
  };

export const keptWithoutRepository = (model: string): Restored => ({
  how: 'nothing-changed',
  verified: true,
  detail: `'${model}' has its original config, and is not in the server's repository any more: it serves until it is unloaded`,
});

export const changedByOthers = (model: string): TrituneError =>
  new TrituneError(
    'MODEL_LOCKED',
    `somebody else has changed '${model}' since this run began`,
    'find out who else loads models on this server, and tune again when they have finished',
  );

export function mismatch(model: string, differences: readonly ConfigDifference[]): TrituneError {
  return new TrituneError(
    'CONFIG_MISMATCH',
    `the server's config of '${model}' differs from the one sent: ${formatWords(differences)}`,
    'check whether somebody else changes the model; or this server ignores these fields: leave them out of the search space',
  );
}

/** Describes the first of the differences: the value on the server and the sent one. */
export function formatWords(differences: readonly ConfigDifference[]): string {
  const shown = differences
    .slice(0, 3)
    .map(({ path, before, after }) => `${path} is ${valueText(after)}, not ${valueText(before)}`);
  const more = differences.length > shown.length ? `; and ${differences.length - shown.length} more` : '';
  return `${shown.join('; ')}${more}`;
}

const valueText = (value: unknown): string => (value === undefined ? 'absent' : JSON.stringify(value));

/** `failures`: the reason for each model. `restored`: the models that are back. */
export function restoreFailed(failures: ReadonlyMap<string, unknown>, restored: readonly Restored[]): TrituneError {
  const reasons = [...failures].map(
    ([model, error]) => `'${model}' could not be put back as it was: ${formatMessage(error)}`,
  );
  const causes = [...failures.values()];
  return new TrituneError(
    'RESTORE_FAILED',
    [...reasons, ...restored.map(({ detail }) => detail)].join('; '),
    causes.some((error) => isTrituneError(error, 'MODEL_UNKNOWN'))
      ? `put the model back into its repository, then ${RESTORE_THE_RUN}`
      : `when the server answers again, ${RESTORE_THE_RUN}`,
    { cause: causes[0] },
  );
}
