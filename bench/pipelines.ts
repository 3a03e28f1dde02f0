import { spawn } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { median } from 'simple-statistics';
import { launchLocal } from '#launch/local-server.ts';
import type { LaunchedServer } from '#launch/types.ts';
import type { Assignment, Candidate } from '#space/types.ts';
import type { StudySpecInput } from '#spec/study-spec.ts';
import { assess } from '#study/goal/goal.ts';
import type { StudyRecord } from '#study/records/records.ts';
import { makeModelRepository } from '../test/support/real-triton.ts';
import { outputOf } from './client-run.ts';
import { type PipelineSubject, pipelineSubjects } from './pipeline-subjects.ts';

/**
 * Studies of several models beside an exhaustive search of the same space, on a real Triton:
 * `npm run bench:pipelines`. What a study has found after 20 measurements, for each seed, is
 * measured in turn with the four best of the exhaustive search. Prints the part of the exhaustive
 * best that each pick is worth (95 % asked). `TRITUNE_BENCH_SUBJECTS` (ensemble,bls,tenants) and
 * `TRITUNE_BENCH_SEEDS` (1,2,3) choose what is run. About fifteen minutes for each.
 */
const SUBJECTS = pipelineSubjects(process.env.TRITUNE_BENCH_SUBJECTS?.split(','));
const SEEDS = (process.env.TRITUNE_BENCH_SEEDS ?? '1,2,3').split(',').map(Number);
const MEASUREMENTS = 20;
const RIVALS = 4;
const JUDGE_ROUNDS = 2;

const root = resolve(import.meta.dirname, '..');
const program = join(root, 'dist/cli/main.js');

/** One measurement of a study, in terms of its goal. */
interface Reading {
  readonly candidate: Candidate;
  readonly level: number;
  /** exp(−cost): for throughput alone infer/s. */
  readonly worth: number;
  readonly feasible: boolean;
}

interface Run {
  readonly readings: readonly Reading[];
  readonly seconds: number;
}

async function run(server: LaunchedServer, study: StudySpecInput): Promise<Run> {
  const directory = await mkdtemp(join(tmpdir(), 'tritune-pipelines-'));
  const file = join(directory, 'study.json');
  await writeFile(file, JSON.stringify(study));
  const where = ['-u', server.grpcUrl, '--metrics-url', server.metricsUrl, '-o', join(directory, 'run')];
  const startMs = performance.now();
  const child = spawn(process.execPath, [program, 'tune', '--spec', file, ...where, '--ui', 'none'], {
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  await outputOf(child).catch((error: unknown) => console.log(String(error)));
  const seconds = (performance.now() - startMs) / 1e3;
  const text = await readFile(join(directory, 'run', 'journal.jsonl'), 'utf8');
  const records = text
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as StudyRecord);
  return { readings: readingsOf(records), seconds };
}

function readingsOf(records: readonly StudyRecord[]): Reading[] {
  const [started] = records;
  if (started?.type !== 'study-started') throw new Error('the journal does not begin with a study');
  const candidates = new Map<number, Candidate>();
  return records.flatMap((record) => {
    if (record.type === 'trial-started') candidates.set(record.trial, record.candidate);
    if (record.type !== 'trial-measured') return [];
    const candidate = candidates.get(record.trial) as Candidate;
    const { cost, feasible } = assess(record.measurement, candidate, started.goal);
    return [{ candidate, level: record.measurement.level.value, worth: Math.exp(-cost), feasible }];
  });
}

/** The best feasible reading of each candidate, the best first. */
function ranked(readings: readonly Reading[]): Reading[] {
  const best = new Map<string, Reading>();
  for (const reading of readings.filter(({ feasible }) => feasible)) {
    const { fingerprint } = reading.candidate;
    if (reading.worth > (best.get(fingerprint)?.worth ?? 0)) best.set(fingerprint, reading);
  }
  return [...best.values()].sort((a, b) => b.worth - a.worth);
}

const wordsOf = (assignment: Assignment): string =>
  Object.entries(assignment)
    .map(([name, value]) => `${name}=${String(value)}`)
    .join(' ') || 'the original configs';

async function compare(subject: PipelineSubject, server: LaunchedServer, scratch: string): Promise<void> {
  const { study, levels } = subject;
  const listed = { ...study, levels: { ...study.levels, values: [...levels] } };
  const grid = await run(server, { ...listed, sampler: { name: 'grid', earlyExits: false } });
  const rivals = ranked(grid.readings).slice(0, RIVALS);
  console.log(`${subject.name}: ${grid.readings.length} measurements of all configs in ${grid.seconds.toFixed(0)} s`);
  const picks: { readonly seed: number; readonly pick: Reading; readonly run: Run }[] = [];
  for (const seed of SEEDS) {
    const own = await run(server, { ...study, seed });
    const [pick] = ranked(own.readings.slice(0, MEASUREMENTS));
    if (pick) picks.push({ seed, pick, run: own });
    else console.log(`${subject.name}, seed ${seed}: nothing feasible in ${MEASUREMENTS} measurements`);
  }
  const judged = await judge(subject, server, [...picks.map(({ pick }) => pick), ...rivals], scratch);
  const best = Math.max(...rivals.map(({ candidate }) => judged.get(candidate.fingerprint) ?? 0));
  for (const { seed, pick, run: own } of picks) {
    const share = (judged.get(pick.candidate.fingerprint) ?? 0) / best;
    const taken = `${own.readings.length} measurements and ${own.seconds.toFixed(0)} s in all`;
    console.log(
      `${subject.name}, seed ${seed}: ${share.toFixed(3)} of the best (${taken}); ${wordsOf(pick.candidate.assignment)}`,
    );
  }
  console.log(`${subject.name}: the best of all is ${wordsOf(rivals[0]?.candidate.assignment ?? {})}`);
}

/**
 * What each config is worth at its best level, by fingerprint: medians over rounds there and back.
 */
async function judge(
  { study, levels }: PipelineSubject,
  server: LaunchedServer,
  subjects: readonly Reading[],
  scratch: string,
): Promise<ReadonlyMap<string, number>> {
  const assignments = [
    ...new Map(subjects.map(({ candidate }) => [candidate.fingerprint, candidate.assignment])).values(),
  ].filter((assignment) => Object.keys(assignment).length > 0);
  const values = [...new Set([...levels, ...subjects.map(({ level }) => level)])].sort((a, b) => a - b);
  const worths = new Map<string, number[]>();
  for (let round = 0; round < JUDGE_ROUNDS; round++) {
    const candidates = join(scratch, `candidates-${round}.json`);
    await writeFile(candidates, JSON.stringify(round % 2 === 0 ? assignments : assignments.toReversed()));
    const { readings } = await run(server, {
      ...study,
      levels: { ...study.levels, values },
      sampler: { name: 'manual', candidates },
    });
    for (const { candidate, worth } of ranked(readings)) {
      worths.set(candidate.fingerprint, [...(worths.get(candidate.fingerprint) ?? []), worth]);
    }
  }
  return new Map([...worths].map(([fingerprint, each]) => [fingerprint, median(each)]));
}

const modelRepository = await makeModelRepository();
const scratch = await mkdtemp(join(tmpdir(), 'tritune-pipelines-'));
try {
  for (const subject of SUBJECTS) {
    const server = await launchLocal({
      modelRepository,
      installDirectory: join(root, '.triton'),
      logDirectory: scratch,
      loadModels: [...subject.loaded],
    });
    await compare(subject, server, scratch).finally(() => server.stop());
  }
} finally {
  await rm(scratch, { recursive: true });
  await rm(modelRepository, { recursive: true });
}
