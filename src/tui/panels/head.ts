import { formatDuration, formatFigure, formatMs, formatRate, formatRatio } from '../../base/format.ts';
import { describeLevel, describeNarrowing } from '../../study/describe.ts';
import type { StudyState } from '../../study/state.ts';
import type { Trial } from '../../study/types.ts';
import { bar } from '../canvas.ts';
import { figuresOf, gainSoFar, meetsGoal } from '../figures.ts';
import { fitted, foreign, type Row, row, type Span, span, spread } from '../rows.ts';
import { type Activity, isOfFinal, isSearching, type ViewState } from '../state.ts';
import { describeTrial } from './trials.ts';

/** The model, the server, the goal: two rows. */
export function titleRows({ study }: ViewState, width: number): readonly Row[] {
  if (!study) return [spread([span('tritune', 'strong')], [], width), row('')];
  const { started, server, goal } = study;
  const emulated = server.emulated === null ? [] : [span('  EMULATOR ', 'warning'), span(foreign(server.emulated))];
  const name: Row = [span('tritune ', 'muted'), span(foreign(started.model, 40), 'strong'), ...emulated];
  const where = `${server.name} ${server.version} · ${server.url} (${server.protocol})`;
  const budget: Row = goal.budget
    ? [span('budget ', 'muted'), span(`p${goal.budget.percentile} ≤ ${formatMs(goal.budget.latencyMs)}`, 'strong')]
    : [span('no latency budget', 'muted')];
  const others = goal.constraints.map(({ metric, relation, value }) => ` · ${metric} ${relation} ${value}`).join('');
  const objectives = goal.objectives.map(({ metric }) => metric).join(' and ');
  const wanted: Row = [span('best ', 'muted'), span(objectives), span(' · ', 'muted'), ...budget, span(others)];
  const device = deviceText(study);
  return [
    spread(name, [span(foreign(where), 'muted')], width),
    spread(wanted, [span(device ?? `sampler ${started.sampler}, seed ${started.seed}`, 'muted')], width),
  ];
}

/** GPU figures of the latest measurement; null where the server reports none. */
function deviceText(study: StudyState): string | null {
  const latest = study.unfinished?.measurements.at(-1) ?? study.trials.at(-1)?.measurements.at(-1);
  const { gpuUtilizationPercent, gpuMemoryMiB, gpuPowerW } = latest?.device ?? {};
  const parts = [
    ...(gpuUtilizationPercent === undefined ? [] : [`GPU ${Math.round(gpuUtilizationPercent)} %`]),
    ...(gpuMemoryMiB === undefined ? [] : [`${Math.round(gpuMemoryMiB)} MiB`]),
    ...(gpuPowerW === undefined ? [] : [`${Math.round(gpuPowerW)} W`]),
  ];
  return parts.length === 0 ? null : parts.join(' · ');
}

/** What is done now, and how far the study is: two rows. */
export function progressRows(view: ViewState, elapsedSeconds: number, width: number): readonly Row[] {
  const { study } = view;
  if (!study) return [row('starting: connecting to the server', 'now'), row('')];
  return [fitted(activityRow(view, study), width), fitted(progressRow(view, study, elapsedSeconds, width), width)];
}

function activityRow({ activity, isPaused }: ViewState, study: StudyState): Row {
  if (study.finished) return [span('■ ', 'good'), span(foreign(`ended: ${study.finished.stopReason}`))];
  if (activity.kind === 'finished') return [span('■ ', 'warning'), span('the run did not end by itself')];
  if (isPaused) return [span('‖ paused', 'warning'), span('  the candidate stays loaded; p goes on', 'muted')];
  const [what, figures] = activityText(activity, study);
  return [span('▶ ', 'now'), span(what, 'now'), span(figures === '' ? '' : `  ${figures}`)];
}

function activityText(activity: Activity, study: StudyState): readonly [string, string] {
  switch (activity.kind) {
    case 'starting':
      return ['starting', ''];
    case 'choosing':
      return ['choosing the next candidate', ''];
    case 'restoring':
      return ['putting the model back as it was', ''];
    case 'finished':
      return ['', ''];
    case 'loading':
      return [`${trialName(activity, study)}: loading`, configText(activity.trial, study)];
    case 'warming':
      return [`${trialName(activity, study)}: warming up at ${describeLevel(activity.level)}`, ''];
    case 'measuring': {
      const { level, window, throughput, latencyMs } = activity;
      const percentile = study.goal.budget?.percentile ?? 99;
      const figures = `${formatRate(throughput)}, p${percentile} ${formatMs(latencyMs)}`;
      return [`${trialName(activity, study)}: measuring ${describeLevel(level)}, window ${window}`, figures];
    }
  }
}

function trialName(activity: Extract<Activity, { readonly trial: number }>, study: StudyState): string {
  const name = activity.trial === 0 ? 'the original' : `trial ${activity.trial}`;
  return isOfFinal(study, activity) ? `final: ${name}` : name;
}

function configText(number: number, { unfinished, trials }: StudyState): string {
  const candidate =
    unfinished?.number === number ? unfinished.candidate : trials.find((trial) => trial.number === number)?.candidate;
  return candidate ? describeTrial(candidate) : '';
}

const LONGEST_BAR = 40;

