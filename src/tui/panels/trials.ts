import { formatFigure } from '#base/format.ts';
import { lookUp } from '#base/look-up.ts';
import type { Measurement } from '#profiler/measurement.ts';
import type { Candidate } from '#space/types.ts';
import { isInDoubt } from '#study/final/final.ts';
import type { StudyState } from '#study/records/state.ts';
import { describeValue, shortLevel } from '#study/summary/describe.ts';
import { rateUnitOfStudy } from '#study/summary/rate-unit.ts';
import type { Trial } from '#study/types.ts';
import type { Command, SortColumn } from '../commands.ts';
import {
  FINAL_MARK,
  finalMark,
  findDecidingFigures,
  findFigures,
  frontTrials,
  isNormalised,
  meetsGoal,
} from '../figures.ts';
import { type Interaction, listed, selectedTrial } from '../interaction.ts';
import {
  block,
  fitted,
  foreign,
  heading,
  inSight,
  left,
  measureWidth,
  type Row,
  right,
  row,
  type Size,
  type Span,
  span,
  type Tone,
} from '../rows.ts';
import { createSettingsTable, type SettingsTable } from '../settings-table.ts';
import { isSearching, type ViewState } from '../state.ts';
import { columnsFor, gapBefore, type ParameterColumns } from '../table-columns.ts';
import { isSortedBy } from '../table-order.ts';

/** The widths of the table's columns, with the space before each. */
interface TrialWidths {
  readonly number: number;
  readonly throughput: number;
  readonly latency: number;
  readonly level: number;
  /** All columns before the config. */
  readonly before: number;
}

const MIN: Omit<TrialWidths, 'before'> = { number: 3, throughput: 8, latency: 9, level: 5 };
/** The columns of marks and spaces between the others. */
const MARK_COLUMNS = 6;

/**
 * Returns the widths at which the longest number, figure and level of the study have a space before
 * them.
 */
function computeTrialWidths(study: StudyState | null): TrialWidths {
  const { trials = [], finals = [] } = study ?? {};
  const measured = [...trials.flatMap((trial) => trial.measurements), ...finals.map(({ measurement }) => measurement)];
  const measurements = study ? measured.map((each) => study.speeds.comparable(each)) : [];
  const levels = new Map(measurements.map(({ level }) => [`${level.value} ${level.batch ?? ''}`, level]));
  const { high = 0, batch } = study?.started.levels ?? {};
  const highest = { value: high, ...(batch && { batch: batch.high }) };
  // With three digits for small figures, the largest one is the longest beyond the least width.
  const largest = (of: (measurement: Measurement) => number): string =>
    formatFigure(measurements.reduce((most, each) => Math.max(most, Number.isFinite(of(each)) ? of(each) : 0), 0));
  const widths = {
    number: Math.max(MIN.number, `${trials.length}`.length),
    throughput: Math.max(MIN.throughput, 1 + largest(({ throughput }) => throughput.value).length),
    latency: Math.max(MIN.latency, 1 + largest(({ budgetLatencyMs }) => budgetLatencyMs.value).length),
    level: Math.max(MIN.level, ...[highest, ...levels.values()].map((level) => 1 + shortLevel(level).length)),
  };
  return { ...widths, before: MARK_COLUMNS + widths.number + widths.throughput + widths.latency + widths.level };
}

/** What all rows of the table share. */
interface Table {
  readonly study: StudyState;
  readonly settings: SettingsTable;
  readonly widths: TrialWidths;
  readonly parameters: ParameterColumns;
  readonly columns: number;
}

/** The least height at which the settings that all trials share have a row. */
const MIN_ROWS_WITH_CONSTANTS = 9;

