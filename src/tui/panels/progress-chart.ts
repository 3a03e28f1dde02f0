import { isInDoubt } from '#study/final/final.ts';
import { assess } from '#study/goal/goal.ts';
import type { StudyState } from '#study/records/state.ts';
import { rateUnitOfStudy } from '#study/summary/rate-unit.ts';
import type { Trial } from '#study/types.ts';
import { Canvas } from '../canvas.ts';
import { findDecidingFigures, meetsGoal } from '../figures.ts';
import { type Interaction, selectedTrial } from '../interaction.ts';
import { block, heading, type Row, row, type Size } from '../rows.ts';
import type { ViewState } from '../state.ts';
import { axisWidth, horizontalAxis, ROWS_AROUND_CHART, roundUp, withVerticalAxis } from './axes.ts';

/**
 * Draws the best so far over the trials: each trial as a point, and the best of those that met the
 * goal until then as a line.
 */
export function progressChart(view: ViewState, interaction: Interaction, size: Size): readonly Row[] {
  const { study } = view;
  const isThroughput = study?.goal.objectives.every(({ metric }) => metric === 'throughput') ?? true;
  const title = heading(
    `best ${isThroughput ? rateUnitOfStudy(study ?? { trials: [] }) : 'gain ×'} so far, by trial`,
    size.columns,
  );
  const points = study ? listPoints(study, isThroughput) : [];
  if (!study || points.length === 0) return block([title, row('  no measurements yet', 'muted')], size);
  const highest = roundUp(1.05 * Math.max(...points.map(({ value }) => value)));
  const last = Math.max(1, study.trials.length - 1);
  const before = axisWidth(highest);
  const canvas = new Canvas(size.columns - before, size.rows - ROWS_AROUND_CHART);
  const at = (number: number, value: number): [number, number] => [number / last, value / highest];
  drawBestSoFar(canvas, points, last, at);
  const selected = selectedTrial(interaction, view)?.number;
  for (const { trial, value, isGood } of points) {
    const isSelected = trial.number === selected && interaction.selected !== null;
    if (trial.number === study.best?.number) canvas.glyph(...at(trial.number, value), '★', isGood ? 'good' : 'warning');
    else if (isSelected) canvas.glyph(...at(trial.number, value), '●', 'strong');
    else if (trial.role === 'baseline') canvas.glyph(...at(trial.number, value), 'o', 'accent');
    else canvas.glyph(...at(trial.number, value), isGood ? '·' : '○', isGood ? undefined : 'warning');
  }
  const axis = horizontalAxis(last, { before, columns: canvas.columns }, null);
  return block([title, ...withVerticalAxis(canvas.toRows(), highest), ...axis], size);
}

interface Point {
  readonly trial: Trial;
  /** Throughput, or how many times better than the original by the goal. */
  readonly value: number;
  /** True if it met the goal, and not by luck as far as is known. */
  readonly isGood: boolean;
}

function listPoints(study: StudyState, isThroughput: boolean): readonly Point[] {
  const { goal, baseline, trials } = study;
  const computeCost = (trial: Trial): number => {
    const measurement = findDecidingFigures(study, trial);
    return measurement ? assess(measurement, trial.candidate, goal).cost : Number.NaN;
  };
  const original = baseline ? computeCost(baseline) : Number.NaN;
  return trials.flatMap((trial) => {
    const value = isThroughput
      ? findDecidingFigures(study, trial)?.throughput.value
      : Math.exp(original - computeCost(trial));
    if (value === undefined || !Number.isFinite(value) || value <= 0) return [];
    return [{ trial, value, isGood: meetsGoal(study, trial) && !isInDoubt(study, trial) }];
  });
}

/** A staircase: from each improvement on, its height holds until the next. */
function drawBestSoFar(
  canvas: Canvas,
  points: readonly Point[],
  last: number,
  at: (number: number, value: number) => [number, number],
): void {
  let best: { readonly number: number; readonly value: number } | null = null;
  for (const {
    trial: { number },
    value,
    isGood,
  } of points) {
    if (!isGood || (best && value <= best.value)) continue;
    if (best) {
      canvas.line(at(best.number, best.value), at(number, best.value), 'front');
      canvas.line(at(number, best.value), at(number, value), 'front');
    }
    best = { number, value };
  }
  if (best) canvas.line(at(best.number, best.value), at(last, best.value), 'front');
}
