import { capital, formatFigure, formatMs } from '#base/format.ts';
import type { Measurement } from '#profiler/measurement.ts';
import { computeLength } from '#study/analysis/explain/time-bar.ts';
import { representative } from '#study/final/final.ts';
import { metricText } from '#study/goal/metrics/format.ts';
import type { StudyState } from '#study/records/state.ts';
import { findCorrection } from '#study/speed/changes.ts';
import { describeLevel } from '#study/summary/describe.ts';
import type { Explanation, ReasonBar } from '#study/summary/explanation-schema.ts';
import type { Trial } from '#study/types.ts';
import { growthEnd } from '../charts/growth.ts';
import { type ChartName, risingLevels } from './charts.ts';
import { comparedFigure, type Picture } from './first-picture.ts';
import { speedTitle } from './speed-section.ts';

/**
 * Returns the message of a chart, as a sentence without a full stop, computed from the chart's
 * content.
 */
export function chartTitle(name: ChartName, state: StudyState, explanation: Explanation | null): string {
  const { goal } = state;
  const percentile = `p${state.trials.flatMap(({ measurements }) => measurements)[0]?.budgetLatencyMs.percentile ?? 99}`;
  const findLimit = (metric: string): number | null =>
    goal.constraints.find((one) => one.metric === metric && one.relation === '<=')?.value ?? null;
  const tokenTitle = (metric: 'ttft' | 'itl' | 'tpot'): string =>
    overLoadTitle(
      state,
      `${percentile} ${metric.toUpperCase()}`,
      findLimit(metric),
      ({ tokens }) => tokens?.budget[`${metric}Ms`].value,
    );
  switch (name) {
    case 'front':
      return dominanceTitle(state);
    case 'throughput-vs-latency':
      return growthTitle(state);
    case 'latency-vs-load':
      return overLoadTitle(
        state,
        percentile,
        goal.budget?.latencyMs ?? null,
        ({ budgetLatencyMs }) => budgetLatencyMs.value,
      );
    case 'latency-breakdown':
      return breakdownTitle(explanation);
    case 'tokens-front':
      return tokensTitle(state);
    case 'ttft-vs-load':
      return tokenTitle('ttft');
    case 'itl-vs-load':
      return tokenTitle('itl');
    case 'tpot-vs-load':
      return tokenTitle('tpot');
    case 'speed':
      return speedTitle(state);
  }
}

/**
 * Returns the title of the first screen's picture: the best and the original by the figures of its
 * axes.
 */
export function pictureTitle(state: StudyState, { objective, limited }: Picture): string {
  const { best, baseline } = state;
  const of = (trial: Trial, metric: Picture['objective']): string => {
    const measurement = representative(state, trial)?.measurement;
    return metricText(metric, measurement && comparedFigure(state, metric, { measurement, trial }));
  };
  if (!best) return 'Measurements';
  const at = limited.label.replace(/^(p\d+) latency$/, '$1');
  const words = `${formatName(state, best)}: ${of(best, objective)} at ${at} ${of(best, limited)}`;
  return baseline && baseline !== best
    ? `${words}, before ${of(baseline, objective)} at ${of(baseline, limited)}`
    : words;
}

const formatName = ({ baseline }: StudyState, trial: Trial): string =>
  trial === baseline ? 'Your config' : `Trial ${trial.number}`;

/** Returns how many configs the best beats in both figures, each at its representative level. */
function dominanceTitle(state: StudyState): string {
  const { best, trials } = state;
  const compared = best && findCompared(state, best);
  if (!best || !compared) return 'Measurements';
  const others = trials.flatMap((trial) => (trial === best ? [] : (findCompared(state, trial) ?? [])));
  if (others.length === 0) return 'One config was measured';
  const beaten = others.filter(
    ({ throughput, budgetLatencyMs }) =>
      compared.throughput.value >= throughput.value && compared.budgetLatencyMs.value <= budgetLatencyMs.value,
  ).length;
  if (beaten === 0) return 'Each config here gives up latency for throughput, or the other way round';
  return `${formatName(state, best)} serves more at lower latency than ${beaten} of ${others.length} other configs`;
}

/**
 * Returns the measurement that represents a trial, at the machine's usual speed; null without one.
 */
