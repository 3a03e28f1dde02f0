import { TrituneError } from '#base/errors.ts';
import type { TensorMetadata } from '#triton/types.ts';
import type { OriginalModel } from '../../server/open-server.ts';

/**
 * Errors: UNSUPPORTED for a model that cannot replace another one: its inputs or outputs have other
 * names, data types or shapes, or it takes requests in another way.
 */
export function checkAlike(model: string, original: OriginalModel, name: string, other: OriginalModel): void {
  const reason =
    tensorFault('input', original, other) ?? tensorFault('output', original, other) ?? protocolFault(original, other);
  if (reason === null) return;
  throw new TrituneError(
    'UNSUPPORTED',
    `model '${name}' is not a variant of '${model}': ${reason}`,
    'remove it from the search space, or serve it with the same inputs and outputs',
  );
}

function tensorFault(kind: 'input' | 'output', original: OriginalModel, other: OriginalModel): string | null {
  const metadatas = original.metadata[`${kind}s`];
  const theirs = other.metadata[`${kind}s`];
  const stranger = theirs.find(({ name }) => !metadatas.some((each) => each.name === name));
  if (stranger) return `it has an ${kind} '${stranger.name}', and the other has none`;
  for (const tensor of metadatas) {
    const their = theirs.find(({ name }) => name === tensor.name);
    if (!their) return `it has no ${kind} '${tensor.name}'`;
    if (their.datatype !== tensor.datatype)
      return `its ${kind} '${tensor.name}' is ${their.datatype}, not ${tensor.datatype}`;
    const [shape, expectedShape] = [sampleShape(their, other), sampleShape(tensor, original)];
    if (!fits(expectedShape, shape)) return `its ${kind} '${tensor.name}' has shape [${shape}], not [${expectedShape}]`;
  }
  return null;
}

/** Returns the shape without the batch dimension. */
const sampleShape = (
  { shape }: TensorMetadata,
  { config: { max_batch_size = 0 } }: OriginalModel,
): readonly number[] => (max_batch_size > 0 ? shape.slice(1) : shape);

/**
 * True if the shapes fit. Requests may fill in dimensions that one of them leaves open; those are
 * checked when they are sent.
 */
const fits = (expected: readonly number[], shape: readonly number[]): boolean =>
  expected.length === shape.length && expected.every((size, i) => size === shape[i] || size < 0 || (shape[i] ?? 0) < 0);

function protocolFault({ config: modelConfig }: OriginalModel, { config: other }: OriginalModel): string | null {
  const isDecoupled = (config: typeof modelConfig): boolean => config.model_transaction_policy?.decoupled === true;
  if (isDecoupled(modelConfig) !== isDecoupled(other)) return 'only one of them is decoupled';
  return Boolean(modelConfig.sequence_batching) === Boolean(other.sequence_batching)
    ? null
    : 'only one of them has sequences';
}
