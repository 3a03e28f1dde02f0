import { BadRecord, invalidAt, readRecordBatches } from '#base/records.ts';
import { createLogReader, type LogReader } from './log-line.ts';
import { type LogRule, LogTally, type RecordedWorkload } from './log-tally.ts';

/** The part of a log's lines that may be no requests; a log with more of them is refused. */
const MAX_BAD_SHARE = 0.1;

/**
 * Reads the requests of logs of any length, in files that follow each other, as one trace with a
 * class for each model or path. Lines that are no requests are passed over where they are few.
 * Errors: INPUT_INVALID with the line.
 */
export async function readLog(paths: readonly string[], rule: LogRule): Promise<RecordedWorkload> {
  const tally = new LogTally(rule);
  for (const path of paths) await readFileInto(tally, path, rule);
  return tally.workload(paths[0] as string);
}

async function readFileInto(tally: LogTally, path: string, rule: LogRule): Promise<void> {
  let reader: LogReader | null = null;
  let [lines, bad] = [0, 0];
  for await (const records of readRecordBatches(path)) {
    for (const { text, line } of records) {
      if (text.startsWith('#')) continue;
      try {
        const isFirst = reader === null;
        reader ??= tally.begin(createLogReader(text, rule));
        if (isFirst && !reader.takesFirst) continue;
        lines++;
        tally.add(reader.read(text));
      } catch (error) {
        if (!(error instanceof BadRecord)) throw error;
        bad++;
        if (bad > 1 + lines * MAX_BAD_SHARE || lines <= 1) throw invalidAt(path, line, error.message, error.hint);
        tally.bad++;
      }
    }
  }
}
