import { expect, it } from 'vitest';
import { loadsOn } from '../../src/app/capacity/loads.ts';
import { measureFronts } from '../../src/app/profile/front-share.ts';
import { frontsOf, played } from '../../src/app/traffic/workload.ts';
import type { PreparedRequest, SendOutcome } from '../../src/loadgen/types.ts';
import { defaultWindowRule, type LevelOptions } from '../../src/profiler/level-options.ts';
import type { LevelReport } from '../../src/profiler/level-report.ts';
import { parseWorkload } from '../../src/workload/read-workload.ts';
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

/** Returns the gaps between the requests of two readings of a workload at the same rate, in microseconds. */
async function gapsOfTwo(seed: number): Promise<readonly (readonly number[])[]> {
  const phases = [{ durationS: 2, arrivals: { process: 'poisson', perSecond: 50 } }];
  const workload = played(await parseWorkload(JSON.stringify({ workloadVersion: 1, phases }), 'w.json'), { seed: 1 });
  const clock = new SimulatedClock();
  const server = new ListeningServer(clock, { instances: 8, executionNs: () => 1e6 });
  const usual = {
    ...{ clock, signal: new AbortController().signal, percentile: 99 },
    scheduleAt: (perSecond) => ({ kind: 'arrivals', plan: workload.planAt(perSecond) }),
  } satisfies Partial<LevelOptions>;
  const front = { transport: server, requests: aRequestSet, stats: server, watchClient: () => idleClient };
  const loads = loadsOn(
    {
      ...{ serviceKind: 'TRITON', isDecoupled: false, assumptions: [], close: async () => undefined },
      measure: async (level, _, change) => {
        const [part] = frontsOf(workload, 'm');
        const measurement = await measureFronts({ ...usual, level, ...change }, [{ ...front, part }], { workload });
        return { measurement } as LevelReport;
      },
    },
    {
      ...{ budgetMs: 50, seed, requestTimeoutSeconds: 5, windows: defaultWindowRule, distribution: 'poisson' },
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
