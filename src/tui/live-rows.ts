import { formatDuration, formatFigure, wrapped } from '#base/format.ts';
import type { ModelExplanation } from '#explain/explanation.ts';
import type { LiveModel } from '#explain/live-view.ts';
import { modelLines, type NamedLine } from '#explain/words.ts';
import { findSelected, type LiveChoice, type LiveView } from './live-view.ts';
import {
  foreign,
  heading,
  inSight,
  left,
  type Row,
  right,
  row,
  type Size,
  type Span,
  span,
  type Tone,
} from './rows.ts';

/** Rows of models that a small screen shows at least. */
const MIN_MODELS = 3;
/** Columns of the narrowest name, of the rate's course, and of the figures beside them. */
const MIN_NAME = 12;
const COURSE = 20;
const FIGURES = 52;
/** A narrower screen has no room for the course. */
const MIN_WITH_COURSE = 100;
const LABEL = 11;

/** Returns the page: the models, and what the selected one does and why. */
export function liveRows(view: LiveView, choice: LiveChoice, size: Size): readonly Row[] {
  const { columns } = size;
  const selected = findSelected(view, choice);
  const head = headRows(view, choice, columns);
  const foot = footRows(view, choice, columns);
  const details = detailRows(view, selected, columns);
  const room = size.rows - head.length - foot.length;
  const models = modelRows(view, selected, columns, Math.max(MIN_MODELS, room - details.length));
  return [...head, ...models, ...details.slice(0, Math.max(0, room - models.length)), ...foot];
}

const headRows = (view: LiveView, { isPaused }: LiveChoice, columns: number): readonly Row[] => [
  heading(
    `${foreign(view.server, 40)} at ${foreign(view.url, 60)}`,
    columns,
    isPaused ? 'paused' : `looking for ${formatDuration(view.seconds)}`,
  ),
  row(
    [
      `  ${left('model', nameColumns(columns))}`,
      right('requests/s', 10),
      ...(hasCourse(columns) ? [left('last minute', COURSE)] : []),
      right('queue ms', 9),
      right('exec ms', 9),
      right('batch', 7),
      right('busy', 9),
    ].join(' '),
    'muted',
  ),
];

const hasCourse = (columns: number): boolean => columns >= MIN_WITH_COURSE;

const nameColumns = (columns: number): number =>
  Math.max(MIN_NAME, columns - FIGURES - (hasCourse(columns) ? COURSE + 1 : 0));

function modelRows({ models }: LiveView, selected: string | null, columns: number, room: number): readonly Row[] {
  if (models.length === 0) return [row('  no model yet', 'muted')];
  const at = models.findIndex(({ name }) => name === selected);
  return inSight(models, at, room).map((model) => modelRow(model, model.name === selected, columns));
}

function modelRow(model: LiveModel, isSelected: boolean, columns: number): Row {
  const { name, perSecond, course, timesMs, busy, instances } = model;
  const tone: Tone | undefined = isSelected ? 'strong' : perSecond === 0 ? 'muted' : undefined;
  const figure = (value: number | undefined): string => (value === undefined ? '' : formatFigure(value));
  const busyText = `${formatFigure(busy)}${instances === null ? '' : `/${instances}`}`;
  return [
    span(`${isSelected ? '›' : ' '} ${left(foreign(name, 200), nameColumns(columns))} `, tone),
    span(`${right(formatFigure(perSecond), 10)} `, tone),
    ...(hasCourse(columns) ? [span(`${drawCourse(course)} `, 'accent')] : []),
    span(`${right(figure(timesMs?.queue), 9)} `, tone),
    span(`${right(figure(timesMs?.execution), 9)} `, tone),
    span(`${right(timesMs ? formatFigure(model.meanBatch) : '', 7)} `, tone),
    span(right(timesMs ? busyText : '', 9), tone),
  ];
}

const EIGHTHS = ' ▁▂▃▄▅▆▇█';

/** Draws rates as bars, each the mean of as many as share a column. */
function drawCourse(course: readonly number[]): string {
  const most = Math.max(...course, Number.MIN_VALUE);
  const perColumn = Math.max(1, Math.ceil(course.length / COURSE));
  const bars: string[] = [];
  for (let end = course.length; end > 0; end -= perColumn) {
    const part = course.slice(Math.max(0, end - perColumn), end);
    const mean = part.reduce((sum, rate) => sum + rate, 0) / part.length;
    bars.unshift(EIGHTHS[mean === 0 ? 0 : Math.max(1, Math.round((8 * mean) / most))] as string);
  }
  return bars.slice(-COURSE).join('').padStart(COURSE);
}

function detailRows({ explanation, budget, note }: LiveView, selected: string | null, columns: number): readonly Row[] {
  if (selected === null) return [];
  const title = heading(foreign(selected, 80), columns);
  if (explanation?.model !== selected) return [row(''), title, row(`  ${foreign(note ?? 'looking …')}`, 'muted')];
  const lines = modelLines(explanation, budget);
  return [
    row(''),
    title,
    timeRow(explanation, columns),
    ...lines.flatMap((line) => lineRows(line, columns)),
    ...(note === null ? [] : [row(`  ${foreign(note)}`, 'warning')]),
  ];
}

/** Draws how a request's time in the server is divided. */
function timeRow({ timesMs }: ModelExplanation, columns: number): Row {
  const legend = '  ▒ queue  █ execution  ░ rest';
  const width = Math.max(10, Math.min(60, columns - LABEL - 2 - legend.length));
  const parts: readonly (readonly [ms: number, texture: string, tone: Tone])[] = [
    [timesMs.queue, '▒', 'queue'],
    [timesMs.execution, '█', 'infer'],
    [timesMs.other, '░', 'muted'],
  ];
  const whole = Math.max(
    Number.MIN_VALUE,
    parts.reduce((sum, [ms]) => sum + ms, 0),
  );
  const bars = parts.map(([ms, texture, tone]): Span => span(texture.repeat(Math.round((width * ms) / whole)), tone));
  return [span(' '.repeat(LABEL + 2)), ...bars, span(legend, 'muted')];
}

const tones: Partial<Readonly<Record<NamedLine['name'], Tone>>> = {
  why: 'strong',
  change: 'good',
  unknown: 'muted',
  'settle it': 'muted',
};

function lineRows({ name, text }: NamedLine, columns: number): readonly Row[] {
  const parts = wrapped(foreign(text, 600), Math.max(20, columns - LABEL - 3));
  return parts.map((part, index) => [
    span(`  ${(index === 0 ? name : '').padEnd(LABEL)}`, 'muted'),
    span(part, tones[name]),
  ]);
}

const footRows = ({ models }: LiveView, { isPaused }: LiveChoice, columns: number): readonly Row[] => [
  row(''),
  row(
    left(
      `  q quit, and print what was seen${models.length > 1 ? '  ↑↓ model' : ''}  p ${isPaused ? 'continue' : 'pause'}`,
      columns,
    ),
    'muted',
  ),
];
