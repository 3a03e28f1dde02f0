import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { median } from 'simple-statistics';
import { expect, inject, it, onTestFinished } from 'vitest';
import { launchEmulator } from '../../src/launch/emulator-server.ts';
import { openTunedServer, type Setting } from '../support/tuned-server.ts';

const script = resolve(import.meta.dirname, '../../src/cli/main.ts');
const ROUNDS = 3;
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
it('emulates a model that sleeps as a real Triton serves it', { timeout: 90_000 }, async () => {
  const logDirectory = await mkdtemp(join(tmpdir(), 'tritune-fidelity-'));
  const emulator = await launchEmulator({ profile: 'sleeper', script, logDirectory });
  onTestFinished(() => emulator.stop());
  const real = await openTunedServer(inject('realServer').grpcUrl, 'sleeper', windows);
  onTestFinished(() => real.close());
  const emulated = await openTunedServer(emulator.grpcUrl, 'sleeper', windows);
  onTestFinished(() => emulated.close());
  const ratios = settings.map(() => ({ throughput: [] as number[], p50: [] as number[] }));
  for (let round = 0; round < ROUNDS; round++) {
    for (const [index, setting] of settings.entries()) {
      const [ours, theirs] = [await emulated.measure(setting), await real.measure(setting)];
      ratios[index]?.throughput.push(ours.throughput.value / theirs.throughput.value);
      ratios[index]?.p50.push(ours.latencyMs.p50 / theirs.latencyMs.p50);
    }
  }
  for (const { throughput, p50 } of ratios) {
    for (const ratio of [median(throughput), median(p50)]) {
      expect(ratio).toBeGreaterThan(0.7);
      expect(ratio).toBeLessThan(1.4);
    }
  }
});
