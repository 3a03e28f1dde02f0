import { formatMessage, isTrituneError } from '#base/errors.ts';
import { listed } from '#base/format.ts';
import type { ModelConfig } from '#triton/config/model-config.ts';
import type { ModelFiles } from '#triton/types.ts';
import { CandidateRefusedError } from '#tuner/refused.ts';

/**
 * Triton accepts gRPC messages of up to INT32_MAX bytes, config included (verified on 2.51 with
 * 2.04 GB).
 */
const MAX_BYTES = 2 ** 31 - 2 ** 20;

const WAY_OUT =
  'put the files into a version folder of the model on the server, and name it: variants: { NAME: { version: 2 } }, or config: { default_model_filename: … }';

/**
 * Errors: a CandidateRefusedError for files that no server accepts, or that the config does not
 * name.
 */
export function checkUpload(files: ModelFiles, { default_model_filename: json = '' }: ModelConfig): void {
  if (computeSize(files) > MAX_BYTES) {
    const reason = `the files have ${megabytes(files)}, and a load call takes 2147 MB at most`;
    throw new CandidateRefusedError('upload-refused', reason, { hint: WAY_OUT });
  }
  const places = [...files.keys()];
  if (json === '' || places.some((place) => place.slice(place.indexOf('/') + 1).split('/')[0] === json)) return;
  // Triton serves nothing from the model's own folder along with an upload; without the file a
  // backend may wait for long (2.51, Python).
  const reason = `the config's default_model_filename is '${json}', and the upload has ${listed(places)}`;
  throw new CandidateRefusedError('upload-refused', reason, {
    hint: 'upload all files that the model needs, or set default_model_filename in the config of the variant',
  });
}

/**
 * Messages of servers and proxies about a message that is too long, or files that they do not
 * accept.
 */
const REFUSALS =
  /larger than max|message (is )?too (large|long)|RESOURCE_EXHAUSTED|Payload Too Large|Request Entity Too Large|status 413|exceeds the maximum|input size .*max|unrecognized load parameter|unexpected error on creating Triton parameter|string longer than|Invalid string length/i;

/** True if the error is about the upload and not about the model. */
export const isUploadRefusal = (error: unknown): boolean =>
  isTrituneError(error, 'INTERRUPTED', 'SERVER_TIMEOUT') ? false : REFUSALS.test(formatMessage(error));

/** Returns the error for an upload that was refused. */
export function uploadRefused(error: unknown, files: ModelFiles): CandidateRefusedError {
  const reason = `the server did not take the upload of ${megabytes(files)}: ${formatMessage(error)}; ${WAY_OUT}`;
  return new CandidateRefusedError('upload-refused', reason, { message: reason, hint: WAY_OUT, cause: error });
}

const computeSize = (files: ModelFiles): number => [...files.values()].reduce((sum, { length }) => sum + length, 0);

const megabytes = (files: ModelFiles): string => `${(computeSize(files) / 1e6).toFixed(1)} MB`;
