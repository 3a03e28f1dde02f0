import { formatFigure, formatMs, formatRate } from '../../base/format.ts';
import type { Measurement } from '../../profiler/measurement.ts';
import { describeLevel } from '../../study/describe.ts';
import type { StudyState } from '../../study/state.ts';
import type { Trial } from '../../study/types.ts';
import { compareConfigs } from '../../triton/config-comparison.ts';
import { bar } from '../canvas.ts';
import { figuresOf } from '../figures.ts';
import { type Interaction, selectedTrial } from '../interaction.ts';
import {
  block,
  foreign,
  heading,
  left,
  type Row,
  right,
  row,
  type Size,
  type Span,
  span,
  type Tone,
  wrapped,
} from '../rows.ts';
import type { ViewState } from '../state.ts';

const US_PER_MS = 1e3;
const MOST_DIFFERENCES = 8;
const MOST_BATCHES = 8;

/** One trial: its config against the original or a marked one, its levels, where the latency goes, its batches, the device. */
export function trialPanel(view: ViewState, interaction: Interaction, size: Size): readonly Row[] {
  const { study } = view;
  const trial = selectedTrial(interaction, view);
  if (!study || !trial) return block([heading('Trial', size.columns), row('  none yet', 'muted')], size);
  const name = trial.role === 'baseline' ? 'The original' : `Trial ${trial.number}`;
  const state = trial.failure ? 'failed' : trial.feasible ? 'meets the goal' : 'misses the goal';
  const measurement = figuresOf(study, trial);
  const other = study.trials.find(({ number }) => number === interaction.marked && number !== trial.number) ?? null;
  return block(
    [
      heading(name, size.columns, state),
      ...failureRows(trial, size.columns),
      ...differenceRows(study, trial, other, size.columns),
      ...(other && measurement ? comparisonRows(study, other, measurement, size.columns) : []),
      ...levelRows(trial, measurement, size.columns),
      ...(measurement ? breakdownRows(trial, measurement, size.columns) : []),
      ...(measurement ? batchRows(measurement, size.columns) : []),
      ...(measurement ? deviceRows(measurement) : []),
    ],
    size,
  );
}

function failureRows({ failure }: Trial, width: number): readonly Row[] {
  if (!failure) return [];
  return wrapped(foreign(`${failure.kind}: ${failure.reason}`), width - 2).map((line) => row(`  ${line}`, 'bad'));
}

function differenceRows(study: StudyState, trial: Trial, other: Trial | null, width: number): readonly Row[] {
  const base = other?.candidate.config ?? study.started.originalConfig;
  const differences = compareConfigs(base, trial.candidate.config);
  const against = other ? `trial ${other.number}` : 'the original';
  if (differences.length === 0) return trial.role === 'baseline' ? [] : [row(`  config as ${against}`, 'muted')];
  const lines = differences.slice(0, MOST_DIFFERENCES).map(({ path, before, after }): Row => {
    const field = left(foreign(path), Math.max(12, width - 28));
    return [span(`  ${field} `), span(valueText(before), 'muted'), span(' → '), span(valueText(after), 'strong')];
  });
  const more = differences.length - lines.length;
  return [
    row(`  config, against ${against}`, 'muted'),
    ...lines,
    ...(more > 0 ? [row(`  and ${more} more`, 'muted')] : []),
  ];
}

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

function levelRows({ measurements }: Trial, stands: Measurement | null, width: number): readonly Row[] {
  if (measurements.length === 0) return [];
  const most = Math.max(...measurements.map(({ throughput }) => throughput.value));
  const cells = Math.max(0, Math.min(24, width - 50));
  const ordered = [...measurements].sort((a, b) => a.level.value - b.level.value);
  const lines = ordered.map((each): Row => {
    const { level, throughput, budgetLatencyMs, stable, client } = each;
    const isChosen = each === stands || each.level.value === stands?.level.value;
    const notes = `${stable ? '' : ' not stable'}${client.bound ? ' client-bound' : ''}`;
    const text = `${left(describeLevel(level), 18)}${right(formatRate(throughput.value), 15)}${right(formatMs(budgetLatencyMs.value), 10)} `;
    return [
      span(isChosen ? '› ' : '  ', 'strong'),
      span(text, isChosen ? 'strong' : undefined),
      span(bar(throughput.value / most, cells), 'accent'),
      span(notes, 'warning'),
    ];
  });
  const percentile = measurements[0]?.budgetLatencyMs.percentile ?? 99;
  return [row(`  load levels: throughput, p${percentile}`, 'muted'), ...lines];
}

