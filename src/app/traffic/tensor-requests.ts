import { TrituneError } from '#base/errors.ts';
import { plainLine } from '#base/format.ts';
import { BYTES_PER_MIB } from '#base/units.ts';
import { type PreparedInputs, prepareInputs, readInputs } from '#loadgen/inputs.ts';
import { replyCheck } from '#loadgen/reply-check.ts';
import type { SequenceRule } from '#loadgen/sequences.ts';
import type { ReplyCheck } from '#loadgen/types.ts';
import type { TransportSpec } from '#spec/traffic-spec.ts';
import type { LevelRange } from '#study/types.ts';
import { takesSequences, takesTextIds } from '#triton/config/batching-rules.ts';
import type { ModelConfig } from '#triton/config/model-config.ts';
import { type RequestSpec, rangesByInput } from '#workload/request-spec.ts';
import type { OriginalModel } from '../server/open-server.ts';

/**
 * The requests, and whether their values are in shared memory; `seed` seeds everything random in
 * them.
 */
export type SeededRequests = RequestSpec &
  Pick<TransportSpec, 'sharedMemory'> & { readonly seed: number; readonly mostBatch?: number };

/**
 * Returns the requests that the options describe for this model. Errors: USAGE, INPUT_INVALID,
 * UNSUPPORTED (an unknown data type).
 */
export async function readRequests(
  options: SeededRequests,
  { metadata, config }: Pick<OriginalModel, 'metadata' | 'config'>,
): Promise<PreparedInputs> {
  const { batch, mostBatch, seed, inputData = ['random'], shape: shapes, requestParameter: parameters } = options;
  const isShared = (options.sharedMemory ?? 'none') !== 'none';
  const common = { batch, mostBatch, shapes, parameters, isShared };
  const [kind] = inputData;
  if (kind !== 'zero' && kind !== 'random') return readInputs(metadata, config, { ...common, paths: inputData });
  if (inputData.length > 1) {
    throw new TrituneError(
      'USAGE',
      `--input-data ${kind} cannot be combined with other input data`,
      `leave it out, or write ./${kind} for a file of that name`,
    );
  }
  return prepareInputs(metadata, config, {
    ...common,
    seed,
    kind,
    integersByInput: new Map(Object.entries(rangesByInput(options.integers))),
    ...(options.stringData !== undefined && { text: options.stringData }),
    ...(options.stringLength !== undefined && { stringLength: options.stringLength }),
    ...(options.maxInputSize !== undefined && { maxBytes: options.maxInputSize * BYTES_PER_MIB }),
  });
}

/** Returns the defaults that were chosen, one per line. */
export const listAssumptions = ({ assumed }: PreparedInputs): readonly string[] =>
  assumed.map(({ input, choice, option }) => plainLine(`input '${input}': ${choice}; ${option} changes that`));

const DEFAULT_SEQUENCE_LENGTH = 20;
const DEFAULT_VARIATION = 20;
const ALL_IDS = { low: 1, high: 2 ** 32 - 1 };

/**
 * Returns how requests form sequences, for models that take them. Errors: USAGE for options that do
 * not apply to the model.
 */
export function findSequences(
  {
    sequenceLength,
    sequenceLengthVariation,
    sequenceIds = ALL_IDS,
    inputData,
    batch,
    mostBatch = batch,
    seed,
  }: SeededRequests,
  config: ModelConfig,
  levels: LevelRange,
): SequenceRule | undefined {
  if (config.sequence_batching && mostBatch > 1) {
    throw new TrituneError(
      'USAGE',
      'Triton does not accept a batch larger than 1 in a sequence',
      'leave out --batch and --batch-size',
    );
  }
  if (!takesSequences(config)) {
    if (sequenceLength === undefined && sequenceLengthVariation === undefined && sequenceIds === ALL_IDS)
      return undefined;
    throw new TrituneError('USAGE', 'the model takes no sequences of requests', 'leave out the --sequence-… options');
  }
  const ids = sequenceIds.high - sequenceIds.low + 1;
  if (levels.mode === 'concurrency' && levels.high > ids) {
    throw new TrituneError(
      'USAGE',
      `${ids} sequence ids are too few for ${levels.high} requests in flight`,
      'widen --sequence-ids, or lower --concurrency',
    );
  }
  const length = sequenceLength ?? (isGenerated(inputData) ? DEFAULT_SEQUENCE_LENGTH : undefined);
  const variation = (sequenceLengthVariation ?? DEFAULT_VARIATION) / 100;
  return { length, variation, ids: sequenceIds, seed, ...(takesTextIds(config) && { asText: true }) };
}

const isGenerated = ([kind]: readonly string[] = ['random']): boolean => kind === 'zero' || kind === 'random';

/** The check of replies, if the requests expect any outputs. */
export function createReplyCheck(inputs: PreparedInputs, { outputTolerance = 0 }: RequestSpec): ReplyCheck | undefined {
  return inputs.requests.some((request) => request.expected) ? replyCheck(outputTolerance) : undefined;
}
