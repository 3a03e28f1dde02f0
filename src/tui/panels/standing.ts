import { formatMs, formatRate, formatRatio, wrapped } from '#base/format.ts';
import { representative } from '#study/final/final.ts';
import { gainSoFar } from '#study/final/gain-so-far.ts';
import type { StudyState } from '#study/records/state.ts';
import { findRange, listChanges } from '#study/speed/changes.ts';
import { describeCost, isInCost, shareText, toCostPoint } from '#study/summary/cost-point.ts';
import { describeBasis } from '#study/summary/deciding-figures.ts';
import { describeLevel, describeNarrowing, describeSpeedChange, describeSpeedShare } from '#study/summary/describe.ts';
import { findNoiseFloor } from '#study/summary/noise-floor.ts';
import { describeNoise } from '#study/summary/noise-words.ts';
import { chooseRateUnit } from '#study/summary/rate-unit.ts';
import { isOriginal } from '#study/summary/verdict.ts';
import type { Trial } from '#study/types.ts';
import { finalMark, findDecidingFigures, findFigures, meetsGoal } from '../figures.ts';
import { fitted, foreign, LABEL_COLUMNS, label, measureWidth, type Row, row, type Span, span } from '../rows.ts';
import { createSettingsTable } from '../settings-table.ts';
import { isSearching, type ViewState } from '../state.ts';

/** Compares the best with the original in three rows. */
export function standingRows({ study }: ViewState, width: number): readonly Row[] {
  if (!study?.best) {
    const isMeasured = study?.unfinished?.role === 'baseline';
    const first = row(isMeasured ? 'the original config is measured first' : '', 'muted');
    const noise = study ? noiseRow(study, width) : null;
    return [first, noise ?? row(''), row('')];
  }
  const { best, baseline } = study;
  const isBaseline = isOriginal(best.candidate, baseline?.candidate);
  const verdict = meetsGoal(study, best) ? [] : [span('  over the budget', 'bad')];
  const name = isBaseline
    ? 'the original config'
    : `★ trial ${best.number}: ${createSettingsTable(study).changes(best.candidate)}`;
  return [
    fitted([label('best'), span(name, 'strong')], width),
    fitted([label(''), ...figureSpans(study, best), ...verdict, ...basisSpans(study, best)], width),
    fitted(
      isBaseline
        ? nothingBetter(study, verdict.length > 0)
        : [label('original'), ...againstOriginal(study, baseline, width - LABEL_COLUMNS)],
      width,
    ),
  ];
}

/** Returns the cost of the best; no row without prices. */
export function costRows({ study }: ViewState, width: number): readonly Row[] {
  const compared = study?.best ? findDecidingFigures(study, study.best) : null;
  const cost = study?.best && compared && toCostPoint(study.goal, compared, study.best.candidate);
  return cost ? [fitted([label('cost'), span(foreign(describeCost(cost, chooseRateUnit(compared))))], width)] : [];
}

/**
 * Returns the state of machine and server at rest, if it affects the budget; else no row, because
 * room is scarce.
 */
export function noiseRows({ study }: ViewState, width: number): readonly Row[] {
  const noise = study?.best ? noiseRow(study, width, true) : null;
  return noise ? [noise] : [];
}

function noiseRow(study: StudyState, width: number, onlyLoud = false): Row | null {
  const floor = findNoiseFloor(study);
  if (!floor) return null;
  const { tone, figures, meaning } = describeNoise(floor, study.goal.budget);
  if (onlyLoud && tone === 'quiet') return null;
  const said = span(meaning ?? '', tone === 'quiet' ? 'muted' : 'warning');
  if (meaning === null) return fitted([label('idle'), span(figures)], width);
  // If a part must be cut, the figures matter less than their meaning.
  const isCut = LABEL_COLUMNS + figures.length + 2 + meaning.length > width;
  const words = isCut ? [said, span(`; ${figures}`)] : [span(`${figures}; `), said];
  return fitted([label('idle'), ...words], width);
}

/** Returns what the person has ruled out and asked for; no row if there is nothing. */
export function steeredRows(view: ViewState, width: number): readonly Row[] {
  const { study } = view;
  if (!study) return [];
  const narrowing = describeNarrowing(study.narrowing);
  const waiting = isSearching(view) ? study.requested.length : 0;
  const back = view.activity.kind === 'finished' ? '' : ` (u cancels ${waiting === 1 ? 'it' : 'the last'})`;
  const words = waiting === 0 ? '' : `${waiting} ${waiting === 1 ? 'trial' : 'trials'} asked for${back}`;
  const parts = [words, narrowing].filter((part) => part !== '').join(' · ');
  return parts === '' ? [] : [fitted([label('steered'), span(foreign(parts), 'warning')], width)];
}

