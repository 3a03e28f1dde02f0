import { formatFigure } from '../../base/format.ts';
import type { Measurement } from '../../profiler/measurement.ts';
import type { StudyState } from '../../study/state.ts';
import type { Trial } from '../../study/types.ts';
import { compareConfigs } from '../../triton/config-comparison.ts';
import { figuresOf } from '../figures.ts';
import { type Interaction, selectedTrial } from '../interaction.ts';
import {
  beside,
  block,
  foreign,
  heading,
  left,
  type Row,
  right,
  row,
  type Size,
  span,
  type Tone,
  wrapped,
} from '../rows.ts';
import type { ViewState } from '../state.ts';
import { batchRows, breakdownRows, deviceRows, levelRows, predictionRows } from './measurements.ts';

const MOST_DIFFERENCES = 8;
/** Names that the server gives to instances without one. */
const MADE_UP = /^instance_group\[\d+\]\.name$/;

/** From this width on a trial that is longer than the panel goes on in a second column. */
const TWO_COLUMNS = 76;
const GAP = 2;

/** One trial: its config against the original or a marked one, its levels, where the latency goes, its batches, the device. */
export function trialPanel(view: ViewState, interaction: Interaction, size: Size): readonly Row[] {
  const trial = selectedTrial(interaction, view);
  if (!trial) return block([heading('Trial', size.columns), row('  none yet', 'muted')], size);
  const name = trial.role === 'baseline' ? 'The original' : `Trial ${trial.number}`;
  const state = trial.failure ? 'failed' : trial.feasible ? 'meets the goal' : 'misses the goal';
  const title = heading(name, size.columns, state);
  const room = size.rows - 1;
  const sections = sectionsOf(view, trial, interaction.marked, size.columns);
  if (size.columns < TWO_COLUMNS || sections.flat().length <= room) return block([title, ...sections.flat()], size);
  const columns = Math.floor((size.columns - GAP) / 2);
  const narrow = sectionsOf(view, trial, interaction.marked, columns);
  const [first, second] = halves(narrow, room).map((half) => block(half.flat(), { columns, rows: room }));
  return block([title, ...beside(first ?? [], second ?? [], GAP)], size);
}

type Section = readonly Row[];

function sectionsOf(view: ViewState, trial: Trial, marked: number | null, width: number): readonly Section[] {
  const { study } = view;
  if (!study) return [];
  const measurement = figuresOf(study, trial);
  const other = study.trials.find(({ number }) => number === marked && number !== trial.number) ?? null;
  const config = [...failureRows(trial, width), ...differenceRows(study, trial, other, width)];
  if (!measurement) return [config];
  return [
    config,
    other ? comparisonRows(study, other, measurement, width) : [],
    trial.number === study.best?.number ? predictionRows(view.predicted) : [],
    levelRows(trial, measurement, width),
    breakdownRows(trial, measurement, width),
    batchRows(measurement, width),
    deviceRows(measurement, width),
  ];
}

/** As many whole sections as fit, and the rest. */
function halves(sections: readonly Section[], room: number): readonly (readonly Section[])[] {
  let used = 0;
  const cut = sections.findIndex((section) => {
    used += section.length;
    return used > room;
  });
  return [sections.slice(0, Math.max(1, cut)), sections.slice(Math.max(1, cut))];
}

function failureRows({ failure }: Trial, width: number): readonly Row[] {
  if (!failure) return [];
  return wrapped(foreign(`${failure.kind}: ${failure.reason}`), width - 2).map((line) => row(`  ${line}`, 'bad'));
}

function differenceRows(study: StudyState, trial: Trial, other: Trial | null, width: number): readonly Row[] {
  const base = other?.candidate.config ?? study.started.originalConfig;
  const differences = compareConfigs(base, trial.candidate.config).filter(({ path }) => !MADE_UP.test(path));
  const against = other ? `trial ${other.number}` : 'the original';
  if (differences.length === 0) return trial.role === 'baseline' ? [] : [row(`  config as ${against}`, 'muted')];
  const longest = Math.max(...differences.map(({ path }) => path.length));
  const fieldWidth = Math.min(longest, Math.max(12, width - 20));
  const lines = differences.slice(0, MOST_DIFFERENCES).map(({ path, before, after }): Row => {
    const field = tailOf(foreign(path), fieldWidth);
    return [span(`  ${field} `), span(valueText(before), 'muted'), span(' → '), span(valueText(after), 'strong')];
  });
  const more = differences.length - lines.length;
  return [
    row(`  config, against ${against}`, 'muted'),
    ...lines,
    ...(more > 0 ? [row(`  and ${more} more`, 'muted')] : []),
  ];
}

/** The end of a path says more than its beginning. */
const tailOf = (path: string, width: number): string =>
  path.length > width ? `…${path.slice(1 - width)}` : path.padEnd(width);

const valueText = (value: unknown): string => (value === undefined ? 'none' : foreign(JSON.stringify(value), 24));

function comparisonRows(study: StudyState, other: Trial, own: Measurement, width: number): readonly Row[] {
  const theirs = figuresOf(study, other);
  if (!theirs) return [];
  const line = (name: string, mine: number, his: number, better: 'higher' | 'lower'): Row => {
    const change = his > 0 ? (mine / his - 1) * 100 : Number.NaN;
    const tone: Tone | undefined =
      Math.abs(change) < 1 ? undefined : change > 0 === (better === 'higher') ? 'good' : 'bad';
    const text = Number.isFinite(change) ? `${change >= 0 ? '+' : ''}${change.toFixed(1)} %` : '';
    return [
      span(`  ${left(name, 14)}${right(formatFigure(his), 10)} → ${right(formatFigure(mine), 10)}  `),
      span(text, tone),
    ];
  };
  const percentile = own.budgetLatencyMs.percentile;
  return [
    row(left(`  against trial ${other.number}`, width), 'muted'),
    line('infer/s', own.throughput.value, theirs.throughput.value, 'higher'),
    line(`p${percentile} ms`, own.budgetLatencyMs.value, theirs.budgetLatencyMs.value, 'lower'),
    line('p50 ms', own.latencyMs.p50, theirs.latencyMs.p50, 'lower'),
  ];
}
