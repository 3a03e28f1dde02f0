import { getEventListeners } from 'node:events';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createControl } from '#adapter/triton/control.ts';
import { createProfile } from '#adapter/triton/profile.ts';
import { listDevices } from '#app/server/devices.ts';
import { openServer, readOriginal } from '#app/server/open-server.ts';
import { openTraffic } from '#app/traffic/open-traffic.ts';
import { readRequests } from '#app/traffic/tensor-requests.ts';
import { realClock } from '#base/clock.ts';
import { NS_PER_S } from '#base/units.ts';
import { type Emulator, startEmulator } from '#emulator/start-emulator.ts';
import { tune } from '#library/index.ts';
import type { LoadLevel } from '#loadgen/types.ts';
import { toCandidate, toModelConfig } from '#space/model-configs.ts';
import type { ModelConfig } from '#triton/config/model-config.ts';
import { smallProfile } from '../support/emulator.ts';
import { isNightly } from '../support/fuzz.ts';
import { freshDirectory } from '../support/run-directory.ts';
import { growth, median, type ProcessState, processState, thirds } from './process-state.ts';
import { openScreen, type WatchedScreen } from './screen.ts';

/**
 * In every run of the tests as many rounds as it takes to see what each of them leaves behind; at
 * night ten minutes.
 */
const SOAK_S = isNightly ? 600 : 3;
const RUNS = isNightly ? 20 : 3;
const MIN_ROUNDS = 9;
/**
 * What is compiled or filled late looks like a leak in few samples; it ends, where a leak grows
 * with the time: while the heap grows, the run goes on up to this long.
 */
const LONGEST_S = isNightly ? 2.5 * SOAK_S : 150;
const MIB = 2 ** 20;
/**
 * Over a third of the time. What leaks a kilobyte a measurement has leaked far more by the end of
 * the night's form; the short one has few samples.
 */
const MAX_GROWTH = (isNightly ? 1.5 : 3) * MIB;
/**
 * More than this is no socket or timer that is just about to go: what leaks one a round has leaked
 * three a third.
 */
const inPassing = { descriptors: 1, threads: 0, listeners: 0, resources: 1 };
/**
 * A frame late in the run takes hardly more than one in its middle, beside what the clock of a busy
 * machine adds.
 */
const MAX_SLOWER = 3;
const BESIDE_MS = 5;

const windows = { minWindowMs: 30, minWindows: 2, maxWindows: 3, minRequests: 5, maxWarmUpMs: 60 };
const TIMEOUT_MS = 10_000;

let emulator: Emulator;
const warnings: string[] = [];
const onWarning = (warning: Error): void => void warnings.push(`${warning.name}: ${warning.message}`);

beforeAll(async () => {
  process.on('warning', onWarning);
  emulator = await startEmulator({ profile: smallProfile({ a: 4 }) });
});
afterAll(async () => {
  process.off('warning', onWarning);
  await emulator.close();
});

/** A model's server as the commands open it, with what tries a candidate on it as `tune` does. */
async function openSession(protocol: 'grpc' | 'http', clientThreads: number, signal: AbortSignal) {
  const where = { protocol, url: { grpc: emulator.grpcUrl, http: emulator.httpUrl }[protocol], dockerImage: '' };
  const addresses = { ...where, controlUrl: emulator.grpcUrl, metricsUrl: emulator.metricsUrl };
  const opened = await openServer(addresses, {}, '', signal);
  const { client } = opened;
  const original = await readOriginal(client, 'm');
  const spec = { seed: 1, batch: 1, clientThreads };
  const inputs = await readRequests(spec, original);
  const levels = { mode: 'concurrency', low: 1, high: 4 } as const;
  const traffic = await openTraffic(opened, {
    spec,
    config: original.config,
    inputs,
    levels,
    timeoutMs: TIMEOUT_MS,
  });
  const devices = listDevices(opened, 'm');
  const control = createControl(client, [{ model: 'm', config: original.config, wasLoaded: true }], {
    clock: realClock,
    restore: 'config',
    loadTimeoutMs: TIMEOUT_MS,
    settleTimeoutMs: TIMEOUT_MS,
  });
  const profile = createProfile({
    ...traffic.sending,
    requestsFor: (candidate) => traffic.requestsFor(toModelConfig(candidate)),
    stats: client,
    clock: realClock,
    percentile: 99,
    precision: 0.5,
    windows,
    deviceProbe: devices.probe,
  });
  return {
    async tryOne(instances: number, level: LoadLevel, screen: WatchedScreen): Promise<number> {
      const config: ModelConfig = { ...original.config, instance_group: [{ kind: 'KIND_CPU', count: instances }] };
      const applied = await control.apply(toCandidate(config), signal);
      const onProgress = screen.onProgress.bind(screen, level);
      const measuring = profile.measure(applied, level, { signal, onProgress });
      const [{ requests, errorRate }] = await Promise.all([measuring, screen.press()]);
      return errorRate > 0 ? 0 : requests;
    },
    async close(): Promise<void> {
      await control.restore();
      await devices.close();
      await traffic.close();
      await opened.close();
    },
  };
}

