import { formatFigure, formatMs, formatRate } from '#base/format.ts';
import type { Measurement } from '#profiler/measurement.ts';
import type { Interval } from '#stats/interval.ts';
import { representative } from '#study/final/final.ts';
import type { StudyState } from '#study/records/state.ts';
import { describeLevel, describeSpeedShare, shortLevel } from '#study/summary/describe.ts';
import { chooseRateUnit } from '#study/summary/rate-unit.ts';
import type { Trial } from '#study/types.ts';
import { type Html, html, none } from '../html.ts';

/** Readings of one config at one level. */
interface Repeated {
  readonly trial: Trial;
  readonly readings: readonly Measurement[];
}

const MAX_TOLD = 3;
/** A larger difference in speed explains a difference in figures. */
const SPEED_MATTERS = 1.05;

/**
 * Explains why readings of one config at one level differ by more than their intervals; empty if
 * none do.
 */
export function repeatedReadings(state: StudyState): Html {
  const repeateds = listGroups(state).filter(({ readings }) => contradict(readings));
  if (repeateds.length === 0) return none;
  const rank = ({ trial }: Repeated): number => (trial === state.best ? 0 : trial === state.baseline ? 1 : 2);
  const first = repeateds.toSorted((a, b) => rank(a) - rank(b)).slice(0, MAX_TOLD);
  const more = repeateds.length - first.length;
  return html`<p class="soft">Measurements of one config at one level that differ by more than their intervals:</p>
<ul class="soft">${first.map((each) => html`<li>${formatSentence(state, each)}</li>`)}${more > 0 ? html`<li>and ${more} more</li>` : none}</ul>
<p class="soft">An interval covers only the seconds of its own measurement, and a machine changes from minute to minute. The gain is not affected, because the final alternates between both configs.</p>`;
}

/**
 * Returns the same as one sentence each for the best and the original at their representative
 * level, if their readings differ even at the machine's usual speed.
 */
export function standingReadings(state: StudyState): readonly string[] {
  return listGroups(state).flatMap((group) => {
    const stands = representative(state, group.trial)?.measurement;
    const isStanding = group.trial === state.best || group.trial === state.baseline;
    if (!isStanding || !stands || !group.readings.includes(stands)) return [];
    const compared = group.readings.map((reading) => state.speeds.comparable(reading));
    return contradict(compared) ? [formatSentence(state, group)] : [];
  });
}

/** Groups by config, not by trial: a search may measure a config again as another trial. */
function listGroups({ trials, finals, best, baseline }: StudyState): readonly Repeated[] {
  const ofTrial = new Map(trials.map((trial) => [trial.number, trial]));
  const all = [
    ...trials.flatMap((trial) => trial.measurements.map((measurement) => ({ trial, measurement }))),
    ...finals.flatMap(({ trial: number, measurement }) => {
      const trial = ofTrial.get(number);
      return trial ? [{ trial, measurement }] : [];
    }),
  ].filter(({ measurement }) => measurement.throughput.value > 0 && !measurement.client.bound);
  const groups = Map.groupBy(
    all,
    ({ trial, measurement }) => `${trial.candidate.fingerprint} ${shortLevel(measurement.level)}`,
  );
  return [...groups.values()].flatMap((group): Repeated[] => {
    const known = group.find(({ trial }) => trial === best || trial === baseline) ?? group[0];
    return group.length > 1 && known ? [{ trial: known.trial, readings: group.map((each) => each.measurement) }] : [];
  });
}

const contradict = (readings: readonly Measurement[]): boolean =>
  areApart(readings.map(({ throughput }) => throughput)) || areApart(readings.map((each) => each.budgetLatencyMs));

/** True if any two of the intervals do not overlap. */
const areApart = (intervals: readonly Interval[]): boolean =>
  Math.max(...intervals.map(({ low }) => low)) > Math.min(...intervals.map(({ high }) => high));

function formatSentence(state: StudyState, { trial, readings }: Repeated): string {
  const { level, budgetLatencyMs } = readings[0] as Measurement;
  const unit = chooseRateUnit(readings[0] as Measurement);
  const range = (values: readonly number[], text: (value: number) => string): string =>
    `${formatFigure(Math.min(...values))} to ${text(Math.max(...values))}`;
  const rates = range(
    readings.map(({ throughput }) => throughput.value),
    (rate) => formatRate(rate, unit),
  );
  const times = range(
    readings.map((each) => each.budgetLatencyMs.value),
    formatMs,
  );
  const who = trial === state.baseline ? 'Your config' : `Trial ${trial.number}`;
  const shown = representative(state, trial)?.measurement;
  const which =
    shown && readings.includes(shown) ? `, and this page shows ${formatRate(shown.throughput.value, unit)}` : '';
  return `${who} at ${describeLevel(level)} was measured ${readings.length} times: ${rates}${which}; p${budgetLatencyMs.percentile} ${times}${describeCause(state, readings)}.`;
}

function describeCause({ speeds }: StudyState, readings: readonly Measurement[]): string {
  const all = readings.map((measurement) => speeds.of(measurement).value);
  const [lowest, highest] = [Math.min(...all), Math.max(...all)];
  if (highest > SPEED_MATTERS * lowest)
    return `. The machine ran at ${describeSpeedShare(lowest)} to ${describeSpeedShare(highest)} of its first minute's speed then, and comparisons are normalised`;
  const loose = readings.filter(({ stable }) => !stable).length;
  if (loose === 0) return '';
  return loose === readings.length
    ? '. None of them was stable'
    : `. ${loose} of them ${loose === 1 ? 'was' : 'were'} not stable`;
}
