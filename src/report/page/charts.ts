import { lookUp } from '#base/look-up.ts';
import { computeClientParts } from '#profiler/client/client-parts.ts';
import type { Measurement } from '#profiler/measurement.ts';
import type { CandidateShape } from '#space/types.ts';
import { paretoFront } from '#stats/front.ts';
import { splitTime } from '#study/analysis/explain/time-split.ts';
import { lineIn, representative } from '#study/final/final.ts';
import { findPart } from '#study/goal/metrics/of-model.ts';
import { findInFlight, variesBatchAlone } from '#study/level-line.ts';
import type { StudyState } from '#study/records/state.ts';
import { shortLevel } from '#study/summary/describe.ts';
import { rateUnitOfStudy } from '#study/summary/rate-unit.ts';
import type { Trial } from '#study/types.ts';
import { type BreakdownBar, breakdownChart } from '../charts/breakdown-chart.ts';
import { type ChartPoint, type FrontSeries, frontChart } from '../charts/front-chart.ts';
import { lineChart } from '../charts/line-chart.ts';
import { stagesChart } from '../charts/stages-chart.ts';
import type { Chart } from '../charts/svg.ts';
import { listLines, type PagePoint, pagePoints, trialName } from './points.ts';
import { speedStrip } from './speed-section.ts';
import { stageBars } from './stage-bars.ts';
import { standingKinds } from './standing-kinds.ts';

const US_PER_MS = 1e3;
/** The maximum number of lines that a reader can tell apart in a chart. */
export const MAX_LINES = 8;

/** Returns the study's charts by file name, without the empty ones. */
export function studyCharts(state: StudyState): ReadonlyMap<ChartName, Chart> {
  const points = pagePoints(state);
  if (points.length === 0) return new Map();
  const breakdown = drawBreakdown(state);
  const speed = speedStrip(state);
  return new Map<ChartName, Chart>([
    ['front', drawFront(state, points)],
    ['throughput-vs-latency', throughputLines(state)],
    ['latency-vs-load', latencyLines(state)],
    ...(breakdown ? [['latency-breakdown', breakdown] as const] : []),
    ...tokenCharts(state, points),
    ...(speed ? [['speed', speed] as const] : []),
  ]);
}

export type ChartName =
  | 'front'
  | 'throughput-vs-latency'
  | 'latency-vs-load'
  | 'latency-breakdown'
  | TokenChart
  | 'speed';

/** Returns the chart of all measurements and their front; null if nothing was measured. */
export function studyFront(state: StudyState): Chart | null {
  const points = pagePoints(state);
  return points.length === 0 ? null : drawFront(state, points);
}

/** Returns the name of the latency percentile: `p99 latency, ms`. */
export const latencyAxis = (state: StudyState): string => {
  const first = state.trials.flatMap(({ measurements }) => measurements)[0];
  return `p${first?.budgetLatencyMs.percentile ?? 99} latency, ms`;
};

function drawFront(state: StudyState, points: readonly PagePoint[]): Chart {
  const at = ({ measurement, id, label }: PagePoint): ChartPoint => ({
    x: measurement.budgetLatencyMs.value,
    y: measurement.throughput.value,
    link: { href: `#${id}`, label },
  });
  const budgetMs = state.goal.budget?.latencyMs ?? null;
  const limit = budgetMs === null ? null : { value: budgetMs, text: `budget ${budgetMs} ms` };
  const axes = { x: latencyAxis(state), y: `throughput, ${rateUnitOfStudy(state)}`, isLogX: true, limit };
  return frontChart(byStanding(points, at), frontLine(state, points).map(at), axes);
}

/** Returns the points as a series for each standing, the least important first. */
const byStanding = (points: readonly PagePoint[], at: (point: PagePoint) => ChartPoint): readonly FrontSeries[] =>
  standingKinds.map(({ standing, ...kind }) => ({
    ...kind,
    points: points.filter((point) => point.standing === standing).map(at),
  }));

