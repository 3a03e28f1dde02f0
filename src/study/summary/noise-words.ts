import { formatFigure, formatMs } from '../../base/format.ts';
import type { LoadLevel } from '../../loadgen/types.ts';
import type { LatencyBudget } from '../types.ts';
import { type NoiseFloor, noiseVerdict } from './noise-floor.ts';

/** A noise floor in words. */
export interface NoiseWords {
  /** `quiet` if it needs no attention. */
  readonly tone: 'warning' | 'note' | 'quiet';
  /** `p99 at one request in flight: 6.2 ms (4.9 to 11.2 by window)`. */
  readonly figures: string;
  /** Its meaning for the budget, to follow the figures; null without a budget on this percentile. */
  readonly meaning: string | null;
  /** The remedy; null if none is needed. */
  readonly advice: string | null;
}

const ADVICE =
  'try a quieter machine, a larger --latency-budget, a lower --percentile, or longer windows (--stability perf-analyzer)';

/** Returns the words for a noise floor, relative to the budget of the goal. */
export function describeNoise(floor: NoiseFloor, budget: LatencyBudget | null): NoiseWords {
  const { level, percentile, valueMs, lowMs, highMs, windows, share } = floor;
  const by = windows === 1 ? '' : ` (${formatFigure(lowMs)} to ${formatFigure(highMs)} by window)`;
  const figures = `p${percentile} at ${atRest(level)}: ${formatMs(valueMs)}${by}`;
  if (budget === null || share === null) return { tone: 'quiet', figures, meaning: null, advice: null };
  const budgetIs = `budget ${formatMs(budget.latencyMs)}`;
  switch (noiseVerdict(floor, budget.latencyMs)) {
    case 'model':
      return {
        ...{ tone: 'warning', figures },
        meaning: `${budgetIs}: even at this load half of the requests take ${formatMs(floor.medianMs)} or more`,
        advice: 'try a larger --latency-budget, or a config that makes a single request faster',
      };
    case 'breaks':
      return { tone: 'warning', figures, meaning: `${budgetIs}: noise alone breaks it`, advice: ADVICE };
    case 'may-break':
      return {
        ...{ tone: 'warning', figures, advice: ADVICE },
        meaning: `${budgetIs}: in a bad window, noise alone breaks it`,
      };
    case 'large':
      return {
        tone: 'note',
        figures,
        meaning: `${budgetIs}: noise takes ${percent(share)} of it`,
        advice: null,
      };
    case 'small':
      return {
        ...{ tone: 'quiet', figures, advice: null },
        meaning: `${budgetIs}: noise takes ${percent(share)} of it`,
      };
  }
}

/** Returns figures and meaning as one sentence without a full stop. */
export const noiseSentence = ({ figures, meaning }: NoiseWords): string =>
  meaning === null ? figures : `${figures}, ${meaning}`;

const percent = (share: number): string => `${(100 * share).toFixed(0)} %`;

function atRest({ mode, value, batch = 1 }: LoadLevel): string {
  if (batch > 1) return `${value} ${value === 1 ? 'request' : 'requests'} of ${batch} in flight`;
  if (mode === 'request-rate') return `${formatFigure(value)} requests/s`;
  return value === 1 ? 'one request in flight' : `${value} requests in flight`;
}
