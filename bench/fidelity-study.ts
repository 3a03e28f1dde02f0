import { TRITON, toCandidate, toOriginal } from '#space/model-configs.ts';
import { toSpec } from '#spec/spec-of-options.ts';
import type { StudyRecord } from '#study/records/records.ts';
import type { Setting, TunedServer } from '../test/support/tuned-server.ts';

/** Returns the journal of a study that measured only these settings, from which a twin is made. */
export async function recordsOfSettings(
  server: TunedServer,
  model: string,
  settings: readonly Setting[],
): Promise<StudyRecord[]> {
  const at = new Date().toISOString();
  const identity = { url: '', controlUrl: '', protocol: 'grpc', controlProtocol: 'grpc', emulated: null } as const;
  const records: StudyRecord[] = [
    {
      type: 'study-started',
      at,
      schemaVersion: 2,
      adapter: TRITON,
      model,
      server: { name: 'triton', version: '', ...identity },
      original: toOriginal(server.original),
      wasLoaded: true,
      goal: { budget: null, constraints: [], objectives: [{ metric: 'throughput', weight: 1 }] },
      levels: { mode: 'concurrency', low: 1, high: 64 },
      sampler: 'settings',
      seed: 1,
      space: {},
      spec: toSpec({ model }),
      commandLine: [],
      trituneVersion: 'bench',
    },
  ];
  for (const [trial, setting] of settings.entries()) {
    const candidate = toCandidate(server.configOf(setting), { trial });
    records.push({ type: 'trial-started', at, trial, role: 'search', candidate });
    records.push({ type: 'trial-measured', at, trial, measurement: await server.measure(setting) });
    records.push({ type: 'trial-finished', at, trial, chosen: 0, feasible: true, failure: null });
  }
  return records;
}
