import { formatFigure, formatRatio } from '#base/format.ts';
import { representative } from '#study/final/final.ts';
import { listConstraints, missedConstraints } from '#study/goal/goal.ts';
import { countedIn, metricCell, metricText } from '#study/goal/metrics/format.ts';
import type { Metric } from '#study/goal/metrics/metric.ts';
import { type Metrics, toMetrics } from '#study/goal/metrics/registry.ts';
import type { StudyState } from '#study/records/state.ts';
import { isInCost } from '#study/summary/cost-point.ts';
import { basisNotes } from '#study/summary/deciding-figures.ts';
import { describeLevel } from '#study/summary/describe.ts';
import { factorText } from '#study/summary/headline.ts';
import { percentileLabel } from '#study/summary/limits-words.ts';
import { chooseRateUnit } from '#study/summary/rate-unit.ts';
import type { Summary } from '#study/summary/summary-schema.ts';
import { isOriginal } from '#study/summary/verdict.ts';
import type { Trial } from '#study/types.ts';
import { type Html, html, none } from '../html.ts';
import { type Card, cardsHtml } from './first-cards.ts';

/**
 * Returns the three figures of a study: the objective with the original config, the objective with
 * the best, and the gain. Empty without a best.
 */
export function threeFigures(state: StudyState, summary: Summary): Html {
  const { best, baseline } = state;
  if (!best) return none;
  const isOriginal = baseline?.number === best.number;
  const cards: readonly Card[] = isOriginal
    ? [renderCard(state, 'your config', best), otherCard(state), gainCard(summary, state)]
    : [
        baseline ? renderCard(state, 'before: your config', baseline) : notMeasured('before: your config'),
        renderCard(state, `${summary.feasible ? 'after' : 'nearest'}: trial ${best.number}`, best),
        gainCard(summary, state),
      ];
  return html`${cardsHtml(cards)}
${quotientNote(state, summary)}`;
}

function renderCard(state: StudyState, name: string, trial: Trial): Card {
  const { goal } = state;
  const metrics = toMetrics(goal);
  const stands = representative(state, trial);
  if (!stands) return notMeasured(name);
  const { measurement, compared, feasible } = stands;
  const named = (metric: string): Metric => countedIn(metrics.named(metric), chooseRateUnit(measurement));
  const [objective, ...others] = goal.objectives.map(({ metric }) => named(metric));
  if (!objective) return notMeasured(name);
  const read = (metric: string): number | undefined => metrics.read(metric, compared, trial.candidate);
  const interval = objective.interval?.of(compared, trial.candidate);
  const range =
    interval && Number.isFinite(interval.low) && Number.isFinite(interval.high)
      ? [`95 %: ${metricCell(objective, interval.low)} to ${metricCell(objective, interval.high)}`]
      : [];
  const missed = new Set(missedConstraints(compared, trial.candidate, goal).map(({ metric }) => metric));
  const { percentile } = measurement.budgetLatencyMs;
  const limits = limitNames(state).map((limited) => {
    const metric = named(limited);
    const over = missed.has(limited) ? `, over ${limited === 'latency' ? 'budget' : 'the limit'}` : '';
    return `${percentileLabel(metric, percentile)} ${metricText(metric, read(limited))}${over}`;
  });
  return {
    name,
    value: metricText(objective, read(objective.name)),
    notes: [
      ...(TELLING_UNITS.includes(objective.unit) ? [] : [objective.label]),
      ...range,
      ...others.map((metric) => `${metric.label} ${metricText(metric, read(metric.name))}`),
      `at ${describeLevel(measurement.level)}`,
      limits.join(', '),
      ...basisNotes(stands, goal.budget),
    ],
    tone: feasible ? 'plain' : 'bad',
  };
}

/** Units that explain the figure by themselves. */
const TELLING_UNITS = ['infer/s', 'requests/s', 'tokens/s'];

/** Returns the metrics that the goal limits, or latency if there is none. */
function limitNames({ goal }: StudyState): readonly string[] {
  const metrics = listConstraints(goal).flatMap(({ metric }) => (metric === 'error-rate' ? [] : [metric]));
  return metrics.length > 0 ? [...new Set(metrics)] : ['latency'];
}

