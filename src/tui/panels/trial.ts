import { formatFigure, wrapped } from '../../base/format.ts';
import type { Measurement } from '../../profiler/measurement.ts';
import { isInDoubt } from '../../study/final.ts';

import { noiseFloorOf } from '../../study/noise-floor.ts';
import { describeNoise, noiseSentence } from '../../study/noise-words.ts';

import { correctionOf } from '../../study/speed/changes.ts';

import type { StudyState } from '../../study/state.ts';
import type { Trial } from '../../study/types.ts';
import { compareConfigs } from '../../triton/config-comparison.ts';
import { figuresOf, finalMark } from '../figures.ts';
import { type Interaction, selectedTrial } from '../interaction.ts';
import { beside, block, foreign, heading, left, type Row, right, row, type Size, type Span, span } from '../rows.ts';
import type { ViewState } from '../state.ts';
import { batchRows, breakdownRows, deviceRows, levelRows, predictionRows, US_PER_MS } from './measurements.ts';

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
  const title = heading(name, size.columns, stateOf(view, trial));
  const room = size.rows - 1;
  const sections = sectionsOf(view, trial, interaction.marked, size.columns);
  if (size.columns < TWO_COLUMNS || sections.flat().length <= room) return block([title, ...sections.flat()], size);
  const columns = Math.floor((size.columns - GAP) / 2);
  const narrow = sectionsOf(view, trial, interaction.marked, columns);
  const [first, second] = halves(narrow, room).map((half) => block(half.flat(), { columns, rows: room }));
  return block([title, ...beside(first ?? [], second ?? [], GAP)], size);
}

function stateOf({ study }: ViewState, trial: Trial): string {
  if (trial.failure) return 'failed';
  if (study && isInDoubt(study, trial)) return 'meets the goal, by luck as it seems';
  return trial.feasible ? 'meets the goal' : 'misses the goal';
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
    trial.number === study.best?.number ? predictionRows(view.predicted, comparedOf(study, measurement), width) : [],
    levelRows(trial, measurement, width),
    trial.role === 'baseline' ? restRows(study, width) : [],
    breakdownRows(trial, measurement, width),
    batchRows(measurement, width),
    deviceRows(measurement, width),
  ];
}

/** What the original took with next to no load. */
function restRows(study: StudyState, width: number): readonly Row[] {
  const floor = noiseFloorOf(study);
  if (!floor) return [];
  const said = noiseSentence(describeNoise(floor, study.goal.budget));
  return wrapped(`at rest ${said}`, width - 2).map((line) => row(`  ${line}`, 'muted'));
}

const comparedOf = ({ speeds }: StudyState, measurement: Measurement): Measurement | null =>
  correctionOf(speeds, measurement) === null ? null : speeds.comparable(measurement);

/** As many whole sections as fit, and the rest. */
function halves(sections: readonly Section[], room: number): readonly (readonly Section[])[] {
  let used = 0;
  const cut = sections.findIndex((section) => {
    used += section.length;
    return used > room;
  });
  return [sections.slice(0, Math.max(1, cut)), sections.slice(Math.max(1, cut))];
}

const nameOf = ({ role, number }: Trial): string => (role === 'baseline' ? 'the original' : `trial ${number}`);

function failureRows({ failure }: Trial, width: number): readonly Row[] {
  if (!failure) return [];
  return wrapped(foreign(`${failure.kind}: ${failure.reason}`), width - 2).map((line) => row(`  ${line}`, 'bad'));
}

function differenceRows(study: StudyState, trial: Trial, other: Trial | null, width: number): readonly Row[] {
  const base = other?.candidate.config ?? study.started.originalConfig;
  const differences = compareConfigs(base, trial.candidate.config).filter(({ path }) => !MADE_UP.test(path));
  const against = other ? nameOf(other) : 'the original';
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

/** Both trials side by side, and the change from the marked one to this one. */
function comparisonRows(study: StudyState, other: Trial, own: Measurement, width: number): readonly Row[] {
  const theirs = figuresOf(study, other);
  if (!theirs) return [];
  const [theirMark, ownMark] = [finalMark(study, theirs), finalMark(study, own)];
  const rows = compared(own.budgetLatencyMs.percentile).flatMap(({ name, read, better }) => {
    const [his, mine] = [read(theirs), read(own)];
    if (his === undefined || mine === undefined) return [];
    const figures = `  ${left(name, 10)}${right(formatFigure(his), 8)}${theirMark}→ ${right(formatFigure(mine), 7)}${ownMark} `;
    return [[span(figures), changeSpan(mine, his, better)]];
  });
  return [row(left(`  against ${nameOf(other)}, side by side`, width), 'muted'), ...rows];
}

/** From here on a change is said as a ratio. */
const MANY_TIMES = 10;

function changeSpan(mine: number, his: number, better: 'higher' | 'lower' | null): Span {
  const percent = his > 0 ? (mine / his - 1) * 100 : Number.NaN;
  if (!Number.isFinite(percent)) return span('');
  const change = `${percent >= 0 ? '+' : ''}${percent.toFixed(Math.abs(percent) < 99.95 ? 1 : 0)} %`;
  const text = mine / his < MANY_TIMES ? change : `${formatFigure(mine / his)}×`;
  if (better === null || Math.abs(percent) < 1) return span(text);
  return span(text, percent > 0 === (better === 'higher') ? 'good' : 'bad');
}

interface Compared {
  readonly name: string;
  /** undefined where the server does not tell. */
  readonly read: (of: Measurement) => number | undefined;
  readonly better: 'higher' | 'lower' | null;
}

const msOf = (us: number | undefined): number | undefined => (us === undefined ? undefined : us / US_PER_MS);

const compared = (percentile: number): readonly Compared[] => [
  { name: 'infer/s', read: ({ throughput }) => throughput.value, better: 'higher' },
  { name: `p${percentile} ms`, read: ({ budgetLatencyMs }) => budgetLatencyMs.value, better: 'lower' },
  { name: 'p50 ms', read: ({ latencyMs }) => latencyMs.p50, better: 'lower' },
  { name: 'at', read: ({ level }) => level.value, better: null },
  { name: 'queue ms', read: ({ server }) => msOf(server?.queueUs), better: 'lower' },
  { name: 'infer ms', read: ({ server }) => msOf(server?.computeInferUs), better: 'lower' },
  { name: 'GPU MiB', read: ({ device }) => device.gpuMemoryMiB, better: 'lower' },
];
