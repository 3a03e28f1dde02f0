import { TrituneError } from '#base/errors.ts';
import { fileLimits, readPieces } from '#base/read-file.ts';
import { summarizeTraces, type TraceSummary } from '#profiler/trace-summary.ts';
import { type ReadTraces, readTraces } from '#triton/control/trace-file.ts';

/**
 * Returns the summary, as by `summarizeTraces`, of the trace files of one server's run. Errors: as
 * `readTracedRequests`.
 */
export const readTraceFiles = async (files: readonly string[], withMoments = false): Promise<TraceSummary> =>
  summarizeTraces(await readTracedRequests(files), withMoments);

/**
 * Returns the requests in the trace files of one server's run. Errors: INPUT_INVALID, also for
 * files without a trace; UNSUPPORTED.
 */
export async function readTracedRequests(files: readonly string[]): Promise<ReadTraces> {
  const read = await readTraces(files.map((name) => ({ name, chunks: readPieces(name, fileLimits.log) })));
  if (read.traces.length > 0) return read;
  if (read.timeless > 0) {
    throw new TrituneError(
      'INPUT_INVALID',
      `the ${read.timeless} traces in ${files.join(', ')} contain tensors but no times`,
      'trace with level TIMESTAMPS, alone or together with TENSORS',
    );
  }
  throw new TrituneError(
    'INPUT_INVALID',
    `there is no trace in ${files.join(', ')}`,
    'turn tracing off or stop the server, which writes the traces then; or set log_frequency',
  );
}