const notMeasured = (name: string): Card => ({ name, value: 'not measured', notes: [], tone: 'plain' });

/** Returns the best of the other trials, if the original stays. */
function otherCard(state: StudyState): Card {
  const { trials, baseline, gain } = state;
  const others = trials.filter((trial) => trial !== baseline && trial.measurements.length > 0);
  const rejected = others.find(({ number }) => number === gain?.rejected?.trial);
  const name = 'best alternative';
  const findThroughput = (trial: Trial): number => representative(state, trial)?.compared.throughput.value ?? 0;
  const feasible = others.filter((trial) => representative(state, trial)?.feasible);
  const other = rejected ?? feasible.toSorted((a, b) => findThroughput(b) - findThroughput(a))[0];
  return other ? renderCard(state, `${name}: trial ${other.number}`, other) : { ...notMeasured(name), value: 'none' };
}

function gainCard(summary: Summary, { trials }: StudyState): Card {
  const { gain, searchGain, best, baseline, rejected, objectives, feasible } = summary;
  const isCost = isInCost(objectives);
  const name = isCost ? 'relative cost' : 'gain';
  if (!feasible) return { name, value: 'none', notes: ['nothing tried meets the goal'], tone: 'bad' };
  if (isOriginal(best, baseline)) {
    const others = trials.filter(({ measurements }) => measurements.length > 0).length - 1;
    const reason = rejected
      ? `trial ${rejected.trial}: ${rejected.reason}`
      : `${others} other config${others === 1 ? '' : 's'} measured`;
    return { name, value: 'none', notes: [reason], tone: 'plain' };
  }
  const shownGain = gain ?? searchGain;
  if (!shownGain || shownGain.ratio === null) return { ...notMeasured(name), tone: 'unsure' };
  const factor = (value: number): string => (isCost ? factorText(value, objectives) : formatRatio(value));
  const { ratio, low, high } = shownGain;
  if (!gain)
    return {
      name,
      value: `about ${factor(ratio)}`,
      notes: ['from the search alone', 'not confirmed by a final'],
      tone: 'unsure',
    };
  if (low === null || high === null || !(low > 0))
    return { name, value: `about ${factor(ratio)}`, notes: ['a single comparison, so no interval'], tone: 'unsure' };
  const [from, to] = isCost ? [high, low] : [low, high];
  return {
    name,
    value: factor(ratio),
    notes: [
      ...(isCost ? ["of your config's cost"] : []),
      `95 %: ${factor(from)} to ${factor(to)}`,
      'from alternating runs',
    ],
    tone: low > 1 ? 'good' : 'unsure',
  };
}

/**
 * A gain that differs from the quotient of the two figures by more than this factor is explained.
 */
const SAME_RATIO = 1.03;

/** Explains why the gain differs from the quotient of the two figures next to it. */
function quotientNote(state: StudyState, { gain, best, baseline, objectives }: Summary): Html {
  if (!gain || gain.ratio === null || !best || !baseline || isOriginal(best, baseline)) return none;
  const quotient = computeQuotient(state, toMetrics(state.goal), objectives[0]?.metric);
  if (objectives.length > 1 || quotient === null) return none;
  const apart = Math.max(quotient / gain.ratio, gain.ratio / quotient);
  if (apart <= SAME_RATIO) return none;
  const shown = isInCost(objectives) ? factorText(quotient, objectives) : formatFigure(quotient);
  return html`<p class="soft">The ratio of the two figures is ${shown}. Each is a single measurement; the gain comes from alternating runs of both configs, so that slow periods of the machine affect both.</p>`;
}

/** Returns how many times better the best's figure is than the original's. */
function computeQuotient(state: StudyState, metrics: Metrics, name: string | undefined): number | null {
  const { best, baseline } = state;
  if (!best || !baseline || name === undefined) return null;
  const [after, before] = [best, baseline].map((trial) => {
    const compared = representative(state, trial)?.compared;
    return compared && metrics.read(name, compared, trial.candidate);
  });
  if (!after || !before) return null;
  return metrics.named(name).better === 'higher' ? after / before : before / after;
}
