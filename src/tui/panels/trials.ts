import { formatFigure } from '../../base/format.ts';
import type { Candidate } from '../../space/types.ts';
import { describeAssignment } from '../../study/describe.ts';
import type { StudyState } from '../../study/state.ts';
import type { Trial } from '../../study/types.ts';
import { figuresOf, frontTrials } from '../figures.ts';
import { type Interaction, listed, selectedTrial } from '../interaction.ts';
import { block, fitted, foreign, heading, left, type Row, right, row, type Size, span, type Tone } from '../rows.ts';
import type { ViewState } from '../state.ts';

/** What the trial sets, on one line. */
export const describeTrial = ({ assignment }: Candidate): string => foreign(describeAssignment(assignment));

const FIXED_COLUMNS = 34;

/** The table of trials, the one under way last; the selected one is always in sight. */
export function trialsPanel(view: ViewState, interaction: Interaction, size: Size): readonly Row[] {
  const { study } = view;
  const trials = listed(interaction, view);
  const note = [...(interaction.onlyFront ? ['front'] : []), `by ${interaction.sort}`].join(', ');
  const title = heading(`Trials (${study?.trials.length ?? 0})`, size.columns, note);
  const percentile = study?.goal.budget?.percentile ?? 99;
  const head = row(
    `${right('#', 4)}  ${right('infer/s', 9)}${right(`p${percentile} ms`, 9)}${right('at', 6)}    config`,
    'muted',
  );
  if (!study) return block([title, head], size);
  const selected = selectedTrial(interaction, view)?.number;
  const front = frontTrials(study);
  const rows = trials.map((trial) =>
    trialRow(study, trial, { isSelected: trial.number === selected, front, columns: size.columns }),
  );
  const underWay = study.unfinished && !interaction.onlyFront ? [underWayRow(study.unfinished, size.columns)] : [];
  const room = size.rows - 2 - underWay.length;
  const at = trials.findIndex(({ number }) => number === selected);
  const shown = inSight(
    rows,
    interaction.selected === null && interaction.sort === 'number' ? rows.length - 1 : at,
    room,
  );
  return block([title, head, ...shown, ...underWay], size);
}

/** So many of the rows that the one at `index` is among them, and not at the edge where that can be. */
function inSight(rows: readonly Row[], index: number, room: number): readonly Row[] {
  const start = Math.max(0, Math.min(rows.length - room, index - Math.floor(room / 2)));
  return rows.slice(start, start + Math.max(0, room));
}

interface Manner {
  readonly isSelected: boolean;
  readonly front: ReadonlySet<number>;
  readonly columns: number;
}

function trialRow(study: StudyState, trial: Trial, { isSelected, front, columns }: Manner): Row {
  const measurement = figuresOf(study, trial);
  const [sign, tone] = signOf(study, trial, front);
  const width = Math.max(0, columns - FIXED_COLUMNS);
  const number = `${isSelected ? '›' : ' '}${right(String(trial.number), 3)} `;
  const figures = measurement
    ? `${right(formatFigure(measurement.throughput.value), 9)}${right(formatFigure(measurement.budgetLatencyMs.value), 9)}${right(formatFigure(measurement.level.value), 6)}`
    : `${right('–', 9)}${right('–', 9)}${right('–', 6)}`;
  const text = trial.failure
    ? foreign(`${trial.failure.kind}: ${trial.failure.reason}`)
    : trial.role === 'baseline'
      ? 'the original config'
      : describeTrial(trial.candidate);
  const line: Row = [
    span(number, isSelected ? 'strong' : 'muted'),
    span(`${sign} `, tone),
    span(figures.slice(1), trial.failure ? 'muted' : isSelected ? 'strong' : undefined),
    span('    '),
    span(left(text, width), trial.failure ? 'warning' : isSelected ? 'strong' : undefined),
  ];
  return fitted(line, columns);
}

/** ★ the best, ◆ on the front, · within the budget, ○ over it, ✗ failed. */
function signOf(study: StudyState, trial: Trial, front: ReadonlySet<number>): readonly [string, Tone | undefined] {
  if (trial.failure) return ['✗', 'bad'];
  if (trial.number === study.best?.number) return ['★', trial.feasible ? 'good' : 'warning'];
  if (front.has(trial.number)) return ['◆', 'front'];
  return trial.feasible ? ['·', undefined] : ['○', 'warning'];
}

function underWayRow({ number, candidate, measurements }: NonNullable<StudyState['unfinished']>, columns: number): Row {
  const levels = `${measurements.length} measured`;
  const text = number === 0 ? 'the original config' : describeTrial(candidate);
  return fitted([span(` ${right(String(number), 3)} ▶ ${right(levels, 23)}    `, 'now'), span(text, 'now')], columns);
}
