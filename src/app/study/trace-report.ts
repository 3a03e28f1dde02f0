import { isTrituneError } from '#base/errors.ts';
import { plainLine } from '#base/format.ts';
import { traceLines } from '#headless/trace-lines.ts';
import type { StudyState } from '#study/records/state.ts';
import { readTraceFiles } from './read-traces.ts';

/** Ways to launch a server that writes its traces next to its log. */
const onOurDisk: readonly string[] = ['local', 'docker'];

/**
 * Returns the report after a run with `--trace`: the summary if the server's disk is ours, else the
 * place of the file. Empty without a trace.
 */
export async function traceReport({ tracing, started }: StudyState): Promise<readonly string[]> {
  if (!tracing?.ended) return [];
  const { file, trial } = tracing.started;
  if (!onOurDisk.includes(`${started.spec.server.launch}`)) {
    return [`the traces of trial ${trial} are in ${plainLine(file)} on the server's disk: there, run tritune trace`];
  }
  try {
    return [`the traces of trial ${trial}, in ${plainLine(file)}:`, ...traceLines(await readTraceFiles([file]), false)];
  } catch (error) {
    if (!isTrituneError(error)) throw error;
    return [`no traces of trial ${trial}: ${error.message}`];
  }
}
