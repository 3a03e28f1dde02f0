import { formatFigure } from '../../base/format.ts';
import type { Candidate } from '../../space/types.ts';
import { isInDoubt } from '../../study/final/final.ts';
import type { StudyState } from '../../study/records/state.ts';
import { describeAssignment, shortLevel } from '../../study/summary/describe.ts';
import type { Trial } from '../../study/types.ts';
import { briefly } from '../brief-assignment.ts';
import { FINAL_MARK, figuresOf, finalMark, frontTrials, meetsGoal } from '../figures.ts';
import { type Interaction, listed, selectedTrial } from '../interaction.ts';
import {
  block,
  fitted,
  foreign,
  heading,
  inSight,
  left,
  type Row,
  right,
  row,
  type Size,
  span,
  type Tone,
} from '../rows.ts';
import { isSearching, type ViewState } from '../state.ts';

/** Returns the trial's settings on one line. */
export const describeTrial = ({ assignment }: Candidate): string => foreign(describeAssignment(assignment));

const WIDTHS = { throughput: 8, latency: 9 };
/** The number of columns before the config, without those of the level. */
const FIXED_COLUMNS = 26;
const LEVEL_COLUMNS = 5;

/** Returns the width of a level, which is longer with client batches. */
const levelColumns = ({ started: { levels } }: StudyState): number =>
  levels.batch ? 1 + shortLevel({ value: levels.high, batch: levels.batch.high }).length : LEVEL_COLUMNS;

const columnsBefore = (study: StudyState): number => FIXED_COLUMNS + levelColumns(study);

/** Returns the table of trials, the one under way last. The selected one is always visible. */
export function trialsPanel(view: ViewState, interaction: Interaction, size: Size): readonly Row[] {
  const { study } = view;
  const trials = listed(interaction, view);
  const hasFinal = study !== null && trials.some((trial) => finalMark(study, figuresOf(study, trial)) === FINAL_MARK);
  const note = [
    ...(hasFinal ? [`${FINAL_MARK} final`] : []),
    ...(interaction.onlyFront ? ['front'] : []),
    `by ${interaction.sort}`,
  ].join(', ');
  const title = heading(`Trials (${study?.trials.length ?? 0})`, size.columns, note);
  const percentile = study?.goal.budget?.percentile ?? 99;
  const names = [
    right('infer/s', WIDTHS.throughput),
    right(`p${percentile} ms`, WIDTHS.latency),
    right('at', study ? levelColumns(study) : LEVEL_COLUMNS),
  ];
  const head = row(`${right('#', 4)}   ${names.join('')}  config`, 'muted');
  if (!study) return block([title, head], size);
  const selected = selectedTrial(interaction, view)?.number;
  const front = frontTrials(study);
  const waiting = isSearching(view) ? study.requested : [];
  const coming = interaction.onlyFront ? [] : comingRows(study, waiting, size.columns);
  const room = size.rows - 2 - coming.length;
  const at = trials.findIndex(({ number }) => number === selected);
  const followsLast = interaction.selected === null && interaction.sort === 'number';
  const shown = inSight(trials, followsLast ? trials.length - 1 : at, room).map((trial) =>
    trialRow(study, trial, { isSelected: trial.number === selected, front, columns: size.columns }),
  );
  return block([title, head, ...shown, ...coming], size);
}

/** The number of requested trials shown. */
const MOST_WAITING = 3;

/** Returns the trial under way, and the waiting ones. */
function comingRows(study: StudyState, waiting: StudyState['requested'], columns: number): readonly Row[] {
  const before = columnsBefore(study);
  const waitingRow = (what: string, text: string): Row =>
    fitted([span(`     + ${right(what, before - 9)}  `, 'muted'), span(text, 'muted')], columns);
  const underWay = study.unfinished ? [underWayRow(study, study.unfinished, columns)] : [];
  const rows = waiting
    .slice(0, MOST_WAITING)
    .map(({ assignment }) => waitingRow('asked for', briefly(assignment, study, columns - before)));
  const more = waiting.length - rows.length;
  return [...underWay, ...rows, ...(more > 0 ? [waitingRow('', `and ${more} more`)] : [])];
}

interface Manner {
  readonly isSelected: boolean;
  readonly front: ReadonlySet<number>;
  readonly columns: number;
}

function trialRow(study: StudyState, trial: Trial, { isSelected, front, columns }: Manner): Row {
  const measurement = figuresOf(study, trial);
  const [sign, tone] = signOf(study, trial, front);
  const width = Math.max(0, columns - columnsBefore(study));
  const number = `${isSelected ? '›' : ' '}${right(String(trial.number), 3)} `;
  const figures = [
    right(measurement ? formatFigure(measurement.throughput.value) : '–', WIDTHS.throughput),
    right(measurement ? formatFigure(measurement.budgetLatencyMs.value) : '–', WIDTHS.latency),
    right(measurement ? shortLevel(measurement.level) : '–', levelColumns(study)),
  ].join('');
  const text = trial.failure
    ? foreign(`${trial.failure.kind}: ${trial.failure.reason}`)
    : trial.role === 'baseline'
      ? 'the original config'
      : briefly(trial.candidate.assignment, study, width);
  const line: Row = [
    span(number, isSelected ? 'strong' : 'muted'),
    span(`${sign} `, tone),
    span(figures, trial.failure ? 'muted' : isSelected ? 'strong' : undefined),
    span(`${finalMark(study, measurement)} `, 'muted'),
    span(left(text, width), trial.failure ? 'warning' : isSelected ? 'strong' : undefined),
  ];
  return fitted(line, columns);
}

/** ★ the best, ? by luck, ◆ on the front, · within the budget, ○ over it, ✗ failed. */
function signOf(study: StudyState, trial: Trial, front: ReadonlySet<number>): readonly [string, Tone | undefined] {
  if (trial.failure) return ['✗', 'bad'];
  if (trial.number === study.best?.number) return ['★', meetsGoal(study, trial) ? 'good' : 'warning'];
  if (isInDoubt(study, trial)) return ['?', 'warning'];
  if (front.has(trial.number)) return ['◆', 'front'];
  return meetsGoal(study, trial) ? ['·', undefined] : ['○', 'warning'];
}

function underWayRow(
  study: StudyState,
  { number, candidate, measurements }: NonNullable<StudyState['unfinished']>,
  columns: number,
): Row {
  const before = columnsBefore(study);
  const levels = right(`${measurements.length} measured`, before - 9);
  const text = number === 0 ? 'the original config' : briefly(candidate.assignment, study, columns - before);
  return fitted([span(` ${right(String(number), 3)} ▶ ${levels}  `, 'now'), span(text, 'now')], columns);
}
