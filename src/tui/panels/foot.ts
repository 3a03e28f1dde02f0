import { formatMs } from '#base/format.ts';
import type { Abilities, Command } from '../commands.ts';
import { FINAL_MARK } from '../figures.ts';
import type { Interaction } from '../interaction.ts';
import { listHints, workingKeys } from '../keys.ts';
import { block, fitted, foreign, heading, left, measureWidth, type Row, row, type Size, span } from '../rows.ts';
import type { ViewState } from '../state.ts';

/** Returns the question or message for the person, and the keys: two rows. */
export function footRows(
  view: ViewState,
  interaction: Interaction,
  abilities: Abilities,
  notice: string | null,
  width: number,
): readonly Row[] {
  const hints = [...listHints(interaction, abilities, view)];
  const line = (): Row =>
    hints.flatMap(({ shown, does, command: click }) => [
      { ...span(` ${shown}`, 'accent'), click },
      { ...span(` ${does} `, 'muted'), click },
    ]);
  // The keys that steer or lead on come last. In a short line, the keys for moving and looking are
  // dropped first.
  while (hints.length > 2 && measureWidth(line()) > width) {
    const first = hints.findIndex(({ shown }) => shown !== 'Enter');
    hints.splice(first, 1);
  }
  return [fitted(questionRow(interaction, view) ?? noticeRow(notice), width), fitted(line(), width)];
}

function questionRow({ question, filter }: Interaction, { study }: ViewState): Row | null {
  if (question?.kind === 'quit') return row(' End the run?', 'warning');
  if (question?.kind === 'filter')
    return [span(' /', 'warning'), span(foreign(filter), 'strong'), span('_'), span(FILTER_EXAMPLES, 'muted')];
  if (question?.kind !== 'budget') return null;
  const percentile = study?.goal.budget?.percentile ?? 99;
  const now = study?.goal.budget ? `, now ${formatMs(study.goal.budget.latencyMs)}` : '';
  return [span(` p${percentile} budget in ms${now}: `, 'warning'), span(question.text, 'strong'), span('_')];
}

const FILTER_EXAMPLES = '   such as instances=4, front, failed, over budget';

const noticeRow = (notice: string | null): Row => (notice === null ? [] : row(` ${foreign(notice)}`, 'warning'));

/** If there are too many rows, joins pairs of short ones. */
function paired(rows: readonly Row[], room: number, columns: number): readonly Row[] {
  const half = Math.floor(columns / 2);
  const kept: Row[] = [...rows];
  for (let at = kept.length - 2; at >= 0 && kept.length > room; at--) {
    const [first = [], second = []] = kept.slice(at, at + 2);
    if (measureWidth(first) < half && measureWidth(second) <= columns - half)
      kept.splice(at, 2, [...fitted(first, half), ...second]);
  }
  return kept;
}

const isHelp = (command: Command): boolean => command.name === 'page' && command.page === 'help';

/** Returns every key that works now, and the meaning of the signs. */
export function helpPanel(view: ViewState, interaction: Interaction, abilities: Abilities, size: Size): readonly Row[] {
  const working = workingKeys({ ...interaction, question: null }, abilities, view);
  const moves = working.filter(({ command }) => command.name === 'move').map(({ shown }) => shown);
  // The first of the arrows names both.
  const others = working.filter(({ command, shown }) => command.name !== 'move' && shown !== '→' && !isHelp(command));
  const rows = others.map(({ shown, does }): Row => [span(`  ${left(shown, 7)}`, 'accent'), span(does)]);
  const signs: readonly Row[] = [
    row('  ★ best  ◆ on the Pareto front  · within budget  ? doubtful  ○ over budget', 'muted'),
    row('  ✗ failed  ▶ running  + asked for  ● selected  o the original  ╎ the budget', 'muted'),
    row(`  ⠒⠒ front predicted by the sampler  ${FINAL_MARK} measured in the final`, 'muted'),
  ];
  const keys: readonly Row[] = [
    [span(`  ${moves.join(' ')}`, 'accent'), span('  move through the trials')],
    ...paired(rows, size.rows - 2 - signs.length, size.columns),
  ];
  return block([heading('Keys', size.columns), ...keys, ...signs], size);
}