/**
 * Returns the points that the line joins, by rising throughput: those of the front from the search,
 * and the best from the final, without points that another one beats in both throughput and
 * latency.
 */
function frontLine(state: StudyState, points: readonly PagePoint[]): readonly PagePoint[] {
  const onFront = new Set(state.front.map(({ measurement }) => measurement));
  const best = points.find(({ standing }) => standing === 'best');
  const front = points.filter(({ measurement }) => onFront.has(measurement));
  const isBeaten = ({ measurement }: PagePoint, by: readonly PagePoint[]): boolean =>
    by.some((other) => beats(other.measurement, measurement));
  const added = best && !front.includes(best) && !isBeaten(best, front) ? [best] : [];
  return [...front.filter((point) => !isBeaten(point, added)), ...added].sort(
    (a, b) => a.measurement.throughput.value - b.measurement.throughput.value,
  );
}

const beats = (one: Measurement, other: Measurement): boolean =>
  one.throughput.value > other.throughput.value && one.budgetLatencyMs.value < other.budgetLatencyMs.value;

function throughputLines(state: StudyState): Chart {
  const series = listLines(state, MAX_LINES).map((trial) => ({
    name: trialName(state, trial),
    points: risingLevels(state, trial).map(
      ({ budgetLatencyMs, throughput }) => [budgetLatencyMs.value, throughput.value] as const,
    ),
  }));
  return lineChart(series, { x: latencyAxis(state), y: `throughput, ${rateUnitOfStudy(state)}`, isLogX: true });
}

const latencyLines = (state: StudyState): Chart =>
  overLoad(state, latencyAxis(state), ({ budgetLatencyMs }) => budgetLatencyMs.value);

/** Draws a figure of each trial's measurements over the load, if they have it. */
function overLoad(state: StudyState, y: string, findFigure: (measurement: Measurement) => number | undefined): Chart {
  const series = listLines(state, MAX_LINES).map((trial) => ({
    name: trialName(state, trial),
    points: risingLevels(state, trial).flatMap((measurement) => {
      const position = lineIn(state, trial.number)?.toPosition(measurement.level) ?? null;
      const value = findFigure(measurement);
      return position === null || value === undefined ? [] : [[position, value] as const];
    }),
  }));
  const { levels } = state.started;
  const level = levels.mode === 'concurrency' ? 'concurrency' : 'request rate, 1/s';
  const x = variesBatchAlone(levels) ? 'client batch' : level;
  return lineChart(series, { x, y, isLogX: true, isLogY: true });
}

/** Charts of a language model. */
export type TokenChart = 'tokens-front' | 'ttft-vs-load' | 'itl-vs-load' | 'tpot-vs-load';

/**
 * Draws tokens per second against those of one user, and the times of tokens over the load; empty
 * for other models.
 */
function tokenCharts(state: StudyState, all: readonly PagePoint[]): readonly (readonly [TokenChart, Chart])[] {
  const points = all.filter(({ measurement }) => measurement.tokens);
  const [first] = points;
  if (!first) return [];
  const percentile = `p${first.measurement.budgetLatencyMs.percentile}`;
  const drawTimes = (name: 'ttft' | 'itl' | 'tpot'): readonly [TokenChart, Chart] => [
    `${name}-vs-load`,
    overLoad(state, `${percentile} ${name.toUpperCase()}, ms`, ({ tokens }) => tokens?.budget[`${name}Ms`].value),
  ];
  return [['tokens-front', tokensFront(points)], drawTimes('ttft'), drawTimes('itl'), drawTimes('tpot')];
}

