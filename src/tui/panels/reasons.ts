import { wrapped } from '#base/format.ts';
import { computeBarScale, labelledWords, reasonLabels } from '#study/analysis/explain/reasons.ts';
import { describeBar } from '#study/analysis/explain/time-bar.ts';
import type { BarKind, Reason, ReasonBar } from '#study/summary/explanation-schema.ts';
import { foreign, LABEL_COLUMNS, label, type Row, type Span, span, type Tone } from '../rows.ts';

/** The maximum length of a bar; the words after it need the rest of the row. */
const MAX_CELLS = 40;
/** The gap between a bar and its words. */
const GAP = 2;

/** Each part has its own texture, to tell neighbours apart without colour. */
const looks: Readonly<Record<Exclude<BarKind, 'stage'>, readonly [texture: string, tone: Tone]>> = {
  queue: ['░', 'queue'],
  compute: ['█', 'infer'],
  outside: ['·', 'network'],
  'first-token': ['▒', 'queue'],
  'other-tokens': ['█', 'infer'],
  whole: ['▒', 'muted'],
  without: ['▒', 'muted'],
  gained: ['█', 'good'],
};
const stageLooks: readonly (readonly [texture: string, tone: Tone])[] = [
  ['░', 'queue'],
  ['█', 'infer'],
  ['▒', 'input'],
  ['▓', 'output'],
];

/**
 * Returns a row for each reason with its label, and a row with its bar below it. All bars of times
 * have one scale. If they do not fit into `mostRows`, drops the bars first, then all but the limit
 * and the next step, then that step. Empty if not even the limit fits.
 */
export function reasonRows(reasons: readonly Reason[], width: number, mostRows: number): readonly Row[] {
  const isLate = ({ about }: Reason): boolean => about === 'now' || about === 'next';
  const choices = [
    () => reasons.flatMap((reason) => listRows(reason, reasons, width)),
    () => reasons.flatMap((reason) => wordRows(reason, width)),
    () => reasons.filter(isLate).flatMap((reason) => wordRows(reason, width)),
    () => reasons.filter(({ about }) => about === 'now').flatMap((reason) => wordRows(reason, width)),
  ];
  for (const rows of choices.map((choice) => choice())) if (rows.length <= mostRows) return rows;
  return [];
}

function listRows(reason: Reason, all: readonly Reason[], width: number): readonly Row[] {
  const words = wordRows(reason, width);
  return reason.bar ? [...words, barRow(reason.bar, computeBarScale(reason, all), width)] : words;
}

function wordRows(reason: Reason, width: number): readonly Row[] {
  const lines = wrapped(foreign(labelledWords(reason), Number.POSITIVE_INFINITY), width - LABEL_COLUMNS);
  return lines.map((line, index) => [label(index === 0 ? reasonLabels[reason.about] : ''), span(line)]);
}

/** `whole`: the value of a bar over all cells. */
function barRow(bar: ReasonBar, whole: number, width: number): Row {
  const words = foreign(describeBar(bar));
  const cells = Math.max(0, Math.min(MAX_CELLS, width - LABEL_COLUMNS - GAP - words.length));
  return [label(''), ...drawn(bar, whole, cells), span(' '.repeat(GAP)), span(words, 'muted')];
}

function drawn(bar: ReasonBar, whole: number, cells: number): readonly Span[] {
  const scale = whole > 0 ? cells / whole : 0;
  let [before, end, stage] = [0, 0, 0];
  return bar.parts.map(({ kind, value }) => {
    before += value;
    const length = Math.max(0, Math.round(before * scale) - end);
    end += length;
    const [texture, tone] = kind === 'stage' ? lookOfStage(stage++) : looks[kind];
    return span(texture.repeat(length), tone);
  });
}

const lookOfStage = (index: number): readonly [string, Tone] =>
  stageLooks[index % stageLooks.length] as (typeof stageLooks)[number];