/** Returns the table of trials, the one under way last. The selected one is always visible. */
export function trialsPanel(view: ViewState, interaction: Interaction, size: Size): readonly Row[] {
  const { study } = view;
  const trials = listed(interaction, view);
  const title = heading(`Trials (${study?.trials.length ?? 0})`, size.columns, formatNote(view, interaction, trials));
  const widths = computeTrialWidths(study);
  if (!study) return block([title], size);
  const settings = createSettingsTable(study);
  const parameters = columnsFor(settings.varied, size.columns - widths.before + 1);
  const table: Table = { study, settings, widths, parameters, columns: size.columns };
  const hasConstants = settings.constant !== '' && size.rows >= MIN_ROWS_WITH_CONSTANTS;
  const head = [
    ...(hasConstants ? [fitted(row(`  all: ${settings.constant}`, 'muted'), size.columns)] : []),
    ...headRows(table, interaction),
  ];
  const coming = interaction.onlyFront || interaction.filter !== '' ? [] : comingRows(view, table);
  const room = size.rows - 1 - head.length - coming.length;
  const selected = selectedTrial(interaction, view)?.number;
  const followsLast = interaction.selected === null && isSortedBy(interaction.order, { kind: 'number' });
  const at = followsLast ? trials.length - 1 : trials.findIndex(({ number }) => number === selected);
  const front = frontTrials(study);
  const shown = inSight(trials, at, room).map((trial) => trialRow(table, trial, trial.number === selected, front));
  const none = trials.length === 0 && interaction.filter !== '' ? [row('  no trial matches', 'muted')] : [];
  return block([title, ...head, ...shown, ...none, ...coming], size);
}

function formatNote({ study }: ViewState, { onlyFront, filter }: Interaction, trials: readonly Trial[]): string {
  const hasFinal = study !== null && trials.some((trial) => finalMark(study, findFigures(study, trial)) === FINAL_MARK);
  return [
    ...(hasFinal ? [`${FINAL_MARK} final`] : []),
    ...(study !== null && trials.some((trial) => isNormalised(study, trial)) ? ['normalised'] : []),
    ...(onlyFront ? ['front'] : []),
    ...(filter === '' ? [] : [`/${foreign(filter, 20)}: ${trials.length}`]),
  ].join(', ');
}

/** Returns the names of the columns; over them those of the models, if there are several. */
function headRows({ study, widths, parameters, columns }: Table, { order }: Interaction): readonly Row[] {
  const percentile = study.goal.budget?.percentile ?? 99;
  const named = (name: string, width: number, column: SortColumn): Span => {
    const isSorted = isSortedBy(order, column);
    const text = right(isSorted ? `${order.isDescending ? '▼' : '▲'}${name}` : name, width);
    return { text, tone: isSorted ? 'accent' : 'muted', click: { name: 'sort-by', column } };
  };
  const names: Row = [
    named('#', widths.number + 1, { kind: 'number' }),
    span('   '),
    named(rateUnitOfStudy(study) === 'requests/s' ? 'req/s' : 'infer/s', widths.throughput, { kind: 'throughput' }),
    named(`p${percentile} ms`, widths.latency, { kind: 'latency' }),
    named('at', widths.level, { kind: 'level' }),
    span(' '),
    ...parameters.columns.flatMap(({ header, width, name }, index) => [
      span(' '.repeat(gapBefore(parameters.columns, index))),
      named(header, width, { kind: 'parameter', name }),
    ]),
    span(parameters.hidden > 0 ? ` +${parameters.hidden}` : '', 'muted'),
  ];
  const models = modelSpans(parameters);
  return [
    ...(models.length > 0 ? [fitted([span(' '.repeat(widths.before - 1)), ...models], columns)] : []),
    fitted(names, columns),
  ];
}

/** Returns the name of each model over its columns; empty for a single model. */
function modelSpans({ columns }: ParameterColumns): Row {
  if (columns.every(({ model }) => model === '')) return [];
  const widths = new Map<string, number>();
  for (const [index, { model, width }] of columns.entries()) {
    widths.set(model, (widths.get(model) ?? 0) + width + gapBefore(columns, index));
  }
  return [...widths].map(([model, width]) => span(` ${left(foreign(model), width - 1)}`, 'accent'));
}

/** The number of requested trials shown. */
const MAX_WAITING = 3;

/** Returns the trials under way, and the waiting ones. */
function comingRows(view: ViewState, table: Table): readonly Row[] {
  const { study, settings, widths } = table;
  const waiting = isSearching(view) ? study.requested : [];
  const begin = ' '.repeat(widths.number + 2);
  const rows = waiting.slice(0, MAX_WAITING).map(({ assignment }): Row => {
    const formatCell = (name: string): string =>
      lookUp(assignment, name) === undefined
        ? settings.cell(study.started.original, name)
        : foreign(describeValue(lookUp(assignment, name) ?? null), widths.before);
    return comingRow(table, `${begin}+ `, 'asked for', formatCell, 'muted');
  });
  const more = waiting.length - rows.length;
  return [
    ...(study.unfinished ? [underWayRow(table, study.unfinished)] : []),
    ...rows,
    ...(more > 0 ? [row(`${begin}+ and ${more} more`, 'muted')] : []),
  ];
}

