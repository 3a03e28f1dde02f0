import { formatMessage, TrituneError } from '#base/errors.ts';
import { readStart } from '#base/read-file.ts';
import { NS_PER_US } from '#base/units.ts';
import { type CounterSeries, workloadOfCounters } from '#workload/log-counters.ts';
import { type LogRule, LogTally, type RecordedWorkload } from '#workload/log-tally.ts';
import { readLog } from '#workload/read-log.ts';
import { rangeCounters, scrapedCounters } from './counter-files.ts';
import { readTraceFiles } from './study/read-traces.ts';

/** The number of bytes read to recognize the format of a file. */
const SNIFFED_BYTES = 2 ** 16;

/**
 * Makes the parts of a workload from a recording, and recognizes its format by content: Triton's
 * trace files, Prometheus' request counters (the answer to a range query, or scrapes), or a log of
 * requests. Errors: INPUT_INVALID; UNSUPPORTED for traces of another format.
 */
export async function recordedWorkload(paths: readonly string[], rule: LogRule): Promise<RecordedWorkload> {
  const start = await readStartOfFile(paths[0] as string);
  if (/^\s*\{/.test(start) && /"resultType"\s*:/.test(start)) return ofCounters(await rangeCounters(paths), rule);
  if (/^(?:# (?:HELP|TYPE) )?nv_inference_request_success[\s{]/m.test(start)) {
    return ofCounters(await scrapedCounters(paths), rule);
  }
  if (/^\s*\[/.test(start) && /"(?:timestamps|model_version|parent_id)"\s*:/.test(start)) return ofTraces(paths, rule);
  return readLog(paths, rule);
}

function ofCounters(series: readonly CounterSeries[], { match }: LogRule): RecordedWorkload {
  const matching = series.filter(({ name }) => match?.test(name) ?? true);
  if (matching.length > 0) return workloadOfCounters(matching);
  throw new TrituneError(
    'INPUT_INVALID',
    'the files contain no request counter',
    'give nv_inference_request_success of one or more models, or change --match',
  );
}

/** Takes only requests of clients: an ensemble will call its models again by itself. */
async function ofTraces(paths: readonly string[], rule: LogRule): Promise<RecordedWorkload> {
  const { requests } = await readTraceFiles(paths);
  const tally = new LogTally(rule, 'trace of Triton');
  for (const { parentId, startUs, models } of requests) {
    if (parentId !== null) continue;
    tally.add({ timeNs: startUs * NS_PER_US, model: models[0] as string, target: null });
  }
  return tally.workload(paths[0] as string);
}

async function readStartOfFile(path: string): Promise<string> {
  try {
    return (await readStart(path, SNIFFED_BYTES)).toString('utf8');
  } catch (error) {
    throw new TrituneError('INPUT_INVALID', `cannot read ${path}: ${formatMessage(error)}`, 'give the path of a file');
  }
}
