import { REPORT_SEED } from '../prediction.ts';

/** Requests of one simulation: 20 beyond the p99, and their luck is in the stated range as in the prediction. */
const REQUESTS = 2000;

/** How every prediction of a what-if is simulated, and every one that its range is told by. */
export const drawOf = (percentile: number) => ({ seed: REPORT_SEED, percentile, requests: REQUESTS });
