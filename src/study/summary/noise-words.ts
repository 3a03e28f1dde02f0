import { formatFigure, formatMs } from '#base/format.ts';
import type { LoadLevel } from '#loadgen/types.ts';
import type { LatencyBudget } from '../types.ts';
import type { NoiseFloor } from './context-schema.ts';
import { noiseVerdict } from './noise-floor.ts';

/** A noise floor in words. */
export interface NoiseWords {
  /** `quiet` if it needs no attention. */
  readonly tone: 'warning' | 'note' | 'quiet';
  /** `p99 is 6.2 ms with one request in flight (4.9 to 11.2 by window)`. */
  readonly figures: string;
  /**
   * Its meaning for the budget, to follow the figures; null without a budget on this percentile.
   */
  readonly meaning: string | null;
  /** The remedy; null if none is needed. */
  readonly advice: string | null;
}

const ADVICE =
  'try a quieter machine, a larger --latency-budget, a lower --percentile, or longer windows (--stability perf-analyzer)';

const QUEUE_ADVICE =
  'find out why a request waits in an idle server: its queue policy, its rate limiter, or other models on its cores';

/** Returns the words for a noise floor, relative to the budget of the goal. */
export function describeNoise(floor: NoiseFloor, budget: LatencyBudget | null): NoiseWords {
  const { level, percentile, valueMs, lowMs, highMs, windows, share } = floor;
  const by = windows === 1 ? '' : ` (${formatFigure(lowMs)} to ${formatFigure(highMs)} by window)`;
  const figures = `p${percentile} is ${formatMs(valueMs)} ${atRest(level)}${by}`;
  if (budget === null || share === null) return { tone: 'quiet', figures, meaning: null, advice: null };
  const yours = `your ${formatMs(budget.latencyMs)} budget`;
  const { serverQueueMs } = floor;
  const cause =
    serverQueueMs === undefined
      ? 'noise alone'
      : `waiting in the server's own queue (${formatMs(serverQueueMs)} in the mean)`;
  const advice = serverQueueMs === undefined ? ADVICE : QUEUE_ADVICE;
  const usesUp = `${cause} uses up ${percent(share)} of the headroom to ${yours}`;
  switch (noiseVerdict(floor, budget.latencyMs)) {
    case 'model':
      return {
        tone: 'warning',
        figures,
        meaning: `half of the requests take ${formatMs(floor.medianMs)} or more even at this load, over ${yours}`,
        advice: 'try a larger --latency-budget, or a config that makes a single request faster',
      };
    case 'breaks':
      return { tone: 'warning', figures, meaning: `${cause} exceeds ${yours}`, advice };
    case 'may-break':
      return {
        tone: 'warning',
        figures,
        advice,
        meaning: `in a bad window, ${cause} exceeds ${yours}`,
      };
    case 'large':
      return {
        tone: 'note',
        figures,
        meaning: usesUp,
        advice: null,
      };
    case 'small':
      return {
        tone: 'quiet',
        figures,
        advice: null,
        meaning: usesUp,
      };
  }
}

/** Returns figures and meaning as one sentence without a full stop. */
export const noiseSentence = ({ figures, meaning }: NoiseWords): string =>
  meaning === null ? figures : `${figures}; ${meaning}`;

const percent = (share: number): string => `${(100 * share).toFixed(0)} %`;

function atRest({ mode, value, batch = 1 }: LoadLevel): string {
  if (batch > 1) return `with ${value} ${value === 1 ? 'request' : 'requests'} of ${batch} in flight`;
  if (mode === 'request-rate') return `at ${formatFigure(value)} requests/s`;
  return value === 1 ? 'with one request in flight' : `with ${value} requests in flight`;
}
