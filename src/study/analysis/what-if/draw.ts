import { reportDraw } from '../../summary/prediction.ts';

/** Requests of one simulation: 20 beyond the p99. Its sampling error is in the stated range as it is in the prediction. */
const REQUESTS = 2000;

/** Returns the settings of the simulations of all what-if predictions and their ranges. */
export const drawOf = (percentile: number) => reportDraw(percentile, REQUESTS);
