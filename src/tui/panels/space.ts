import { formatFigure } from '#base/format.ts';
import { lookUp } from '#base/look-up.ts';
import { allows, type Restriction } from '#space/narrowing.ts';
import type { ParameterValue } from '#space/types.ts';
import type { StudyState } from '#study/records/state.ts';
import type { SpaceQuestion } from '../interaction.ts';
import { computeSize, listParameters, type ShownParameter } from '../parameters.ts';
import { block, heading, inSight, type Row, row, type Size } from '../rows.ts';
import { parameterNote, type ValueCell, valuesRow, valueText } from './parameter-rows.ts';

/**
 * Returns the search space, parameter by parameter: which values are pinned, and which are
 * excluded.
 */
export function spacePanel(study: StudyState, question: SpaceQuestion, size: Size): readonly Row[] {
  const { row: selected, column, narrowing } = question;
  const parameters = listParameters(study);
  const title = heading('Search space', size.columns, leftText(study, question));
  if (parameters.length === 0) return block([title, row('  the search space has no parameters', 'muted')], size);
  const rows = parameters.map((shown, index) => {
    const { name } = shown.parameter;
    const isSelected = index === selected;
    const at = isSelected ? column : null;
    return valuesRow(name, formatCells(shown, lookUp(narrowing, name), allowsIn(question, name)), {
      at,
      isSelected,
      columns: size.columns,
    });
  });
  const below = [
    row(''),
    ...parameters.slice(selected, selected + 1).flatMap(({ parameter }) => parameterNote(parameter, size)),
    row('  = pinned: the only value that is tried   × excluded', 'muted'),
    row('  Earlier measurements still count; the running trial continues.', 'muted'),
  ];
  const room = Math.max(1, size.rows - 1 - below.length);
  return block([title, ...inSight(rows, selected, room), ...below], size);
}

const allowsIn =
  ({ narrowing }: SpaceQuestion, name: string) =>
  (value: ParameterValue): boolean =>
    allows(narrowing, name, value);

function formatCells(
  { values }: ShownParameter,
  restriction: Restriction | undefined,
  isAllowed: (value: ParameterValue) => boolean,
): readonly ValueCell[] {
  const isPinned = restriction !== undefined && 'pinned' in restriction;
  return values.map((value): ValueCell => {
    const text = valueText(value);
    if (!isAllowed(value)) return { mark: isPinned ? ' ' : '×', text, tone: 'muted' };
    return isPinned ? { mark: '=', text, tone: 'good' } : { mark: ' ', text };
  });
}

function leftText(study: StudyState, { narrowing }: SpaceQuestion): string {
  const size = computeSize(study, narrowing);
  if (!Number.isFinite(size)) return 'thousands of candidates';
  return size === 1 ? '1 candidate' : `${formatFigure(size)} candidates`;
}
