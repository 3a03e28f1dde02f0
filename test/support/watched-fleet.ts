import type { Work } from '#fleet/study/work.ts';
import type { FleetProgress } from '#fleet/workflow/seams.ts';
import type { ProfileProgress } from '#profiler/progress.ts';
import type { StudyRecord } from '#study/records/records.ts';
import { makeSampler } from '#study/search/samplers/registry.ts';
import type { TunerEvent } from '#tuner/seams.ts';
import type { StudyHead } from '#watch/view/watched.ts';
import { listBudgetedProblems } from '../../lab/problems/problem.ts';
import { scenarios } from '../../lab/problems/problems.ts';
import { playFleet, type VirtualFleet } from './virtual-fleet.ts';

const [problem] = scenarios(1).flatMap((each) => listBudgetedProblems(each));

let usual: Promise<readonly StudyRecord[]> | undefined;

/**
 * The records of a study over servers, in virtual time, to its end; the same for whoever changes
 * nothing.
 */
export function fleetRecords(change?: Partial<VirtualFleet>): Promise<readonly StudyRecord[]> {
  if (change) return played(change);
  usual ??= played({});
  return usual;
}

async function played(change: Partial<VirtualFleet>): Promise<readonly StudyRecord[]> {
  if (!problem) throw new Error('there is no scenario');
  const make: VirtualFleet['make'] = (space, options) => makeSampler('random', space, options);
  const outcome = await playFleet({
    problem,
    make,
    seed: 1,
    speeds: [1, 0.8],
    maxTrials: 8,
    finalRounds: 1,
    ...change,
  });
  const last = outcome.records.at(-1) as StudyRecord;
  const restored = { how: 'config', verified: true, detail: 'has its original config again' } as const;
  const servers = outcome.state.servers.map(({ name }) => ({ server: name, ...restored }));
  return [
    ...outcome.records,
    { type: 'model-restored', at: last.at, ...restored, servers },
    { type: 'study-finished', at: last.at, stopReason: outcome.end.stopReason, interrupted: false, wallSeconds: 60 },
  ];
}

export const head = (study: string, change: Partial<StudyHead> = {}): StudyHead => ({
  study,
  group: 'a100',
  status: 'under way',
  startedAt: '2026-01-01T00:00:00.000Z',
  ...change,
});

/** A piece of work for a server. */
export const workFor = (server: string, trial: number, change: Partial<Work> = {}): Work => ({
  id: `trial-${trial}.1`,
  kind: 'trial',
  server,
  trial,
  attempt: 1,
  assignment: { instances: 2 },
  fingerprint: '',
  levels: { kind: 'search' },
  isFull: false,
  ...change,
});

export const fleetProgress = (running: readonly Work[], change: Partial<FleetProgress> = {}): FleetProgress => ({
  keeper: 'k',
  running,
  idle: [],
  held: running.map(({ server }) => server),
  phase: 'tuning',
  ...change,
});

/** What a worker says after a window of the trial that it measures. */
export function windowEvent(trial: number, window: number, throughput: number, value = 8): TunerEvent {
  const latest = {
    throughput,
    latencyAvgMs: 4,
    latencyStdMs: 1,
    latencyPercentileMs: 9,
    requests: 100,
    durationMs: 1000,
  };
  const progress: ProfileProgress = { phase: 'window', window, throughput, latencyMs: 9, latest };
  return { type: 'progress', trial, level: { mode: 'concurrency', value }, progress };
}