function findCompared(state: StudyState, trial: Trial): Measurement | null {
  return representative(state, trial)?.compared ?? null;
}

/** Returns the load beyond which throughput stops growing. */
function growthTitle(state: StudyState): string {
  const trial = state.best ?? state.baseline;
  const levels = trial ? risingLevels(state, trial) : [];
  const last = levels.at(-1);
  if (!trial || !last) return 'Throughput over latency';
  const name = formatName(state, trial);
  if (levels.length === 1) return `${name} was measured at ${describeLevel(last.level)} only`;
  const end = growthEnd(levels.map(({ throughput }) => throughput.value));
  return end < 0
    ? `${name}: throughput still grows at the highest level, ${describeLevel(last.level)}`
    : `${name}: throughput stops growing at ${describeLevel((levels[end] as Measurement).level)}`;
}

/**
 * Returns the level up to which a time stays within its limit; without a limit, how the time grows
 * with the load.
 */
function overLoadTitle(
  state: StudyState,
  what: string,
  limit: number | null,
  of: (measurement: Measurement) => number | undefined,
): string {
  const { best, baseline } = state;
  const trial = best ?? baseline;
  const levels = trial ? risingLevels(state, trial).filter((each) => of(each) !== undefined) : [];
  const [first, last] = [levels[0], levels.at(-1)];
  if (!trial || !first || !last) return `${what} over the load`;
  const name = formatName(state, trial);
  const at = (measurement: Measurement): string =>
    `${formatMs(of(measurement) ?? Number.NaN)} at ${describeLevel(measurement.level)}`;
  if (limit === null)
    return first === last ? `${name}: ${what} ${at(last)}` : `${name}: ${what} from ${at(first)} to ${at(last)}`;
  const isCorrected = [trial, ...(baseline ? [baseline] : [])].some((one) =>
    one.measurements.some((each) => findCorrection(state.speeds, each) !== null),
  );
  const met = `${what} ≤ ${formatMs(limit)}${isCorrected ? ' as measured' : ''}`;
  const findHighest = (one: Trial): Measurement | undefined =>
    risingLevels(state, one).findLast((each) => (of(each) ?? Number.POSITIVE_INFINITY) <= limit);
  const until = (highest: Measurement | undefined): string =>
    highest ? `up to ${describeLevel(highest.level)}` : 'at no measured level';
  const ownHighest = findHighest(trial);
  if (!baseline || baseline === trial) return `${name} meets ${met} ${until(ownHighest)}`;
  const other = findHighest(baseline);
  return ownHighest || other
    ? `${name} meets ${met} ${until(ownHighest)}, your config ${until(other)}`
    : `Neither ${name.toLowerCase()} nor your config meets ${met} at a measured level`;
}

/** Returns the part that now takes most of a request's time, and its time before. */
function breakdownTitle(explanation: Explanation | null): string {
  const findBar = (about: 'before' | 'now'): ReasonBar | null =>
    explanation?.reasons.find((reason) => reason.about === about)?.bar ?? null;
  const [before, now] = [findBar('before'), findBar('now')];
  const [most] = now && now.parts.length > 1 ? now.parts.toSorted((a, b) => b.value - a.value) : [];
  if (!now || !most) return 'Breakdown of the mean request time';
  const share = (bar: ReasonBar): string | null => {
    const part = bar.parts.find(({ name }) => name === most.name);
    return part ? `${Math.round((100 * part.value) / computeLength(bar))} %` : null;
  };
  const then = before && share(before);
  return `${capital(most.name)} takes most of a request's time: ${share(now)}${then ? `, with your config ${then}` : ''}`;
}

function tokensTitle(state: StudyState): string {
  const trial = state.best ?? state.baseline;
  const measurement = trial && representative(state, trial)?.measurement;
  if (!trial || !measurement?.tokens) return 'Output of the server against output per user';
  const { outputTokensPerSecond, outputTokensPerSecondPerUser } = measurement.tokens;
  return `${formatName(state, trial)}: ${formatFigure(outputTokensPerSecond.value)} output tokens/s, and each user sees ${formatFigure(outputTokensPerSecondPerUser)}`;
}
