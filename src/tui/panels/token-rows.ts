import { formatFigure, formatMs } from '#base/format.ts';
import type { Measurement } from '#profiler/measurement.ts';
import { findInFlight } from '#study/level-line.ts';
import { shortLevel } from '#study/summary/describe.ts';
import type { Trial } from '#study/types.ts';
import { type Row, right, row, span } from '../rows.ts';

const LEVEL_COLUMNS = 6;
const COLUMNS = 9;
/** Below this width, there is room for fewer figures. */
const NARROW = 50;

/**
 * Returns the times of a language model's tokens and their rates by level; no rows for other
 * models.
 */
export function tokenRows({ measurements }: Trial, stands: Measurement, width: number): readonly Row[] {
  const all = measurements.includes(stands) ? measurements : [...measurements, stands];
  const shown = all.flatMap((measurement) => (measurement.tokens ? [{ measurement, tokens: measurement.tokens }] : []));
  const [first] = shown;
  if (!first) return [];
  const isNarrow = width < NARROW;
  const heads = ['TTFT', 'ITL', ...(isNarrow ? [] : ['TPOT']), 'tokens/s', ...(isNarrow ? [] : ['per user'])];
  const title = `  ${' '.repeat(LEVEL_COLUMNS)}${heads.map((head) => right(head, COLUMNS)).join('')}`;
  const lines = shown
    .toSorted((a, b) => findInFlight(a.measurement.level) - findInFlight(b.measurement.level))
    .map(({ measurement, tokens }): Row => {
      const { budget, outputTokensPerSecond, outputTokensPerSecondPerUser } = tokens;
      const cells = [
        formatMs(budget.ttftMs.value),
        formatMs(budget.itlMs.value),
        ...(isNarrow ? [] : [formatMs(budget.tpotMs.value)]),
        formatFigure(outputTokensPerSecond.value),
        ...(isNarrow ? [] : [formatFigure(outputTokensPerSecondPerUser)]),
      ];
      const isChosen = measurement === stands;
      const figures = cells.map((cell) => right(cell, COLUMNS)).join('');
      return [
        span(isChosen ? '› ' : '  ', 'strong'),
        span(`${right(shortLevel(measurement.level), LEVEL_COLUMNS)}${figures}`, isChosen ? 'strong' : undefined),
      ];
    });
  const percentile = first.measurement.budgetLatencyMs.percentile;
  return [row(`  tokens: p${percentile} of times, output rates`, 'muted'), row(title, 'muted'), ...lines];
}
