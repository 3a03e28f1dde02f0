import { expect, it } from 'vitest';
import { loadsOn } from '#app/capacity/loads.ts';
import { listFronts, played } from '#app/traffic/workload.ts';
import type { PreparedRequest, SendOutcome } from '#loadgen/types.ts';
import { defaultWindowRule, type LevelOptions } from '#profiler/level-options.ts';
import type { LevelReport } from '#profiler/level-report.ts';
import { play } from '#profiler/play.ts';
import { parseWorkload } from '#workload/read-workload.ts';
import { aRequestSet, SimulatedClock, SimulatedServer } from '../loadgen/simulation.ts';
import { idleClient } from '../profiler/simulate.ts';

/** Keeps the time from each request to the next. */
class ListeningServer extends SimulatedServer {
  readonly sentNs: number[] = [];

  override send(prepared: PreparedRequest, done: (outcome: SendOutcome) => void): void {
    this.sentNs.push(this.clock.nowNs());
    super.send(prepared, done);
  }
}

/** Classes of two models, of which the first has three quarters of the requests. */
const OF_TWO_MODELS = { large: { weight: 3, model: 'm' }, small: { weight: 1, model: 'n' } };

/**
 * Returns the gaps between the requests of two readings of a workload at the same rate, in
 * microseconds, for its first model.
 */
async function gapsOfTwo(seed: number, classes?: typeof OF_TWO_MODELS): Promise<readonly (readonly number[])[]> {
  const phases = [{ durationS: 2, arrivals: { process: 'poisson', perSecond: 50 } }];
  const text = JSON.stringify({ workloadVersion: 1, phases, classes });
  const workload = played(await parseWorkload(text, 'w.json'), { seed: 1 });
  const clock = new SimulatedClock();
  const servers = [0, 1].map(() => new ListeningServer(clock, { instances: 8, executionNs: () => 1e6 }));
  const [server] = servers as [ListeningServer, ListeningServer];
  const usual = {
    clock,
    signal: new AbortController().signal,
    percentile: 99,
    scheduleAt: (perSecond) => ({ kind: 'arrivals', plan: workload.planAt(perSecond) }),
  } satisfies Partial<LevelOptions>;
  const fronts = listFronts(workload, 'm').map(({ model, indexes }, place) => ({
    transport: servers[place] as ListeningServer,
    stats: servers[place] as ListeningServer,
    requests: { ...aRequestSet, model },
    watchClient: () => idleClient,
    classes: indexes,
  }));
  const loads = loadsOn(
    {
      serviceKind: 'TRITON',
      isDecoupled: false,
      assumptions: [],
      close: async () => undefined,
      measure: async (level, _, change) => {
        const measurement = await play({ ...usual, level, ...change }, fronts);
        return { measurement } as LevelReport;
      },
    },
    {
      budgetMs: 50,
      seed,
      requestTimeoutSeconds: 5,
      windows: defaultWindowRule,
      distribution: 'poisson',
      scheduleAt: (perSecond, own) => ({ kind: 'arrivals', plan: workload.planAt(perSecond, own) }),
      workload: { perSecond: 50, passSeconds: 2 },
    },
  );
  const readings: number[][] = [];
  for (let reading = 0; reading < 2; reading++) {
    server.sentNs.length = 0;
    await loads.atRate(80, 'counted');
    const { sentNs } = server;
    readings.push(sentNs.slice(1, 100).map((ns, index) => Math.round((ns - (sentNs[index] as number)) / 1000)));
  }
  return readings;
}

it('every reading of a workload has arrivals of its own, which are those of the seed', async () => {
  const [first, second] = await gapsOfTwo(7);
  expect(first).toHaveLength(99);
  expect(second).not.toEqual(first);
  expect(await gapsOfTwo(7)).toEqual([first, second]);
});

it('each of several models has its part of the arrivals of a reading', async () => {
  const [alone] = await gapsOfTwo(7);
  const [first, second] = await gapsOfTwo(7, OF_TWO_MODELS);
  const mean = (gaps: readonly number[] = []): number => gaps.reduce((sum, gap) => sum + gap, 0) / gaps.length;
  expect(mean(first) / mean(alone)).toBeCloseTo(4 / 3, 0);
  expect(second).not.toEqual(first);
});
