import { reportDraw } from '../summary/prediction.ts';

/**
 * Requests of one simulation: 20 beyond the p99. The stated range includes its sampling error,
 * because the prediction does.
 */
const REQUESTS = 2000;

/** Returns the settings of the simulations of all what-if predictions and their ranges. */
export const createDraw = (percentile: number) => reportDraw(percentile, REQUESTS);