const levels: readonly [LoadLevel, LoadLevel] = [
  { mode: 'concurrency', value: 2 },
  { mode: 'request-rate', value: 100 },
];

describe('a long run', () => {
  it(
    'holds as much memory, as many descriptors, threads and listeners at its end as in its middle, and its screen answers as fast',
    async () => {
      const { signal } = new AbortController();
      const screen = await openScreen();
      const long = await openSession('grpc', 1, signal);
      const frameMs: number[] = [];
      const samples: ProcessState[] = [];
      const abortListeners: number[] = [];
      const startNs = realClock.nowNs();
      const elapsedS = (): number => (realClock.nowNs() - startNs) / NS_PER_S;
      let [tried, failed] = [0, 0];
      const tryAll = async (session: typeof long, some: readonly LoadLevel[]): Promise<void> => {
        for (const level of some) {
          tried++;
          if ((await session.tryOne(1 + (tried % 3), level, screen)) === 0) failed++;
        }
      };
      const of = (name: keyof ProcessState): number[] => samples.map((sample) => sample[name]);
      const isBrief = (): boolean => elapsedS() < SOAK_S || samples.length < MIN_ROUNDS;
      const isGrowing = (): boolean => growth(of('heapBytes')) >= MAX_GROWTH && elapsedS() < LONGEST_S;
      for (let round = 0; isBrief() || isGrowing(); round++) {
        // Every other brief session is over HTTP; to start the threads of one takes more than all
        // that it measures.
        const brief = await openSession(round % 2 === 0 ? 'http' : 'grpc', round % 4 === 3 ? 2 : 1, signal);
        await tryAll(long, isNightly ? levels : [levels[round % 2 === 0 ? 0 : 1]]);
        await tryAll(brief, [levels[round % 3 === 0 ? 0 : 1]]);
        await brief.close();
        frameMs.push(await screen.frameMs());
        samples.push(await processState());
        abortListeners.push(getEventListeners(signal, 'abort').length);
      }
      await long.close();
      screen.close();
      const mib = (bytes: number): string => `${(bytes / MIB).toFixed(2)} MiB`;
      const told = `${tried} measurements in ${elapsedS().toFixed(0)} s; a frame in ${median(frameMs).toFixed(1)} ms, heap ${mib(median(of('heapBytes')))}, grown by ${mib(growth(of('heapBytes')))}, buffers by ${mib(growth(of('externalBytes')))}`;
      if (isNightly) process.stdout.write(`soak: ${told}; ${JSON.stringify(samples.at(-1))}\n`);
      expect(failed, told).toBe(0);
      expect(growth(of('heapBytes')), `heap in bytes; ${told}`).toBeLessThan(MAX_GROWTH);
      expect(growth(of('externalBytes')), `buffers in bytes; ${told}`).toBeLessThan(MAX_GROWTH);
      for (const name of ['descriptors', 'threads', 'listeners', 'resources'] as const) {
        expect(growth(of(name)), `${name}: ${of(name).join(' ')}`).toBeLessThanOrEqual(inPassing[name]);
      }
      expect(growth(abortListeners), abortListeners.join(' ')).toBeLessThanOrEqual(0);
      const [, middle, last] = thirds(frameMs).map(median) as [number, number, number];
      expect(last, `a frame in ms: ${frameMs.join(' ')}`).toBeLessThan(MAX_SLOWER * middle + BESIDE_MS);
      expect(warnings).toEqual([]);
    },
    isNightly ? LONGEST_S * 1000 + 60_000 : 240_000,
  );

  it(
    'leaves nothing open: one run after another in a process',
    async () => {
      const states: ProcessState[] = [];
      for (let run = 0; run < RUNS; run++) {
        const summary = await tune({
          model: 'm',
          url: emulator.grpcUrl,
          metricsUrl: emulator.metricsUrl,
          output: await freshDirectory(),
          concurrency: { low: 1, high: 1 },
          maxTrials: 1,
          precision: 50,
          timeBudget: 1,
          clientThreads: 1 + (run % 2),
        });
        expect(summary.restored?.verified).toBe(true);
        states.push(await processState());
      }
      // The first one loads modules, and the pool of threads for files.
      const [, second, ...later] = states as [ProcessState, ProcessState, ...ProcessState[]];
      for (const name of ['descriptors', 'threads', 'listeners'] as const) {
        for (const state of later) expect(state[name], name).toBeLessThanOrEqual(second[name]);
      }
      if (isNightly) expect(growth(states.map(({ heapBytes }) => heapBytes))).toBeLessThan(MAX_GROWTH);
    },
    RUNS * 30_000,
  );
});
