import { foldStudy } from '#study/records/fold.ts';
import { readJournal } from '#study/records/journal.ts';
import { runCli } from '../test/support/cli.ts';
import { finishedTrials } from '../test/support/fleet.ts';

const MAX_RSS = /maxRSS (\d+)/;
/** Makes a process say its peak memory at its end. */
const SAYS_MEMORY = `--import=data:text/javascript,${encodeURIComponent("process.on('exit', () => console.error('maxRSS ' + process.resourceUsage().maxRSS))")}`;

/**
 * Reads the journal of a long study as its users do. Returns what is wrong with it, and what
 * reading it costs, in words.
 */
export async function judgeJournal(folder: string, trials: number): Promise<readonly string[]> {
  const beginMs = performance.now();
  const records = await readJournal(`${folder}/journal.jsonl`);
  const readMs = performance.now();
  const state = foldStudy(records);
  const ofBest = state.best === null ? 'nothing is best' : `trial ${state.best.number} is best`;
  const foldedMs = performance.now();
  const finished = finishedTrials(records);
  const isWhole = finished.length === trials && finished.every((number, at) => number === at + 1);
  const whole = isWhole ? `each of ${trials} trials once` : `NOT WHOLE: ${finished.length} trials of ${trials}`;
  const report = await runCli(['report', folder], { env: { NODE_OPTIONS: SAYS_MEMORY } });
  const reportMs = performance.now() - foldedMs;
  const memory = Number(MAX_RSS.exec(report.stderr)?.[1] ?? Number.NaN) / 1024;
  const last = records.at(-1);
  return [
    `${records.length} records, ${whole}; the last is ${last?.type}, ${ofBest}, the gain is ${state.gain ? 'decided' : 'NOT decided'}`,
    `read in ${((readMs - beginMs) / 1000).toFixed(1)} s, folded in ${((foldedMs - readMs) / 1000).toFixed(1)} s`,
    `tritune report: exit code ${report.code}, ${(reportMs / 1000).toFixed(1)} s, ${memory.toFixed(0)} MiB`,
  ];
}
