import type { StudyState } from '#study/records/state.ts';
import { describeAssignment } from '#study/summary/describe.ts';
import { type CandidateVerdict, type HandChoice, handChoices, verdictOn } from '../by-hand.ts';
import type { HandQuestion } from '../interaction.ts';
import { block, fitted, foreign, heading, inSight, type Row, row, type Size, span } from '../rows.ts';
import { parameterNote, sentenceRows, type ValueCell, valuesRow, valueText } from './parameter-rows.ts';

/** The number of waiting trials shown. */
const MAX_WAITING = 3;

/**
 * A candidate made by hand: the value of each parameter, whether it is valid, and which trials are
 * waiting.
 */
export function handPanel(
  study: StudyState,
  { row: selected, assignment, from }: HandQuestion,
  size: Size,
): readonly Row[] {
  const begun = from === 0 ? 'the original' : `trial ${from}`;
  const title = heading('A candidate of your own', size.columns, `starting from ${begun}`);
  const choices = handChoices(study, assignment);
  if (choices.length === 0) return block([title, row('  the search space has no parameters', 'muted')], size);
  const rows = choices.map((choice, index) => choiceRow(choice, index === selected, size.columns));
  const below = [
    row(''),
    ...choices.slice(selected, selected + 1).flatMap(({ parameter }) => parameterNote(parameter, size)),
    ...verdictRows(verdictOn(study, assignment), size),
    ...waitingRows(study, size.columns),
  ];
  const room = Math.max(1, size.rows - 1 - below.length);
  return block([title, ...inSight(rows, selected, room), ...below], size);
}

function choiceRow(choice: HandChoice, isSelected: boolean, columns: number): Row {
  const { parameter, values, chosen, applies } = choice;
  if (!applies) {
    const cells: readonly ValueCell[] = [{ mark: ' ', text: 'does not apply', tone: 'muted' }];
    return valuesRow(parameter.name, cells, { at: null, isSelected, columns });
  }
  const named = values.map((value): ValueCell => ({ mark: ' ', text: valueText(value), tone: 'muted' }));
  const hasOwn = values.includes(null);
  const cells: readonly ValueCell[] = hasOwn ? named : [{ mark: ' ', text: 'original', tone: 'muted' }, ...named];
  const at = hasOwn ? chosen : chosen + 1;
  const shown = cells.map((cell, index): ValueCell => (index === at ? { mark: ' ', text: cell.text } : cell));
  return valuesRow(parameter.name, shown, { at, isSelected, columns });
}

function verdictRows(verdict: CandidateVerdict, size: Size): readonly Row[] {
  if (!verdict.legal) return sentenceRows(foreign(`not valid: ${verdict.reason}`), size, 'bad');
  return sentenceRows(foreign(verdict.note === null ? 'valid' : `valid; ${verdict.note}`), size, 'good');
}

function waitingRows({ requested }: StudyState, columns: number): readonly Row[] {
  const shown = requested.slice(0, MAX_WAITING);
  const more = requested.length - shown.length;
  return shown.map(({ assignment }, index) => {
    const rest = index === shown.length - 1 && more > 0 ? ` (and ${more} more)` : '';
    const head = index === 0 ? '  waiting: ' : '           ';
    return fitted([span(head, 'muted'), span(foreign(describeAssignment(assignment))), span(rest, 'muted')], columns);
  });
}
