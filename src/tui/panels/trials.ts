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

/** Columns before the config. */
const FIXED_COLUMNS = 31;
const WIDTHS = { throughput: 8, latency: 9, level: 5 };

/** The same with what tells trials apart in front: where there is little room, it is what is to be seen. */
function briefly({ assignment }: Candidate, { trials }: StudyState): string {
  const values = (name: string): number =>
    new Set(trials.map(({ candidate }) => JSON.stringify(candidate.assignment[name]))).size;
  const entries = Object.entries(assignment).map(([name, value]) => ({ name, value, variety: values(name) }));
  const ordered = entries.sort((a, b) => b.variety - a.variety).map(({ name, value }) => [name, value]);
  return foreign(describeAssignment(Object.fromEntries(ordered)));
}

/** The table of trials, the one under way last; the selected one is always in sight. */
export function trialsPanel(view: ViewState, interaction: Interaction, size: Size): readonly Row[] {
  const { study } = view;
  const trials = listed(interaction, view);
  const note = [...(interaction.onlyFront ? ['front'] : []), `by ${interaction.sort}`].join(', ');
  const title = heading(`Trials (${study?.trials.length ?? 0})`, size.columns, note);
  const percentile = study?.goal.budget?.percentile ?? 99;
  const names = [
    right('infer/s', WIDTHS.throughput),
    right(`p${percentile} ms`, WIDTHS.latency),
    right('at', WIDTHS.level),
  ];
  const head = row(`${right('#', 4)}   ${names.join('')}  config`, 'muted');
  if (!study) return block([title, head], size);
  const selected = selectedTrial(interaction, view)?.number;
  const front = frontTrials(study);
  const rows = trials.map((trial) =>
    trialRow(study, trial, { isSelected: trial.number === selected, front, columns: size.columns }),
  );
  const underWay =
    study.unfinished && !interaction.onlyFront ? [underWayRow(study, study.unfinished, size.columns)] : [];
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
  const figures = [
    right(measurement ? formatFigure(measurement.throughput.value) : '–', WIDTHS.throughput),
    right(measurement ? formatFigure(measurement.budgetLatencyMs.value) : '–', WIDTHS.latency),
    right(measurement ? formatFigure(measurement.level.value) : '–', WIDTHS.level),
  ].join('');
  const text = trial.failure
    ? foreign(`${trial.failure.kind}: ${trial.failure.reason}`)
    : trial.role === 'baseline'
      ? 'the original config'
      : briefly(trial.candidate, study);
  const line: Row = [
    span(number, isSelected ? 'strong' : 'muted'),
    span(`${sign} `, tone),
    span(figures, trial.failure ? 'muted' : isSelected ? 'strong' : undefined),
    span('  '),
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

function underWayRow(
  study: StudyState,
  { number, candidate, measurements }: NonNullable<StudyState['unfinished']>,
  columns: number,
): Row {
  const levels = right(`${measurements.length} measured`, FIXED_COLUMNS - 9);
  const text = number === 0 ? 'the original config' : briefly(candidate, study);
  return fitted([span(` ${right(String(number), 3)} ▶ ${levels}  `, 'now'), span(text, 'now')], columns);
}
