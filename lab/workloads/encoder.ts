import { NS_PER_MS } from '../../src/base/units.ts';
import type { MadeUpModel } from './problem-under.ts';

/**
 * A made-up image encoder on a small GPU. An execution takes 6.5 ms, plus 1 ms for each image; two
 * at once each take 1.45 times as long. The emulator has it as the profile `encoder`.
 */
export const encoder: MadeUpModel = {
  name: 'encoder',
  law: {
    points: [1, 64].map((batchSize) => ({ batchSize, executionNs: (6.5 + batchSize) * NS_PER_MS })),
    interference: { perInstance: 0.45, batchExponent: 0 },
    paddedSizes: [],
    frontEndNs: 20_000,
    cv: 0.05,
    split: { input: 0.05, output: 0.05 },
  },
  axes: {
    instances: [1, 2, 3, 4],
    maxBatchSize: [1, 4, 8, 16, 32],
    queueDelayUs: [null, 0, 2000, 5000, 8000],
    settings: [{}],
  },
  baseline: { instances: 1, maxBatchSize: 8, queueDelayUs: null, settingsIndex: 0 },
  low: 40,
  high: 1500,
};

/** The budget on p99. */
export const ENCODER_BUDGET_MS = 56;