/** Draws tokens per GPU if the GPUs are known. */
function tokensFront(points: readonly PagePoint[]): Chart {
  const isPerGpu = points.every(({ measurement }) => (measurement.device.gpus?.length ?? 0) > 0);
  const at = ({ measurement: { tokens, device }, id, label }: PagePoint): ChartPoint => ({
    x: tokens?.outputTokensPerSecondPerUser ?? 0,
    y: (tokens?.outputTokensPerSecond.value ?? 0) / (isPerGpu ? (device.gpus?.length ?? 1) : 1),
    link: { href: `#${id}`, label },
  });
  const placed = points.map(at);
  const front = paretoFront(placed.map(({ x, y }) => [-x, -y])).map((index) => placed[index] as ChartPoint);
  const axes = {
    x: 'output tokens/s of one user',
    y: `output tokens/s${isPerGpu ? ' per GPU' : ''}`,
    isLogX: false,
    limit: null,
  };
  return frontChart(
    byStanding(points, at),
    front.toSorted((a, b) => a.x - b.x),
    axes,
  );
}

/**
 * Returns one measurement for each level: the one that represents the trial, even if from the
 * final, else the latest.
 */
export function risingLevels(state: StudyState, trial: Trial): readonly Measurement[] {
  const stands = representative(state, trial)?.measurement;
  const served = [...trial.measurements, ...(stands ? [stands] : [])].filter(({ throughput }) => throughput.value > 0);
  const byLevel = new Map(served.map((measurement) => [shortLevel(measurement.level), measurement]));
  return [...byLevel.values()].sort((a, b) => findInFlight(a.level) - findInFlight(b.level));
}

/**
 * Draws a pipeline by stage, and several models that clients send to by model. Returns null without
 * the server's statistics.
 */
function drawBreakdown(state: StudyState): Chart | null {
  const { topology } = state.started;
  if (topology?.fronts.length === 1) {
    const stages = stageBars(state, MAX_LINES);
    return stages.length > 0 ? stagesChart(stages) : null;
  }
  const lines = listLines(state, topology ? MAX_MIXES : MAX_LINES);
  const bars = lines.flatMap((trial) => {
    const measurement = representative(state, trial)?.measurement;
    const name = `${trialName(state, trial)} @ ${measurement ? shortLevel(measurement.level) : ''}`;
    if (!measurement?.fronts) return measurement ? breakdownBar(name, measurement, trial.candidate.shape) : [];
    return measurement.fronts.flatMap(({ model }) => {
      const [part, shape] = [findPart(measurement, model), lookUp(trial.candidate.shape.members, model)];
      return part ? breakdownBar(`${model}: ${name}`, part, shape ?? trial.candidate.shape) : [];
    });
  });
  return bars.length > 0 ? breakdownChart(bars) : null;
}

/** The maximum number of trials of a mix, because each has a bar for every model. */
const MAX_MIXES = 3;

function breakdownBar(name: string, measurement: Measurement, shape: CandidateShape): BreakdownBar[] {
  const parts = splitTime(measurement, shape)?.parts;
  if (!parts) return [];
  const { computeInputUs = 0, computeInferUs = 0, computeOutputUs = 0 } = measurement.server ?? {};
  const whole = computeInputUs + computeInferUs + computeOutputUs;
  // An ensemble's own statistics hold no compute: all of it belongs to its members.
  const share = (us: number, other: number): number => parts.computeMs * (whole > 0 ? us / whole : other);
  return [
    {
      name,
      queueMs: parts.queueMs,
      inputMs: share(computeInputUs, 0),
      inferMs: share(computeInferUs, 1),
      outputMs: share(computeOutputUs, 0),
      ...findOutside(measurement, parts.outsideMs),
    },
  ];
}

/**
 * Splits the client's parts from the time outside the server. The server counts some of its sending
 * as compute output, so the parts may have to be cut to fit.
 */
function findOutside(measurement: Measurement, outsideMs: number): Pick<BreakdownBar, 'outsideMs' | 'client'> {
  const clientParts = computeClientParts(measurement);
  if (!clientParts) return { outsideMs, client: null };
  const ownMs = (clientParts.sendUs + clientParts.receiveUs) / US_PER_MS;
  const cut = ownMs > outsideMs ? outsideMs / ownMs : 1;
  const client = {
    sendMs: (clientParts.sendUs / US_PER_MS) * cut,
    receiveMs: (clientParts.receiveUs / US_PER_MS) * cut,
  };
  return { outsideMs: outsideMs - ownMs * cut, client };
}
