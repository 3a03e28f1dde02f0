import { didYouMean } from '#base/nearest.ts';
import { BadRecord, invalidAt, readRecordBatches } from '#base/records.ts';
import { inOrder } from './plan/events.ts';
import { GrowingArrivals } from './trace-growing.ts';
import { createTraceReader, type TraceColumns, type TraceReader } from './trace-reader.ts';

/** Arrivals since the first one, in rising order. */
export interface ReadTrace {
  readonly timesNs: Float64Array;
  /** By index of the classes; null if no column has it. */
  readonly classOf: Uint16Array | null;
}

/**
 * Reads the arrivals of a file of any length, in any order; takes ten bytes of memory each. Skips
 * empty lines and those that begin with #. Errors: INPUT_INVALID with the line.
 */
export async function readTrace(path: string, columns: TraceColumns, classes: readonly string[]): Promise<ReadTrace> {
  const indexes = new Map(classes.map((name, index) => [name, index]));
  const arrivals = new GrowingArrivals();
  let reader: TraceReader | null = null;
  const take = (text: string): void => {
    const isFirst = reader === null;
    reader ??= createTraceReader(text, columns);
    if (isFirst && !reader.takesFirst) return;
    const { timeNs, className } = reader.read(text);
    arrivals.add(timeNs, className === null ? 0 : findIndex(className, indexes));
  };
  for await (const records of readRecordBatches(path)) {
    for (const { text, line } of records) {
      try {
        if (!text.startsWith('#')) take(text);
      } catch (error) {
        throw error instanceof BadRecord ? invalidAt(path, line, error.message, error.hint) : error;
      }
    }
  }
  if (arrivals.length === 0) throw invalidAt(path, 1, 'it contains no arrivals', 'give a file with times');
  const { timesNs, classOf } = inOrder(arrivals.arrivals);
  const firstNs = timesNs[0] as number;
  for (let index = 0; index < timesNs.length; index++) timesNs[index] = (timesNs[index] as number) - firstNs;
  return { timesNs, classOf: columns.classColumn === undefined ? null : classOf };
}

function findIndex(name: string, indexes: ReadonlyMap<string, number>): number {
  const index = indexes.get(name);
  if (index !== undefined) return index;
  throw new BadRecord(
    `the workload has no class '${name.slice(0, 60)}'${didYouMean(name, indexes.keys())}`,
    'add it under classes, or leave out classColumn',
  );
}
