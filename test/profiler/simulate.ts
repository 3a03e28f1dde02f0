import type { ClientWatch } from '#loadgen/client/cost.ts';
import type { LevelOptions } from '#profiler/level-options.ts';
import { measureLevel } from '#profiler/measure-level.ts';
import type { Measurement } from '#profiler/measurement.ts';
import { aRequestSet, SimulatedClock, type SimulatedModel, SimulatedServer } from '../loadgen/simulation.ts';

/** In virtual time this process says nothing about a client. */
export const idleClient: ClientWatch = {
  restart: () => undefined,
  read: () => ({ cpuUs: 0, cpuShare: 0, loopShare: 0, longestDelayMs: 0, medianDelayMs: 0 }),
  stop: () => undefined,
};

/** Measures a server in memory, in virtual time. */
export function simulate(model: SimulatedModel, level: number, change: Partial<LevelOptions> = {}) {
  const clock = new SimulatedClock();
  const server = new SimulatedServer(clock, model);
  const options: LevelOptions = {
    transport: server,
    requests: aRequestSet,
    level: { mode: 'concurrency', value: level },
    stats: server,
    clock,
    signal: new AbortController().signal,
    percentile: 99,
    watchClient: () => idleClient,
    ...change,
  };
  return { clock, server, measurement: measureLevel(options) };
}

export const measure = (
  model: SimulatedModel,
  level: number,
  change: Partial<LevelOptions> = {},
): Promise<Measurement> => simulate(model, level, change).measurement;
