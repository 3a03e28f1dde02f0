import assert from 'node:assert/strict';
import { dirname } from 'node:path';
import { builtFiles } from '#adapter/variants/cache.ts';
import { readHeaders } from '#app/server/headers.ts';
import { readSeriesFile } from '#app/study/series-directory.ts';
import { endingsIn } from '#app/study/series-record.ts';
import { findCheckedArtifact } from '#space/artifact.ts';
import { checkSeriesSpec } from '#spec/series-spec.ts';
import { foldStudy } from '#study/records/fold.ts';
import { findHolder, isLockedByOther } from '#study/records/journal-lock.ts';
import { parseJournal } from '#study/records/journal-text.ts';
import type { StudyRecord } from '#study/records/records.ts';
import { summarize } from '#study/summary/summary.ts';
import { configOf, goalOf, measured, studyStarted, toCandidate } from '../../study/builders.ts';
import { jsonWords } from './data.ts';
import { inFile, type Parser, refusing } from './parser.ts';

const at = '2026-01-01T00:00:01.000Z';
const trial = (number: number, latencyMs: number, instances: number): readonly StudyRecord[] => [
  {
    type: 'trial-started',
    at,
    trial: number,
    role: number === 0 ? 'baseline' : 'search',
    candidate: toCandidate(configOf(instances, 4), number === 0 ? {} : { instances }),
  },
  { type: 'trial-applied', at, trial: number, change: 'full', loadMs: 10 },
  { type: 'trial-measured', at, trial: number, measurement: measured(1, 100 * instances, latencyMs) },
  { type: 'trial-finished', at, trial: number, chosen: 0, feasible: true, failure: null },
];

/** A study with a record of every kind that damage may hit. */
export const journalRecords: readonly StudyRecord[] = [
  studyStarted(goalOf(8), { server: { ...studyStarted(goalOf(8)).server } }),
  ...trial(0, 5, 1),
  ...trial(1, 6, 2),
  { type: 'readings-doubted', at, readings: [{ trial: 1, reading: 0 }] },
  { type: 'final-measured', at, trial: 1, round: 1, measurement: measured(1, 210, 5) },
  { type: 'round-voided', at, round: 2, slower: 3 },
  { type: 'gain-decided', at, best: 1, gain: { value: 2, low: 1.9, high: 2.1 } },
  { type: 'space-narrowed', at, narrowing: { instances: { pinned: 2 } } },
  { type: 'goal-changed', at, goal: goalOf(4) },
  { type: 'trial-requested', at, assignment: { instances: 3 }, levels: { kind: 'fixed', values: [1, 2] } },
  { type: 'trial-withdrawn', at, assignment: { instances: 3 }, levels: { kind: 'fixed', values: [1, 2] } },
  { type: 'tracing-started', at, trial: 1, earlier: { trace_level: ['OFF'] }, file: '/tmp/t' },
  { type: 'tracing-ended', at, verified: true, detail: 'back' },
  { type: 'model-restored', at, how: 'config', verified: true, detail: 'put back' },
  { type: 'study-finished', at, stopReason: 'done', interrupted: false, wallSeconds: 3 },
];
export const journalBytes = (all: readonly unknown[]): Buffer =>
  Buffer.from(all.map((each) => `${JSON.stringify(each)}\n`).join(''));

const journal = refusing(['JOURNAL_INVALID', 'UNSUPPORTED'], {
  name: 'a journal',
  sources: [
    'study/records/journal-text.ts',
    'study/records/record-schema.ts',
    'study/records/journal.ts',
    'app/server/leftover.ts',
    'space/artifact.ts',
  ],
  read: (_, bytes) => {
    const state = foldStudy(parseJournal(bytes, 'journal.jsonl').records);
    assert.equal(summarize(state, 'journal.jsonl').counts.trials, state.trials.length);
    for (const { candidate } of state.trials) findCheckedArtifact(candidate);
    return state;
  },
  seeds: [journalRecords.slice(0, 5), journalRecords].map(journalBytes),
  words: [...jsonWords, '"type":"', '"trial":-1', '"levels":', '"assignment":', '"artifact":{"variant":"x"}', '\n'],
});

const study = { model: 'm', server: { url: 'h:1' } };
const series = refusing(['JOURNAL_INVALID'], {
  name: "a series' file",
  sources: ['app/study/series-directory.ts'],
  read: inFile('series.json', (path) => readSeriesFile(dirname(path))),
  seeds: [
    JSON.stringify({
      schemaVersion: 2,
      models: [{ model: 'm', directory: 'm' }],
      commandLine: [],
      trituneVersion: '1',
      spec: checkSeriesSpec({ studies: [study, { ...study, model: 'n' }] }, 'x'),
    }),
  ],
  words: [...jsonWords, '"schemaVersion":1', '"options":', '"models":', '"directory":".."'],
  isSlow: true,
});

const seriesSummary: Parser = {
  name: "a series' summary",
  sources: ['app/study/series-record.ts'],
  read: (bytes) => summaryIn('', bytes),
  seeds: [
    '{"models":[{"model":"m","exitCode":0,"error":null},{"model":"n","exitCode":4,"error":{"code":"X","message":"y"}}]}',
  ],
  words: jsonWords,
  isSlow: true,
};
const summaryIn = inFile('summary.json', (path) => endingsIn(dirname(path)));

const lock: Parser = {
  name: 'a lock of another run',
  sources: ['study/records/journal-lock.ts'],
  read: (bytes) => lockIn('', bytes),
  seeds: [
    JSON.stringify({ pid: 1, host: 'elsewhere', startTicks: '5', boot: 'x' }),
    '{"pid":99999999,"host":"","directory":"/x"}',
  ],
  words: [...jsonWords, '"pid":-1', '"pid":1e999', '"hasEnded":true', '"directory":'],
  isSlow: true,
};
const lockIn = inFile('journal.lock', (path) => [findHolder(path), isLockedByOther(path)]);

const cache: Parser = {
  name: "the outcome of a variant's build",
  sources: ['adapter/variants/cache.ts', 'adapter/variants/artifacts.ts'],
  read: (bytes) => builtIn('', bytes),
  seeds: ['{"seconds":3,"files":{"1/model.onnx":{"sha256":"ab","bytes":5}}}'],
  words: [...jsonWords, '"files":', '"../../x":'],
  isSlow: true,
};
const builtIn = inFile('built.json', (path) =>
  builtFiles(dirname(dirname(path)), { digest: dirname(path).split('/').at(-1) ?? '' }),
);

const token = refusing(['USAGE', 'INPUT_INVALID'], {
  name: 'a file with a token',
  sources: ['app/server/headers.ts'],
  read: inFile('token', (tokenFile) => readHeaders({ tokenFile })),
  seeds: ['abcdef0123\n'],
  words: ['\r\n', ' ', 'é'],
  isSlow: true,
});

/** What an earlier run, or somebody else's, has left. */
export const records: readonly Parser[] = [journal, series, seriesSummary, lock, cache, token];
