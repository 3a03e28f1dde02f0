import { formatDuration, formatFigure, formatMs, formatRate, wrapped } from '#base/format.ts';
import type { StudyFinished } from '#study/records/records.ts';
import type { StudyState } from '#study/records/state.ts';
import { usualTrials } from '#study/search/samplers/registry.ts';
import { describeCertificate } from '#study/summary/certificate-words.ts';
import { describeLevel } from '#study/summary/describe.ts';
import { rateUnitOfStudy } from '#study/summary/rate-unit.ts';
import { searchSecondsLeft, searchShare } from '#study/summary/search-progress.ts';
import { bar } from '../canvas.ts';
import { type Interaction, wantsPause } from '../interaction.ts';
import { fitted, foreign, measureWidth, type Row, row, type Span, span } from '../rows.ts';
import { createSettingsTable } from '../settings-table.ts';
import { type Activity, isOfFinal, isSearching, type ViewState } from '../state.ts';

/** Returns the current activity and the study's progress: two rows, or up to four at the end. */
export function progressRows(
  view: ViewState,
  interaction: Interaction,
  elapsedSeconds: number,
  width: number,
): readonly Row[] {
  const { study } = view;
  if (!study) return [row('starting: connecting to the server', 'now'), row('')];
  const what = study.finished ? endedRows(study.finished, width) : [activityRow(view, study, interaction)];
  return [...what, progressRow(view, study, elapsedSeconds, width)].map((line) => fitted(line, width));
}

const MAX_REASON_ROWS = 2;
const MAX_ENDED_ROWS = 3;

/**
 * Returns the reason for the study's end, which may take two rows, and a row for each note on it.
 */
function endedRows(
  { certificate, stopReason, notes = [] }: Pick<StudyFinished, 'certificate' | 'stopReason' | 'notes'>,
  width: number,
): readonly Row[] {
  const [first = '', ...rest] = wrapped(foreign(`ended: ${stopReason}`), width - 2);
  const second = rest.length > MAX_REASON_ROWS - 1 ? [rest.join(' ')] : rest;
  return [
    [span('■ ', 'good'), span(first)],
    ...second.map((line) => row(`  ${line}`)),
    ...(certificate ? [row(`  certificate: ${foreign(describeCertificate(certificate))}`, 'muted')] : []),
    ...notes.map((note) => row(`  ${foreign(note)}`, 'muted')),
  ].slice(0, MAX_ENDED_ROWS);
}

function activityRow(view: ViewState, study: StudyState, interaction: Interaction): Row {
  const { activity, isPaused } = view;
  if (activity.kind === 'finished') return [span('■ ', 'warning'), span('the run was stopped')];
  if (isPaused)
    return [span('⏸ paused', 'warning'), span('  the candidate stays loaded; press p to continue', 'muted')];
  const [what, figures] = activityText(activity, study);
  if (wantsPause(interaction, view))
    return [span('⏸ pausing after this measurement', 'warning'), span(`  ${what}`, 'muted')];
  return [span('▶ ', 'now'), span(what, 'now'), span(figures === '' ? '' : `  ${figures}`)];
}

function activityText(activity: Activity, study: StudyState): readonly [string, string] {
  switch (activity.kind) {
    case 'starting':
      return ['starting', ''];
    case 'choosing':
      return ['choosing the next candidate', ''];
    case 'restoring':
      return ['putting the original model back', ''];
    case 'finished':
      return ['', ''];
    case 'away':
      return ['the server is away: waiting for it', foreign(activity.reason)];
    case 'loading':
      return [`${trialName(activity, study)}: loading`, configText(activity.trial, study)];
    case 'warming':
      return [`${trialName(activity, study)}: warming up at ${describeLevel(activity.level)}${under(activity)}`, ''];
    case 'waking':
      return [
        `${trialName(activity, study)}: waiting for the first answers`,
        'an engine may be built for the first request',
      ];
    case 'starved':
      return [
        `${trialName(activity, study)}: measuring ${describeLevel(activity.level)} again`,
        'other processes used the CPU',
      ];
    case 'held-up': {
      const what = `${trialName(activity, study)}: repeating a window at ${describeLevel(activity.level)}${under(activity)}`;
      return [what, 'the load generator was delayed'];
    }
    case 'measuring': {
      const { level, window, throughput, latencyMs, fronts = [] } = activity;
      const percentile = study.goal.budget?.percentile ?? 99;
      const each = fronts.map(
        (front) => `${front.model} ${formatFigure(front.throughput)}, ${formatMs(front.latencyMs)}`,
      );
      const ofEach = each.length > 1 ? ` (${each.join('; ')})` : '';
      const figures = `${formatRate(throughput, rateUnitOfStudy(study))}, p${percentile} ${formatMs(latencyMs)}${ofEach}`;
      return [
        `${trialName(activity, study)}: measuring ${describeLevel(level)}${under(activity)}, window ${window}`,
        figures,
      ];
    }
  }
}

