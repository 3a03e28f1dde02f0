import { formatFigure, formatMs } from '#base/format.ts';
import { lookUp } from '#base/look-up.ts';
import type { FrontMeasurement, Measurement } from '#profiler/measurement.ts';
import type { Topology } from '#space/topology.ts';
import type { Candidate } from '#space/types.ts';
import { busiestStage, type StageSplit, stageSplits } from '#study/analysis/stages.ts';
import { budgetsOfModels } from '#study/goal/goal-of-models.ts';
import type { Goal } from '#study/types.ts';
import { foreign, left, type Row, right, row, type Span, span, type Tone } from '../rows.ts';
import { flowed } from './metric-rows.ts';

const MAX_NAME = 18;
const WIDTHS = { total: 6, busy: 7, instances: 4, batch: 6 };
/** Below this width, there is no room for the mean batch, … */
const WITH_BATCH = 48;
/** … and bars have at least this many cells. */
const MIN_BAR = 4;

interface Part {
  readonly name: string;
  readonly tone: Tone;
  /** A texture of its own, to tell parts apart without colour. */
  readonly texture: string;
  readonly ms: (split: StageSplit) => number;
}

const parts: readonly Part[] = [
  { name: 'queue', tone: 'queue', texture: '░', ms: ({ queueMs }) => queueMs },
  { name: 'compute', tone: 'infer', texture: '█', ms: ({ computeMs }) => computeMs },
  { name: 'waits for calls', tone: 'input', texture: '▒', ms: ({ callsMs }) => callsMs },
];
const BUSIEST = '◂';

/**
 * Returns a lane for each stage of the measurement that represents a trial: the mean time of a
 * request there, waiting and executing, how busy its instances are and how many there are, and the
 * mean batch. Marks the busiest one: it is the bottleneck, unless the device under its instances
 * is.
 */
export function stageRows(
  measurement: Measurement,
  topology: Topology,
  { shape }: Candidate,
  width: number,
): readonly Row[] {
  const splits = stageSplits(measurement, topology, shape);
  if (splits.length === 0) return [];
  const busiest = busiestStage(splits);
  const isPipeline = topology.fronts.length === 1;
  const names = splits.map((split) => formatName(split, isPipeline));
  const nameWidth = Math.min(MAX_NAME, Math.max(...names.map(({ length }) => length)) + 1);
  const hasBatch = width >= WITH_BATCH;
  const figures = WIDTHS.total + WIDTHS.busy + WIDTHS.instances + (hasBatch ? WIDTHS.batch : 0);
  const cells = Math.max(MIN_BAR, width - 2 - nameWidth - figures);
  const longest = Math.max(...splits.map(totalMs));
  const lanes = splits.map((split, index): Row => {
    const { busy, instances, batchSize } = split;
    const isBusiest = split === busiest;
    const share = busy === null ? '–' : `${Math.round(busy * 100)} %`;
    return [
      span(`  ${left(names[index] as string, nameWidth)}`, isBusiest ? 'strong' : undefined),
      ...drawLane(split, longest, cells),
      span(right(shortMs(totalMs(split)), WIDTHS.total)),
      span(`${right(share, WIDTHS.busy - 1)}${isBusiest ? BUSIEST : ' '}`, isBusiest ? 'warning' : undefined),
      span(right(instances === null ? '–' : `${instances}`, WIDTHS.instances)),
      span(hasBatch ? right(batchSize === null ? '–' : formatFigure(batchSize), WIDTHS.batch) : '', 'muted'),
    ];
  });
  const titles = `${right('ms', WIDTHS.total)}${right('busy', WIDTHS.busy - 1)} ${right('inst', WIDTHS.instances)}${hasBatch ? right('batch', WIDTHS.batch) : ''}`;
  const head = row(`  ${left('mean ms by stage', nameWidth + cells)}${titles}`, 'muted');
  return [head, ...lanes, ...flowed(legend(splits, busiest !== null), width)];
}

/** Shows the calls per client request if they differ from one. */
function formatName({ model, timesPerRequest }: StageSplit, isPipeline: boolean): string {
  const isOnce = !isPipeline || Math.abs(timesPerRequest - 1) < ABOUT_ONE;
  return `${foreign(model)}${isOnce ? '' : ` ×${formatFigure(timesPerRequest)}`}`;
}

const ABOUT_ONE = 0.05;

function drawLane(split: StageSplit, longest: number, cells: number): readonly Span[] {
  const scale = longest > 0 ? cells / longest : 0;
  let [before, drawn] = [0, 0];
  const spans = parts.map(({ ms, tone, texture }) => {
    before += ms(split);
    const end = Math.round(before * scale);
    const length = Math.max(0, end - drawn);
    drawn = Math.max(drawn, end);
    return span(texture.repeat(length), tone);
  });
  return [...spans, span(' '.repeat(Math.max(0, cells - drawn)))];
}

function legend(splits: readonly StageSplit[], hasBusiest: boolean): readonly Row[] {
  const seen = parts.filter(({ ms }) => splits.some((split) => ms(split) > 0));
  return [
    ...seen.map(({ name, tone, texture }): Row => [span(`${texture} `, tone), span(name, 'muted')]),
    ...(hasBusiest ? [[span(`${BUSIEST} `, 'warning'), span('the busiest', 'muted')]] : []),
  ];
}

const totalMs = ({ queueMs, computeMs, callsMs }: StageSplit): number => queueMs + computeMs + callsMs;

/** Rounds to hundredths: smaller parts do not matter. */
const shortMs = (ms: number): string => formatFigure(Math.round(ms * 100) / 100);

/**
 * Returns a row for each of several fronts: its part of the level, and what its clients see,
 * compared with its own budget.
 */
export function frontRows({ fronts = [], budgetLatencyMs }: Measurement, goal: Goal, width: number): readonly Row[] {
  if (fronts.length === 0) return [];
  const budgets = budgetsOfModels(goal);
  const nameWidth = Math.min(MAX_NAME, Math.max(...fronts.map(({ model }) => foreign(model).length)) + 1);
  const isNarrow = width < WITH_BATCH;
  const lines = fronts.map((front): Row => {
    const { model, throughput, budgetLatencyMs: latency, errorRate } = front;
    const budgetMs = lookUp(budgets, model);
    const isMissed = budgetMs !== undefined && latency.value > budgetMs;
    const rate = right(formatFigure(throughput.value), isNarrow ? 7 : 9);
    const seen = isNarrow ? right(formatFigure(latency.value), 6) : right(formatMs(latency.value), 10);
    const limit = budgetMs === undefined ? '' : ` ${isMissed ? '>' : '≤'} ${formatFigure(budgetMs)}`;
    return [
      span(`  ${left(foreign(model), nameWidth)}${right(partOfLevel(front), 6)}`),
      span(`${rate}${seen}${limit}`, isMissed ? 'bad' : undefined),
      ...(errorRate > 0 ? [span(` ${(errorRate * 100).toFixed(1)} % failed`, 'bad' as const)] : []),
    ];
  });
  return [row(`  by model: level, infer/s, p${budgetLatencyMs.percentile}${isNarrow ? ' ms' : ''}`, 'muted'), ...lines];
}

const partOfLevel = ({ level }: FrontMeasurement): string =>
  `${formatFigure(level.value)}${level.mode === 'request-rate' ? '/s' : ''}`;
