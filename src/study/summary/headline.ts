import { capital, formatFigure, formatMs, formatRate } from '#base/format.ts';
import { lookUp } from '#base/look-up.ts';
import { describeTooManyFailed } from '#profiler/failed-requests.ts';
import { allowedErrorRate } from '../goal/goal.ts';
import { builtInMetrics, type Metrics } from '../goal/metrics/registry.ts';
import { isSameLevel } from '../level-line.ts';
import type { LatencyBudget } from '../types.ts';
import { isInCost } from './cost-point.ts';
import { decidingFigures, describeBasis, judgedPoint } from './deciding-figures.ts';
import { describeLevel, describeObjectives, describeRequestLimits } from './describe.ts';
import { describeLimits, describeStudied } from './limits-words.ts';
import type { StandingPoint } from './point-schema.ts';
import { chooseRateUnit } from './rate-unit.ts';
import type { Summary } from './summary-schema.ts';
import { isOriginal } from './verdict.ts';

/** The outcome of a study, in a sentence. */
export interface Headline {
  readonly text: string;
  /**
   * `good`: shown to be better; `unsure`: not confirmed; `same`: the original stays; `bad`: nothing
   * meets the goal, or nothing was measured.
   */
  readonly tone: 'good' | 'unsure' | 'same' | 'bad';
}

/** Returns the verdict on a study, finished or not. `metrics`: the meaning of the goal's names. */
export function createHeadline(summary: Summary, metrics: Metrics = builtInMetrics): Headline {
  const { best, baseline, feasible } = summary;
  const limits = describeLimits(summary, metrics);
  const within = `${limits === '' ? '' : ` within ${limits}`}${describeStudied(summary)}`;
  if (!best) {
    const text = summary.interrupted
      ? 'No result: the run ended before its first trial was done.'
      : `Nothing could be measured: ${summary.stopReason}.`;
    return { tone: 'bad', text };
  }
  if (!feasible) {
    const failed = describeTooManyFailed(best, allowedErrorRate(summary.constraints));
    if (failed)
      return {
        tone: 'bad',
        text: `No config that was tried meets the goal. The nearest, ${formatName(summary)}, misses it because ${failed}.`,
      };
    const kept = limits === '' ? 'serves without too many failed requests' : `meets ${limits}`;
    return {
      tone: 'bad',
      text: `No config that was tried ${kept}. The nearest, ${formatName(summary)}, gives ${figures(best, summary.budget)}.`,
    };
  }
  if (summary.verdict === 'nothing-better') {
    const isAlone = summary.counts.trials - summary.counts.failed <= 1;
    const outcome = isAlone ? 'Only your config was measured' : 'Your config is as good as anything tried';
    return { tone: 'same', text: `${outcome}: it gives ${figures(best, summary.budget)}${within}.` };
  }
  if (!baseline)
    return {
      tone: 'unsure',
      text: `Trial ${best.trial} gives ${figures(best, summary.budget)}${within}; your config could not be measured, so the gain is not known.`,
    };
  return gained(summary, metrics, within);
}

/** The best differs from the original, and meets the goal. */
function gained(summary: Summary, metrics: Metrics, within: string): Headline {
  const { best, baseline, gain, searchGain, objectives } = summary;
  const over = baseline?.feasible ? '' : ' Your config misses that limit.';
  const shownGain = gain ?? searchGain;
  if (!shownGain || shownGain.ratio === null) {
    const trial = best ? `Trial ${best.trial} gives ${figures(best, summary.budget)}${within}` : 'The best';
    return { tone: 'unsure', text: `${trial}; how much better that is was not measured.${over}` };
  }
  const { ratio, low, high } = shownGain;
  const factor = (value: number): string => factorText(value, objectives);
  const what = `${factor(ratio)} ${comparedWith(summary, metrics)}${within}`;
  if (!gain)
    return {
      tone: 'unsure',
      text: `About ${what}, by the search alone${formatLevels(summary)}: no final has confirmed it yet.${over}`,
    };
  if (low === null || high === null || !(low > 0))
    return { tone: 'unsure', text: `About ${what}, by a single comparison, so without an interval.${over}` };
  const [from, to] = isInCost(objectives) ? [high, low] : [low, high];
  const interval = `${factor(from)} to ${factor(to)}`;
  return { tone: 'good', text: `${capital(what)} (95 % interval: ${interval}).${over}` };
}

/**
 * Names the levels of both where the search measured them at different ones; '' where they are the
 * same.
 */
function formatLevels({ best, baseline }: Summary): string {
  if (!best || !baseline || isSameLevel(best.load, baseline.load)) return '';
  return ` (the best at ${describeLevel(best.load)}, your config at ${describeLevel(baseline.load)})`;
}

const formatName = ({ best, baseline }: Summary): string =>
  isOriginal(best, baseline) ? 'your own config' : `trial ${best?.trial}`;

/** Names of rates that read better in a sentence than their labels. */
const rates: Readonly<Record<string, string>> = {
  'output-token-throughput': 'output tokens per second',
  'total-token-throughput': 'tokens per second',
};

/** `times the throughput of your config`, to follow the factor. */
function comparedWith({ objectives, goodput }: Summary, metrics: Metrics): string {
  const [objective, ...others] = objectives;
  const metric = objective && metrics.has(objective.metric) ? metrics.named(objective.metric) : null;
  if (!metric || others.length > 0) return `times as good as your config by ${describeObjectives(objectives)}`;
  const name = lookUp(rates, metric.name) ?? `${metric.label}${metric.name.startsWith('latency-') ? ' latency' : ''}`;
  if (isInCost(objectives)) return `of your config's ${name}`;
  const limits = metric.name === 'goodput' && goodput ? ` (requests within ${describeRequestLimits(goodput)})` : '';
  return metric.better === 'higher'
    ? `times the ${name} of your config${limits}`
    : `times lower ${name} than your config`;
}

/** Returns the gain as a factor, `2.45`; a gain in cost as the remaining share, `62 %`. */
export const factorText = (ratio: number, objectives: Summary['objectives']): string =>
  isInCost(objectives) ? `${Math.round(100 / ratio)} %` : ratio.toFixed(2);

/**
 * `1,389 infer/s at p99 51.5 ms`, as compared, and what was measured if that is different; for a
 * language model its tokens.
 */
function figures(point: StandingPoint, budget: LatencyBudget | null): string {
  const { goodput, ...deciding } = decidingFigures(point);
  const good = goodput ? `a goodput of ${formatFigure(goodput.value ?? Number.NaN)} requests/s, ` : '';
  return `${good}${plainFigures(deciding)}${describeBasis(judgedPoint(point), budget)}`;
}

function plainFigures(point: StandingPoint): string {
  const { throughput, budgetLatencyMs, tokens } = point;
  const { percentile, value } = budgetLatencyMs;
  if (!tokens) {
    const rate = formatRate(throughput.value ?? Number.NaN, chooseRateUnit(point));
    return `${rate} at p${percentile} ${formatMs(value ?? Number.NaN)}`;
  }
  const rate = `${formatFigure(tokens.outputTokensPerSecond.value ?? Number.NaN)} output tokens/s`;
  const { ttftMs, itlMs } = tokens.budget;
  const time = (of: { readonly value: number | null }): string => formatMs(of.value ?? Number.NaN);
  return `${rate} at p${percentile} TTFT ${time(ttftMs)} and ITL ${time(itlMs)}`;
}