const under = ({ workload }: { readonly workload?: string }): string =>
  workload === undefined ? '' : ` under ${foreign(workload)}`;

/**
 * Returns the current round of the final, in which each side is measured once. Empty before and
 * after the final.
 */
function finalText({ activity }: ViewState, study: StudyState): string {
  if (study.finished || !isOfFinal(study, activity) || !('trial' in activity)) return '';
  const last = study.finals.at(-1)?.round ?? 1;
  const isDone = study.finals.some(({ round, trial }) => round === last && trial === activity.trial);
  return ` · final, round ${isDone ? last + 1 : last}`;
}

function trialName(activity: Extract<Activity, { readonly trial: number }>, study: StudyState): string {
  const name = activity.trial === 0 ? 'the original' : `trial ${activity.trial}`;
  return isOfFinal(study, activity) ? `final: ${name}` : name;
}

function configText(number: number, study: StudyState): string {
  const { unfinished, trials } = study;
  const candidate =
    unfinished?.number === number ? unfinished.candidate : trials.find((trial) => trial.number === number)?.candidate;
  return candidate ? createSettingsTable(study).changes(candidate) : '';
}

const LONGEST_BAR = 40;
/** Below this width, the bar leaves no room for the words next to it. */
const ROOMY = 110;

function progressRow(view: ViewState, study: StudyState, elapsed: number, width: number): Row {
  const done = study.trials.filter(({ role }) => role === 'search').length;
  const { maxTrials, timeBudgetSeconds } = view.limits;
  const usual = maxTrials === null && timeBudgetSeconds === null ? usualTrials(study.started.sampler) : null;
  const pace = { done, elapsedSeconds: elapsed, usualTrials: usual };
  const share = study.finished ? 1 : searchShare(view.limits, pace);
  const cells = Math.min(LONGEST_BAR, Math.floor(width / (width < ROOMY ? 8 : 5)));
  // Trials that a person asks for go beyond the limit.
  const counted = `${done} ${done === 1 ? 'trial' : 'trials'}`;
  const isUsual = usual !== null && isSearching(view) && done < usual;
  const of = isUsual ? `~${usual}` : maxTrials === null || done > maxTrials ? null : maxTrials;
  const trials = of === null ? counted : `${done} of ${of} trials`;
  const time =
    timeBudgetSeconds === null
      ? formatDuration(elapsed)
      : `${formatDuration(elapsed)} of ${formatDuration(timeBudgetSeconds)}`;
  const left = searchSecondsLeft(view.limits, pace);
  const rest = !isSearching(view) || left === null || left < 1 ? '' : ` · about ${formatDuration(left)} left`;
  const hope = hopeText(view, study);
  const meter: Span[] = share !== null ? [span(bar(share, cells), 'accent'), span('▏', 'muted')] : [];
  const line = [...meter, span(`${trials}${finalText(view, study)} · ${time}${rest}`), ...failureSpans(study)];
  return measureWidth(line) + hope.length <= width ? [...line, span(hope)] : line;
}

/**
 * A trial whose every measurement the load generator limited says nothing about its config: it did
 * not fail.
 */
function failureSpans({ trials }: StudyState): readonly Span[] {
  const kinds = trials.flatMap(({ failure }) => failure?.kind ?? []);
  const discarded = kinds.filter((kind) => kind === 'client-bound').length;
  const failed = kinds.length - discarded;
  return [
    ...(failed > 0 ? [span(` · ${failed} failed`, 'warning')] : []),
    ...(discarded > 0 ? [span(` · ${discarded} repeated`, 'muted')] : []),
  ];
}

/** Returns the sampler's hope for the trial under way. */
function hopeText({ expectedGain }: ViewState, { unfinished }: StudyState): string {
  if (expectedGain === null || unfinished?.role !== 'search') return '';
  return ` · expects ${expectedGain < 0.001 ? 'no gain' : `+${formatFigure(expectedGain * 100)} %`}`;
}
