import type { BatchStatistics, ModelStatistics } from '#triton/types.ts';

/** Executions of a new size may take this multiple of their expected time … */
const SLACK = 1.2;
/** … plus this many expected executions in total before one of them counts as cold. */
const COLD_EXECUTIONS = 3;

/**
 * Returns the batch sizes that the server executed for the first time since the model's load
 * between two readings, with a cold execution among them (lazy allocation, an engine or a graph
 * made for the size): they took clearly longer than the known sizes suggest. A batch should take at
 * most as long as the next larger one, and at most as long per sample as the next smaller one.
 * Empty if no known size allows a comparison.
 */
export function coldSizes(before: readonly ModelStatistics[], after: readonly ModelStatistics[]): readonly number[] {
  return after.flatMap(({ version, batchStats }) => {
    const earlier = before.find((each) => each.version === version)?.batchStats ?? [];
    const known = earlier.filter((each) => each.computeInfer.count > 0);
    return batchStats
      .filter(({ batchSize }) => !known.some((each) => each.batchSize === batchSize))
      .filter((batch) => isCold(batch, known))
      .map(({ batchSize }) => batchSize);
  });
}

function isCold(batch: BatchStatistics, known: readonly BatchStatistics[]): boolean {
  const expected = expectedNs(batch.batchSize, known);
  const { count } = batch.computeInfer;
  return expected !== null && count > 0 && computeNs(batch) > (SLACK * count + COLD_EXECUTIONS) * expected;
}

/** The longest time that one execution of the size should take; null if no other size is known. */
function expectedNs(size: number, known: readonly BatchStatistics[]): number | null {
  const bySize = [...known].sort((a, b) => a.batchSize - b.batchSize);
  const larger = bySize.find((each) => each.batchSize > size);
  if (larger) return meanNs(larger);
  const smaller = bySize.at(-1);
  return smaller ? (meanNs(smaller) * size) / smaller.batchSize : null;
}

const computeNs = ({ computeInput, computeInfer, computeOutput }: BatchStatistics): number =>
  computeInput.ns + computeInfer.ns + computeOutput.ns;

const meanNs = (batch: BatchStatistics): number => computeNs(batch) / batch.computeInfer.count;