/**
 * Returns the latest change of the machine's speed, or the range over a finished study; no row if
 * it did not change.
 */
export function speedRows({ study }: ViewState, width: number): readonly Row[] {
  const change = study && listChanges(study.speeds).at(-1);
  const range = study && findRange(study.speeds);
  if (!change || !range) return [];
  const { usual } = study.speeds;
  const text = study.finished
    ? `${describeSpeedShare(range.lowest)} to ${describeSpeedShare(range.highest)} of the initial speed; comparisons are normalised to the usual one, ${describeSpeedShare(usual)}`
    : describeSpeedChange(change);
  const lines = wrapped(text, width - LABEL_COLUMNS);
  return lines.map((line, index) => [label(index === 0 ? 'speed' : ''), span(line, 'warning')]);
}

/** Also explains why a trial that seemed better in the search is not the best. */
function nothingBetter({ gain, finished }: StudyState, missesGoal: boolean): Row {
  const same = missesGoal ? 'nothing that was tried meets the goal' : 'as good as anything tried';
  if (!gain?.rejected) return [label(''), span(finished ? same : 'nothing better found yet', 'muted')];
  const { trial, reason } = gain.rejected;
  return [label(''), span(`trial ${trial} seemed better, but ${reason}`, 'warning')];
}

function againstOriginal(study: StudyState, baseline: Trial | null, width: number): readonly Span[] {
  if (!baseline || !findFigures(study, baseline))
    return [span(baseline?.failure ? `not measured: ${baseline.failure.kind}` : 'not measured', 'muted')];
  const gain = gainSoFar(study);
  const figures = [
    ...figureSpans(study, baseline, false),
    ...(meetsGoal(study, baseline) ? [] : [span(', over the budget', 'bad')]),
  ];
  const basis = basisSpans(study, baseline);
  if (!gain) return [...figures, ...basis];
  const known = Number.isFinite(gain.high) && gain.low > 0;
  const isCost = isInCost(study.goal.objectives);
  const text = isCost ? shareText : formatRatio;
  const [from, to] = isCost ? [gain.high, gain.low] : [gain.low, gain.high];
  const interval = known ? ` (${text(from)} to ${text(to)})` : '';
  const of = isCost ? 'cost ×' : 'gain';
  const isConfirmed = gain.isFinal && known;
  const unconfirmed = !isConfirmed && study.finished ? 'unconfirmed ' : '';
  const name = isConfirmed ? `  final ${of} ` : `  ${unconfirmed}${of} `;
  const tone = gain.low > 1 ? 'good' : gain.high < 1 ? 'bad' : 'warning';
  const line = [...figures, span(name, 'muted'), span(text(gain.value), tone)];
  return (
    [[span(interval), ...basis], [span(interval)]]
      .map((more) => [...line, ...more])
      .find((whole) => measureWidth(whole) <= width) ?? line
  );
}

/**
 * Returns what explains the figures of a trial: what was measured if they are normalised, and what
 * decided if they do not.
 */
function basisSpans(study: StudyState, trial: Trial): readonly Span[] {
  const stands = representative(study, trial);
  return stands ? [span(describeBasis(stands, study.goal.budget), 'muted')] : [];
}

function figureSpans(study: StudyState, trial: Trial, withInterval = true): readonly Span[] {
  const stands = representative(study, trial);
  if (!stands) return [span('no figures', 'muted')];
  const { throughput, budgetLatencyMs, level } = stands.compared;
  const half =
    throughput.value > 0 ? ` ±${(((throughput.high - throughput.low) / 2 / throughput.value) * 100).toFixed(1)} %` : '';
  const latency = `p${budgetLatencyMs.percentile} ${formatMs(budgetLatencyMs.value)}`;
  const at = `${withInterval ? ` at ${describeLevel(level)}` : ''}${finalMark(study, stands.measurement).trim()}`;
  return [
    span(formatRate(throughput.value, chooseRateUnit(stands.compared))),
    span(withInterval ? half : '', 'muted'),
    span(`, ${latency}${at}`),
  ];
}