function underWayRow(table: Table, { number, candidate, measurements }: NonNullable<StudyState['unfinished']>): Row {
  const begin = ` ${right(String(number), table.widths.number)} ▶ `;
  const formatCell = (name: string): string => table.settings.cell(candidate, name);
  return comingRow(table, begin, `${measurements.length} measured`, formatCell, 'now');
}

/** A row without figures: its state takes the place of the figures. */
function comingRow(table: Table, begin: string, state: string, formatCell: (name: string) => string, tone: Tone): Row {
  const { widths, columns } = table;
  const figures = right(state, widths.before - begin.length - 2);
  return fitted([span(`${begin}${figures} `, tone), ...cells(table, formatCell, tone)], columns);
}

function trialRow(table: Table, trial: Trial, isSelected: boolean, front: ReadonlySet<number>): Row {
  const { study, settings, widths, columns } = table;
  const compared = findDecidingFigures(study, trial);
  const [sign, tone] = chooseSign(study, trial, front);
  const look = isSelected ? 'strong' : undefined;
  const figuresWidth = widths.throughput + widths.latency + widths.level;
  const figures = compared
    ? [
        right(formatFigure(compared.throughput.value), widths.throughput),
        right(formatFigure(compared.budgetLatencyMs.value), widths.latency),
        right(shortLevel(compared.level), widths.level),
      ].join('')
    : right(foreign(trial.failure?.kind ?? '–', figuresWidth - 1), figuresWidth);
  const line: Row = [
    span(`${isSelected ? '›' : ' '}${right(String(trial.number), widths.number)} `, isSelected ? 'strong' : 'muted'),
    span(`${sign} `, tone),
    span(figures, trial.failure ? 'warning' : look),
    span(finalMark(study, findFigures(study, trial)), 'muted'),
    ...cells(table, createCells(settings, trial.candidate), trial.role === 'baseline' && !isSelected ? 'muted' : look),
  ];
  const remark = span(remarkOn(trial, columns - measureWidth(line)), 'muted');
  const click: Command = isSelected ? { name: 'page', page: 'trial' } : { name: 'select', trial: trial.number };
  return fitted([...line, remark], columns).map((piece) => ({ ...piece, click }));
}

const createCells =
  (settings: SettingsTable, candidate: Candidate) =>
  (name: string): string =>
    settings.cell(candidate, name);

const cells = ({ parameters }: Table, formatCell: (name: string) => string, tone: Tone | undefined): Row =>
  parameters.columns.map(({ name, width }, index) =>
    span(
      ' '.repeat(gapBefore(parameters.columns, index)) + right(left(formatCell(name), width - 1).trimEnd(), width),
      tone,
    ),
  );

/** With less room, a reason says nothing. */
const MIN_REASON = 12;

/**
 * Returns what stands after the columns, if there is room for it: which trial is the original, or
 * the reason of a failure.
 */
function remarkOn({ role, failure }: Trial, room: number): string {
  const remark = failure ? `  ${foreign(failure.reason)}` : role === 'baseline' ? '  original' : '';
  return room >= Math.min(remark.length, MIN_REASON) ? remark : '';
}

/** ★ the best, ? by luck, ◆ on the front, · within the budget, ○ over it, ✗ failed. */
function chooseSign(study: StudyState, trial: Trial, front: ReadonlySet<number>): readonly [string, Tone | undefined] {
  if (trial.failure) return ['✗', 'bad'];
  if (trial.number === study.best?.number) return ['★', meetsGoal(study, trial) ? 'good' : 'warning'];
  if (isInDoubt(study, trial)) return ['?', 'warning'];
  if (front.has(trial.number)) return ['◆', 'front'];
  return meetsGoal(study, trial) ? ['·', undefined] : ['○', 'warning'];
}
