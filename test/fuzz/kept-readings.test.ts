import { describe, it } from 'vitest';
import { explainObservation } from '#app/explain/explain.ts';
import type { ObservedServer } from '#app/explain/observation.ts';
import { FUZZ_TIMEOUT_MS, refusedOrAsync } from '../support/fuzz.ts';
import { fuzzSubject } from '../support/guided-fuzz.ts';
import { keptReadings } from './parsers/documents.ts';

const explained = {
  ...keptReadings,
  name: 'readings that are explained',
  read: async (bytes: Buffer): Promise<unknown> => {
    const observed = (await keptReadings.read(bytes)) as ObservedServer | undefined;
    if (observed === undefined) return undefined;
    const explain = () => explainObservation(observed, { percentile: 99, latencyMs: 50 }, undefined, () => {});
    return refusedOrAsync(explain, 'INPUT_INVALID', 'CONFIG_INVALID');
  },
};

describe('readings that explain kept', () => {
  it('are explained, whatever they say, or refused with a code', { timeout: FUZZ_TIMEOUT_MS }, () =>
    fuzzSubject(explained, { cases: 30, seed: 'always' }),
  );
});
