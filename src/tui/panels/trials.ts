import { formatFigure } from '../../base/format.ts';
import type { Candidate } from '../../space/types.ts';
import { isInDoubt } from '../../study/final/final.ts';
import type { StudyState } from '../../study/records/state.ts';
import { describeAssignment, rateUnitOfStudy, shortLevel } from '../../study/summary/describe.ts';
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
import { type TrialWidths, trialWidthsOf } from './trial-widths.ts';

/** Returns the trial's settings on one line. */
export const describeTrial = ({ assignment }: Candidate): string => foreign(describeAssignment(assignment));

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
  const widths = trialWidthsOf(study);
  const names = [
    right(study && rateUnitOfStudy(study) === 'requests/s' ? 'req/s' : 'infer/s', widths.throughput),
    right(`p${percentile} ms`, widths.latency),
    right('at', widths.level),
  ];
  const head = row(`${right('#', widths.number + 1)}   ${names.join('')}  config`, 'muted');
  if (!study) return block([title, head], size);
  const selected = selectedTrial(interaction, view)?.number;
  const front = frontTrials(study);
  const waiting = isSearching(view) ? study.requested : [];
  const coming = interaction.onlyFront ? [] : comingRows(study, waiting, widths, size.columns);
  const room = size.rows - 2 - coming.length;
  const at = trials.findIndex(({ number }) => number === selected);
  const followsLast = interaction.selected === null && interaction.sort === 'number';
  const shown = inSight(trials, followsLast ? trials.length - 1 : at, room).map((trial) =>
    trialRow(study, trial, { isSelected: trial.number === selected, front, widths, columns: size.columns }),
  );
  return block([title, head, ...shown, ...coming], size);
}

/** The number of requested trials shown. */
const MOST_WAITING = 3;

/** Returns the trial under way, and the waiting ones. */
function comingRows(
  study: StudyState,
  waiting: StudyState['requested'],
  { number, before }: TrialWidths,
  columns: number,
): readonly Row[] {
  const waitingRow = (what: string, text: string): Row => {
    const begin = `${' '.repeat(number + 2)}+ `;
    return fitted([span(`${begin}${right(what, before - begin.length - 2)}  `, 'muted'), span(text, 'muted')], columns);
  };
  const underWay = study.unfinished ? [underWayRow(study, study.unfinished, { number, before }, columns)] : [];
  const rows = waiting
    .slice(0, MOST_WAITING)
    .map(({ assignment }) => waitingRow('asked for', briefly(assignment, study, columns - before)));
  const more = waiting.length - rows.length;
  return [...underWay, ...rows, ...(more > 0 ? [waitingRow('', `and ${more} more`)] : [])];
}

interface Manner {
  readonly isSelected: boolean;
  readonly front: ReadonlySet<number>;
  readonly widths: TrialWidths;
  readonly columns: number;
}

function trialRow(study: StudyState, trial: Trial, { isSelected, front, widths, columns }: Manner): Row {
  const measurement = figuresOf(study, trial);
  const [sign, tone] = signOf(study, trial, front);
  const width = Math.max(0, columns - widths.before);
  const number = `${isSelected ? '›' : ' '}${right(String(trial.number), widths.number)} `;
  const figures = [
    right(measurement ? formatFigure(measurement.throughput.value) : '–', widths.throughput),
    right(measurement ? formatFigure(measurement.budgetLatencyMs.value) : '–', widths.latency),
    right(measurement ? shortLevel(measurement.level) : '–', widths.level),
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
  widths: Pick<TrialWidths, 'number' | 'before'>,
  columns: number,
): Row {
  const begin = ` ${right(String(number), widths.number)} ▶ `;
  const levels = right(`${measurements.length} measured`, widths.before - begin.length - 2);
  const text = number === 0 ? 'the original config' : briefly(candidate.assignment, study, columns - widths.before);
  return fitted([span(`${begin}${levels}  `, 'now'), span(text, 'now')], columns);
}
