import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { median } from 'simple-statistics';
import { expect, inject, it, onTestFinished } from 'vitest';
import { launchEmulator } from '#launch/emulator-server.ts';
import { cliProgram } from '../support/cli-program.ts';
import { openTunedServer, type Setting } from '../support/tuned-server.ts';

/** Each measures both servers in turn. More follow while a busy machine makes the medians stray. */
const [MIN_ROUNDS, MAX_ROUNDS] = [3, 7];
const [LOW, HIGH] = [0.7, 1.4];
const windows = { minWindows: 2, maxWindows: 3, minWindowMs: 250, minRequests: 50 };

/** Few changes of the model, as each takes a second or two. */
const settings: readonly Setting[] = [
  { instances: 1, maxBatchSize: 8, queueDelayUs: 0, concurrency: 1 },
  { instances: 1, maxBatchSize: 8, queueDelayUs: 0, concurrency: 24 },
  { instances: 2, maxBatchSize: 8, queueDelayUs: 0, concurrency: 32 },
];

/**
 * `npm run bench:fidelity` says by how little it misses on a quiet machine; this is what must hold
 * on any.
 */
it('emulates a model that sleeps as a real Triton serves it', { timeout: 180_000 }, async () => {
  const logDirectory = await mkdtemp(join(tmpdir(), 'tritune-fidelity-'));
  const emulator = await launchEmulator({ profile: 'sleeper', script: cliProgram('main'), logDirectory });
  onTestFinished(() => emulator.stop());
  const real = await openTunedServer(inject('realServer').grpcUrl, 'sleeper', windows);
  onTestFinished(() => real.close());
  const emulated = await openTunedServer(emulator.grpcUrl, 'sleeper', windows);
  onTestFinished(() => emulated.close());
  const ratios = settings.map(() => ({ throughput: [] as number[], p50: [] as number[] }));
  const medians = (): readonly number[] => ratios.flatMap(({ throughput, p50 }) => [median(throughput), median(p50)]);
  const isClose = (): boolean => medians().every((ratio) => ratio > LOW && ratio < HIGH);
  for (let round = 0; round < MAX_ROUNDS && (round < MIN_ROUNDS || !isClose()); round++) {
    for (const [index, setting] of settings.entries()) {
      const [ours, theirs] = [await emulated.measure(setting), await real.measure(setting)];
      ratios[index]?.throughput.push(ours.throughput.value / theirs.throughput.value);
      ratios[index]?.p50.push(ours.latencyMs.p50 / theirs.latencyMs.p50);
    }
  }
  for (const ratio of medians()) {
    expect(ratio).toBeGreaterThan(LOW);
    expect(ratio).toBeLessThan(HIGH);
  }
});