/** The parts of a request's time; each has a texture of its own, so that no colour is needed to tell them apart. */
const parts: readonly {
  readonly name: string;
  readonly tone: Tone;
  readonly texture: string;
  readonly ms: (of: Measurement) => number;
}[] = [
  {
    name: 'network, client',
    tone: 'network',
    texture: '·',
    ms: ({ latencyMs, server }) => Math.max(0, latencyMs.avg - (server?.requestUs ?? 0) / US_PER_MS),
  },
  { name: 'queue', tone: 'queue', texture: '░', ms: ({ server }) => (server?.queueUs ?? 0) / US_PER_MS },
  { name: 'input', tone: 'input', texture: '▒', ms: ({ server }) => (server?.computeInputUs ?? 0) / US_PER_MS },
  { name: 'infer', tone: 'infer', texture: '█', ms: ({ server }) => (server?.computeInferUs ?? 0) / US_PER_MS },
  { name: 'output', tone: 'output', texture: '▓', ms: ({ server }) => (server?.computeOutputUs ?? 0) / US_PER_MS },
];

function breakdownRows({ measurements }: Trial, stands: Measurement, width: number): readonly Row[] {
  const known = [...measurements].filter(({ server }) => server !== null).sort((a, b) => a.level.value - b.level.value);
  if (known.length === 0) return [];
  const cells = Math.max(10, width - 20);
  const longest = Math.max(...known.map(totalMs));
  const bars = known.map(
    (each): Row => [
      span(`  ${right(formatFigure(each.level.value), 6)} `),
      ...stacked(each, Math.round((totalMs(each) / longest) * cells)),
      span(` ${formatMs(totalMs(each))}`, 'muted'),
    ],
  );
  const legend = parts.flatMap(({ name, tone, texture }) => [span(` ${texture}`, tone), span(` ${name} `, 'muted')]);
  const shares = parts.map(({ name, ms }) => `${name} ${formatFigure(ms(stands))}`).join(' · ');
  return [row('  mean latency by level', 'muted'), ...bars, [span('  '), ...legend], row(`  ${shares} ms`, 'muted')];
}

const totalMs = (measurement: Measurement): number => parts.reduce((sum, { ms }) => sum + ms(measurement), 0);

/** Cells by the largest remainder, so that they add up to the width. */
function stacked(measurement: Measurement, width: number): readonly Span[] {
  const total = totalMs(measurement);
  let [before, drawn] = [0, 0];
  return parts.map(({ ms, tone, texture }) => {
    before += ms(measurement);
    const end = total > 0 ? Math.round((before / total) * width) : 0;
    const cells = Math.max(0, end - drawn);
    drawn = Math.max(drawn, end);
    return span(texture.repeat(cells), tone);
  });
}

function batchRows({ server }: Measurement, width: number): readonly Row[] {
  const batches = (server?.batches ?? []).filter(({ executions }) => executions > 0);
  if (batches.length === 0) return [];
  const total = batches.reduce((sum, { executions }) => sum + executions, 0);
  const common = [...batches].sort((a, b) => b.executions - a.executions).slice(0, MOST_BATCHES);
  const cells = Math.max(6, width - 36);
  const lines = common
    .sort((a, b) => a.size - b.size)
    .map(({ size, executions, meanExecutionUs }): Row => {
      const share = executions / total;
      const figures = ` ${right((share * 100).toFixed(0), 3)} %  ${formatMs(meanExecutionUs / US_PER_MS)}`;
      return [span(`  ${right(String(size), 6)} `), span(bar(share, cells), 'infer'), span(figures, 'muted')];
    });
  const more = batches.length - common.length;
  return [
    row(`  batch sizes: share of executions, time of one${more > 0 ? ` (${more} rarer ones left out)` : ''}`, 'muted'),
    ...lines,
  ];
}

function deviceRows({ device }: Measurement): readonly Row[] {
  const { gpuUtilizationPercent, gpuMemoryMiB, gpuPowerW, cpuUtilizationPercent } = device;
  const figures = [
    ...(gpuUtilizationPercent === undefined ? [] : [`GPU ${formatFigure(gpuUtilizationPercent)} %`]),
    ...(gpuMemoryMiB === undefined ? [] : [`memory ${formatFigure(gpuMemoryMiB)} MiB`]),
    ...(gpuPowerW === undefined ? [] : [`${formatFigure(gpuPowerW)} W`]),
    ...(cpuUtilizationPercent === undefined ? [] : [`host CPU ${formatFigure(cpuUtilizationPercent)} %`]),
  ];
  return figures.length === 0 ? [] : [row('  device', 'muted'), row(`  ${figures.join(' · ')}`)];
}
