import type { Cells } from './table-columns.ts';

/** A heading of a level, as perf_analyzer and perf_client print it. */
const HEADING = /^\s*Request (concurrency|Rate): ([\d.]+)/;
/** The first line of a run. */
const SETTINGS = '*** Measurement Settings ***';
/** A line of a level's results; the same lines of composing models follow those of the model. */
const RESULT =
  /^\s*(Throughput|Avg latency|p50 latency|Avg (?:HTTP|gRPC) time|Inference count|Execution count|Avg request latency): ([\d.]+)/;
const BATCH = /^\s*Batch size: (\d+)/;
/** A part of the server's time: `queue 78 usec`. */
const PART = /\b(queue|compute(?: input| infer| output)?) (\d+) usec/g;

/** The columns of the lines' figures, with perf_analyzer's own names where its CSV has them. */
const COLUMNS: Readonly<Record<string, string>> = {
  Throughput: 'Inferences/Second',
  'Avg latency': 'Avg latency (us)',
  'p50 latency': 'p50 latency (us)',
  'Inference count': 'Inference Count',
  'Execution count': 'Execution Count',
};

/** True if a text has levels in the form that perf_analyzer prints on a console. */
export const isConsoleText = (text: string): boolean => text.split('\n').some((line) => HEADING.test(line));

/**
 * Reads the levels that perf_analyzer, perf_client or tritune-perf-analyzer printed on a console,
 * as rows with the columns of perf_analyzer's CSV. Several runs in one text have a column `run`.
 */
export function readConsoleLevels(text: string): Cells[] {
  const levels: Record<string, string>[] = [];
  let level: Record<string, string> | null = null;
  let batch: string | undefined;
  let runs = 0;
  for (const line of text.split('\n')) {
    const heading = HEADING.exec(line);
    if (heading) {
      const [, mode = '', value = ''] = heading;
      level = { run: String(runs), ...(batch !== undefined && { 'Batch Size': batch }) };
      if (mode === 'concurrency') level.Concurrency = value;
      else level.load_mode = 'request-rate';
      levels.push(level);
    } else if (line.includes(SETTINGS)) {
      runs++;
      level = null;
    } else if (level === null) {
      batch = BATCH.exec(line)?.[1] ?? batch;
    } else {
      readResult(line, level);
    }
  }
  return runs > 1 ? levels : levels.map(({ run: _, ...cells }) => cells);
}

/** Adds what a line says of a level. The first of several lines counts. */
function readResult(line: string, level: Record<string, string>): void {
  const [, name = '', value = ''] = RESULT.exec(line) ?? [];
  if (name === 'Avg request latency') {
    for (const [, part = '', us = ''] of line.matchAll(PART)) level[`Server ${part} (us)`] ??= us;
  } else if (name !== '') {
    // Where a percentile decides, the mean is only in the line of the client's parts.
    level[COLUMNS[name] ?? 'Avg latency (us)'] ??= value;
  }
}
