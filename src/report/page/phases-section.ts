import { formatDuration } from '#base/format.ts';
import { type PhaseKind, phaseKinds } from '#study/records/phases.ts';
import type { StudyState } from '#study/records/state.ts';
import { phasesChart } from '../charts/phases-chart.ts';
import { type Html, html, none } from '../html.ts';
import { figure } from './figure.ts';

const kinds: Readonly<Record<PhaseKind, { readonly name: string; readonly color: string }>> = {
  choosing: { name: 'choosing', color: '#999999' },
  building: { name: 'building files', color: '#8e6bbf' },
  loading: { name: 'loading', color: '#e08a2e' },
  'first-answers': { name: 'waiting for first answers', color: '#c8463c' },
  measuring: { name: 'measuring', color: '#2f7ed8' },
  final: { name: 'final', color: '#2ca05a' },
};

/** Longer studies are drawn over minutes. */
const MAX_SECONDS_SHOWN = 300;
const SECONDS_PER_MINUTE = 60;
/** Smaller shares of the time are not told. */
const MIN_SHARE = 0.01;

/** Returns what the study spent its time on, trial by trial; empty before its first trial. */
export function phasesSection({ phases, elapsedSeconds }: StudyState): Html {
  const totals = phaseKinds.flatMap((kind) => {
    const seconds = phases
      .filter((phase) => phase.kind === kind)
      .reduce((sum, { startSeconds, endSeconds }) => sum + endSeconds - startSeconds, 0);
    return seconds > 0 ? [{ kind, seconds }] : [];
  });
  const all = totals.reduce((sum, { seconds }) => sum + seconds, 0);
  const shares = totals
    .map(({ kind, seconds }) => ({ kind, share: seconds / all }))
    .filter(({ share }) => share >= MIN_SHARE)
    .sort((a, b) => b.share - a.share)
    .map(({ kind, share }) => `${kinds[kind].name} ${Math.round(100 * share)} %`);
  if (shares.length === 0) return none;
  const trials = [...new Set(phases.map(({ trial }) => trial))].sort((a, b) => a - b);
  const unitSeconds = elapsedSeconds > MAX_SECONDS_SHOWN ? SECONDS_PER_MINUTE : 1;
  const chart = phasesChart(
    trials.map((trial) => `trial ${trial}`),
    totals.map(({ kind }) => ({
      ...kinds[kind],
      spans: phases
        .filter((phase) => phase.kind === kind)
        .map(({ trial, startSeconds, endSeconds }) => ({
          row: trials.indexOf(trial),
          start: startSeconds / unitSeconds,
          end: endSeconds / unitSeconds,
        })),
    })),
    unitSeconds === 1 ? 'seconds of the study' : 'minutes of the study',
  );
  return html`<h2>Where the study's time went</h2>
${figure(chart, 'phases', `${formatDuration(elapsedSeconds)}: ${shares.join(', ')}`, html`Each row is a trial. Pauses and the time between runs do not count.`)}`;
}
