import type { StudyState } from '#study/records/state.ts';
import { findRange } from '#study/speed/changes.ts';
import type { SpeedSummary } from '#study/summary/context-schema.ts';
import { describeGpuCause, describeSpeedShare } from '#study/summary/describe.ts';
import { speedChart } from '../charts/speed-chart.ts';
import type { Chart } from '../charts/svg.ts';
import { type Html, html, none } from '../html.ts';
import { figure } from './figure.ts';

/**
 * Returns the machine's speed over the study; null if it held within 5 %, or if nothing was
 * measured.
 */
export function speedStrip({ speeds }: StudyState): Chart | null {
  const range = findRange(speeds);
  if (!range || range.hasHeld) return null;
  const { course, usual } = speeds;
  const first = course.findIndex(({ isFinal }) => isFinal);
  // The final's first measurement began when the one before it ended.
  const finalSeconds = first < 0 ? null : (course[first - 1]?.atSeconds ?? 0);
  return speedChart(course, { usual, finalSeconds });
}

/** Returns the machine's speed and its uses; empty if the speed held. */
export function speedSection(state: StudyState, { changes, corrected }: SpeedSummary): Html {
  const chart = speedStrip(state);
  const { lowest = 1, highest = 1 } = findRange(state.speeds) ?? {};
  if (!chart) return none;
  const used =
    corrected === 0
      ? 'Comparisons use the measured figures.'
      : `${corrected} measurements were made at a different speed. The search, the best, the original and the gain use them normalised to the usual speed. Other figures and the charts on this page are as measured.`;
  const causes = changes.flatMap(({ gpu }) => (gpu ? [describeGpuCause(gpu)] : []));
  return html`<h2>The machine's speed</h2>
<p>Machine and server ran at ${describeSpeedShare(lowest)} to ${describeSpeedShare(highest)} of their speed in the study's first minute; usual was ${describeSpeedShare(state.speeds.usual)}. ${causes.map((cause) => html`It changed ${cause}. `)}${used}</p>
${figure(chart, 'speed', speedTitle(state), html`Speed over time with its 95 % interval, estimated from execution times, repeated measurements of a config and, if the server is on this machine, a fixed piece of work.`)}`;
}

/** Returns the message of the chart: the range of the machine's speed. */
export function speedTitle({ speeds }: StudyState): string {
  const { lowest = 1, highest = 1 } = findRange(speeds) ?? {};
  const [slow, fast] = [lowest / speeds.usual, highest / speeds.usual].map((each) => `${Math.round(100 * each)} %`);
  return `The machine ran at ${slow} to ${fast} of its usual speed`;
}

/**
 * Returns the speed for the list of methods; null if the section shows it, or if nothing was
 * measured.
 */
export function heldText({ speeds }: StudyState): string | null {
  const range = findRange(speeds);
  if (!range?.hasHeld) return null;
  return `the machine's speed held within 5 % (${describeSpeedShare(range.lowest)} to ${describeSpeedShare(range.highest)} of that in the first minute)`;
}