function progressRow(view: ViewState, study: StudyState, elapsed: number, width: number): Row {
  const done = study.trials.filter(({ role }) => role === 'search').length;
  const { maxTrials, timeBudgetSeconds } = view.limits;
  const share = study.finished
    ? 1
    : Math.max(maxTrials ? done / maxTrials : 0, timeBudgetSeconds ? elapsed / timeBudgetSeconds : 0);
  const hasLimit = maxTrials !== null || timeBudgetSeconds !== null || study.finished !== null;
  const cells = Math.min(LONGEST_BAR, Math.floor(width / 5));
  // Trials that a person asks for run beyond the limit.
  const trials = maxTrials === null || done > maxTrials ? `${done} trials` : `${done} of ${maxTrials} trials`;
  const time =
    timeBudgetSeconds === null
      ? formatDuration(elapsed)
      : `${formatDuration(elapsed)} of ${formatDuration(timeBudgetSeconds)}`;
  const left = secondsLeft({ done, maxTrials, elapsed, timeBudgetSeconds });
  const rest = !isSearching(view) || left === null || left < 1 ? '' : ` · about ${formatDuration(left)} left`;
  const hope = hopeText(view, study);
  const failed = study.counts.failed > 0 ? [span(` · ${study.counts.failed} failed`, 'warning')] : [];
  const meter: Span[] = hasLimit ? [span(bar(share, cells), 'accent'), span('▏', 'muted')] : [];
  return [...meter, span(`${trials} · ${time}${rest}${hope}`), ...failed];
}

/** What the sampler hopes for from the trial under way. */
function hopeText({ expectedGain }: ViewState, { unfinished }: StudyState): string {
  if (expectedGain === null || unfinished?.role !== 'search') return '';
  return ` · expects ${expectedGain < 0.001 ? 'no gain' : `+${formatFigure(expectedGain * 100)} %`}`;
}

/** The sooner of both limits; trials take as long as they did so far. null for no limit, or nothing to go by. */
function secondsLeft(of: {
  readonly done: number;
  readonly maxTrials: number | null;
  readonly elapsed: number;
  readonly timeBudgetSeconds: number | null;
}): number | null {
  const byTime = of.timeBudgetSeconds === null ? null : Math.max(0, of.timeBudgetSeconds - of.elapsed);
  const byTrials =
    of.maxTrials === null || of.done === 0 ? null : ((of.maxTrials - of.done) * of.elapsed) / (of.done + 1);
  if (byTime === null || byTrials === null) return byTime ?? byTrials;
  return Math.min(byTime, byTrials);
}

/** The best against the original: three rows. */
export function standingRows({ study }: ViewState, width: number): readonly Row[] {
  if (!study?.best) {
    const isMeasured = study?.unfinished?.role === 'baseline';
    return [row(isMeasured ? 'the original config is measured first' : '', 'muted'), row(''), row('')];
  }
  const { best, baseline } = study;
  const isBaseline = baseline?.number === best.number;
  const verdict = meetsGoal(study, best) ? [] : [span('  over the budget', 'bad')];
  const name = isBaseline ? 'the original config' : `★ trial ${best.number}: ${describeTrial(best.candidate)}`;
  return [
    fitted([span('best      ', 'muted'), span(name, 'strong')], width),
    fitted([span('          '), ...figureSpans(study, best), ...verdict], width),
    fitted(
      isBaseline ? nothingBetter(study) : [span('original  ', 'muted'), ...againstOriginal(study, baseline)],
      width,
    ),
  ];
}

/** What the person has ruled out and asked for; no row where that is nothing. */
export function steeredRows(view: ViewState, width: number): readonly Row[] {
  const { study } = view;
  if (!study) return [];
  const narrowing = describeNarrowing(study.narrowing);
  const waiting = isSearching(view) ? study.requested.length : 0;
  const asked = waiting === 0 ? '' : `${waiting} ${waiting === 1 ? 'trial' : 'trials'} asked for`;
  const parts = [asked, narrowing].filter((part) => part !== '').join(' · ');
  return parts === '' ? [] : [fitted([span('steered   ', 'muted'), span(foreign(parts), 'warning')], width)];
}

/** Also why what seemed better in the search is not the best. */
function nothingBetter({ gain, finished }: StudyState): Row {
  if (!gain?.rejected) return row(`          nothing better was found${finished ? '' : ' yet'}`, 'muted');
  const { trial, reason } = gain.rejected;
  return [span('          '), span(`trial ${trial} seemed better, but ${reason}`, 'warning')];
}

function againstOriginal(study: StudyState, baseline: Trial | null): readonly Span[] {
  if (!baseline) return [span('not measured', 'muted')];
  const gain = gainSoFar(study);
  const figures = [
    ...figureSpans(study, baseline, false),
    ...(meetsGoal(study, baseline) ? [] : [span(', over the budget', 'bad')]),
  ];
  if (!gain) return figures;
  const known = Number.isFinite(gain.high) && gain.low > 0;
  const interval = known ? ` (${formatRatio(gain.low)} to ${formatRatio(gain.high)})` : '';
  const name = gain.isFinal ? '  final gain ' : '  gain ';
  const tone = gain.low > 1 ? 'good' : gain.high < 1 ? 'bad' : 'warning';
  return [...figures, span(name, 'muted'), span(formatRatio(gain.value), tone), span(interval)];
}

function figureSpans(study: StudyState, trial: Trial, withInterval = true): readonly Span[] {
  const measurement = figuresOf(study, trial);
  if (!measurement) return [span('no figures', 'muted')];
  const { throughput, budgetLatencyMs, level } = measurement;
  const half =
    throughput.value > 0 ? ` ±${(((throughput.high - throughput.low) / 2 / throughput.value) * 100).toFixed(1)} %` : '';
  const latency = `p${budgetLatencyMs.percentile} ${formatMs(budgetLatencyMs.value)}`;
  const at = withInterval ? ` at ${describeLevel(level)}` : '';
  return [span(formatRate(throughput.value)), span(withInterval ? half : '', 'muted'), span(`, ${latency}${at}`)];
}
