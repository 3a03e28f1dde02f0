import { TrituneError } from '../base/errors.ts';
import { type PreparedInputs, prepareInputs, readInputs } from '../loadgen/inputs.ts';
import { replyCheck } from '../loadgen/reply-check.ts';
import type { ReplyCheck } from '../loadgen/types.ts';
import type { OriginalModel } from './open-server.ts';
import type { RequestOptions } from './request-options.ts';

/** What the options say is sent to this model. Errors: USAGE, INPUT_INVALID, UNSUPPORTED (an unknown data type). */
export async function requestsOf(
  options: RequestOptions & { readonly seed: number },
  { metadata, config }: Pick<OriginalModel, 'metadata' | 'config'>,
): Promise<PreparedInputs> {
  const { batch, seed, inputData = ['random'], shape: shapes, requestParameter: parameters } = options;
  const common = { batch, shapes, parameters };
  const [kind] = inputData;
  if (kind !== 'zero' && kind !== 'random') return readInputs(metadata, config, { ...common, paths: inputData });
  if (inputData.length > 1) {
    throw new TrituneError(
      'USAGE',
      `--input-data ${kind} goes with no other`,
      `write ./${kind} for a file of that name`,
    );
  }
  return prepareInputs(metadata, config, {
    ...common,
    seed,
    kind,
    ...(options.integers && { integers: options.integers }),
    ...(options.stringData !== undefined && { text: options.stringData }),
    ...(options.stringLength !== undefined && { stringLength: options.stringLength }),
  });
}

/** The check of replies, if the requests expect any outputs. */
export function replyCheckOf(inputs: PreparedInputs, { outputTolerance = 0 }: RequestOptions): ReplyCheck | undefined {
  return inputs.requests.some((request) => request.expected) ? replyCheck(outputTolerance) : undefined;
}
