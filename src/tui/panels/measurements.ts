import { formatFigure, formatMs, formatRate, type RateUnit } from '#base/format.ts';
import { computeClientParts } from '#profiler/client/client-parts.ts';
import type { Measurement } from '#profiler/measurement.ts';
import type { Stand } from '#study/final/final.ts';
import { findInFlight } from '#study/level-line.ts';
import { shortLevel } from '#study/summary/describe.ts';
import type { Prediction } from '#study/summary/point-schema.ts';
import { chooseRateUnit } from '#study/summary/rate-unit.ts';
import type { Trial } from '#study/types.ts';
import { bar } from '../canvas.ts';
import { FINAL_MARK } from '../figures.ts';
import { type Row, right, row, type Span, span, type Tone } from '../rows.ts';
import { flowed } from './metric-rows.ts';

const US_PER_MS = 1e3;
const MAX_BATCHES = 8;
/** Below this width, rates have no unit, to leave room for notes. */
const NARROW = 46;
/** Below this width, titles are shorter. */
const FULL_TITLES = 50;

/** Returns the prediction for the best from the other trials, at the machine's usual speed. */
export function predictionRows(predicted: Prediction | null, unit: RateUnit, width: number): readonly Row[] {
  if (!predicted) return [];
  const { throughput, budgetLatencyMs } = predicted;
  const source = `predicted by the ${width < FULL_TITLES ? 'model' : 'queueing model, from other trials'}`;
  return [row(`  ${source}`, 'muted'), row(`  ${shortFigures(throughput, unit, budgetLatencyMs)}`)];
}

/** Returns the figures that decide on a trial, if they are not those that were measured. */
export const normalisedRows = ({ measurement, compared }: Stand): readonly Row[] =>
  compared === measurement
    ? []
    : [
        row(
          `  normalised: ${shortFigures(compared.throughput.value, chooseRateUnit(compared), compared.budgetLatencyMs)}`,
        ),
      ];

const shortFigures = (rate: number, unit: RateUnit, { percentile, value }: Prediction['budgetLatencyMs']): string =>
  `${formatRate(rate, unit)}, p${percentile} ${formatMs(value)}`;

const LEVEL_COLUMNS = 6;

const columnsOfLevels = (measurements: readonly Measurement[]): number =>
  Math.max(LEVEL_COLUMNS, ...measurements.map(({ level }) => shortLevel(level).length));

/** Returns the trial's levels, with the measurement of the final if that represents the trial. */
export function levelRows({ measurements }: Trial, stands: Measurement | null, width: number): readonly Row[] {
  if (measurements.length === 0) return [];
  const most = Math.max(...measurements.map(({ throughput }) => throughput.value), stands?.throughput.value ?? 0);
  const cells = Math.max(0, Math.min(24, width - 54));
  const isNarrow = width < NARROW;
  const finals = stands && !measurements.includes(stands) ? [stands] : [];
  const ordered = [...measurements, ...finals].sort((a, b) => findInFlight(a.level) - findInFlight(b.level));
  const levelColumns = columnsOfLevels(ordered);
  const lines = ordered.map((each): Row => {
    const { level, throughput, budgetLatencyMs, stable, client } = each;
    const isChosen = each === stands;
    const isFinal = finals.includes(each);
    const [unstable, bound] = isNarrow ? [' unstable', ' client'] : [' not stable', ' client-bound'];
    const notes = `${isFinal && !isNarrow ? ' final' : ''}${stable ? '' : unstable}${client.bound ? bound : ''}`;
    const rate = isNarrow
      ? right(formatFigure(throughput.value), 8)
      : right(formatRate(throughput.value, chooseRateUnit(each)), each.tokens ? 17 : 14);
    const latency = right(formatMs(budgetLatencyMs.value), isNarrow ? 8 : 9);
    const figures = `${right(shortLevel(level), levelColumns)} ${rate} ${latency}${isFinal ? FINAL_MARK : ' '}`;
    return [
      span(isChosen ? '› ' : '  ', 'strong'),
      span(figures, isChosen ? 'strong' : undefined),
      span(bar(throughput.value / most, cells), 'accent'),
      span(notes, 'warning'),
    ];
  });
  const percentile = measurements[0]?.budgetLatencyMs.percentile ?? 99;
  const mode = measurements[0]?.level.mode === 'request-rate' ? 'requests/s' : 'concurrency';
  const by = measurements[0]?.level.batch === undefined ? mode : `${mode} × batch`;
  return [row(`  by ${by}: ${chooseRateUnit(measurements[0] ?? {})}, p${percentile}`, 'muted'), ...lines];
}

interface Part {
  readonly name: string;
  readonly tone: Tone;
  readonly texture: string;
  readonly ms: (of: Measurement) => number;
}

/** The parts of a request's time. Each has its own texture, to tell them apart without colour. */
const serverParts: readonly Part[] = [
  { name: 'queue', tone: 'queue', texture: '░', ms: ({ server }) => (server?.queueUs ?? 0) / US_PER_MS },
  { name: 'input', tone: 'input', texture: '▒', ms: ({ server }) => (server?.computeInputUs ?? 0) / US_PER_MS },
  { name: 'infer', tone: 'infer', texture: '█', ms: ({ server }) => (server?.computeInferUs ?? 0) / US_PER_MS },
  { name: 'output', tone: 'output', texture: '▓', ms: ({ server }) => (server?.computeOutputUs ?? 0) / US_PER_MS },
];
const allParts: readonly Part[] = [
  { name: 'network, client', tone: 'network', texture: '·', ms: outsideMs },
  ...serverParts,
];
const allPartsApart: readonly Part[] = [
  { name: 'client', tone: 'client', texture: ':', ms: clientMs },
  { name: 'network', tone: 'network', texture: '·', ms: (of) => outsideMs(of) - clientMs(of) },
  ...serverParts,
];

function outsideMs({ latencyMs, server }: Measurement): number {
  return Math.max(0, latencyMs.avg - (server?.requestUs ?? 0) / US_PER_MS);
}

/** Returns the client's own part of that, if known. */
function clientMs(of: Measurement): number {
  const clientParts = computeClientParts(of);
  return clientParts ? Math.min(outsideMs(of), (clientParts.sendUs + clientParts.receiveUs) / US_PER_MS) : 0;
}

export function breakdownRows({ measurements }: Trial, stands: Measurement, width: number): readonly Row[] {
  const shown = measurements.includes(stands) ? measurements : [...measurements, stands];
  const known = shown
    .filter(({ server }) => server !== null)
    .sort((a, b) => findInFlight(a.level) - findInFlight(b.level));
  if (known.length === 0) return [];
  const cells = Math.max(10, width - 16);
  const parts = known.every(({ clientTimes }) => clientTimes) ? allPartsApart : allParts;
  const longest = Math.max(...known.map(totalMs));
  const levelColumns = columnsOfLevels(known);
  const bars = known.map(
    (each): Row => [
      span(`  ${right(shortLevel(each.level), levelColumns)}${measurements.includes(each) ? ' ' : FINAL_MARK}`),
      ...stacked(each, parts, Math.round((totalMs(each) / longest) * cells)),
      span(` ${formatFigure(totalMs(each))}`, 'muted'),
    ],
  );
  const legend = parts.map(({ name, tone, texture, ms }) => [
    span(`${texture} `, tone),
    span(`${name} ${formatFigure(ms(stands))}`, 'muted'),
  ]);
  return [row('  mean latency, ms', 'muted'), ...bars, ...flowed(legend, width)];
}

const totalMs = (measurement: Measurement): number => allParts.reduce((sum, { ms }) => sum + ms(measurement), 0);

/** Assigns cells by largest remainder, so that they add up to the width. */
function stacked(measurement: Measurement, parts: readonly Part[], width: number): readonly Span[] {
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

export function batchRows({ server }: Measurement, width: number): readonly Row[] {
  const batches = (server?.batches ?? []).filter(({ executions }) => executions > 0);
  if (batches.length === 0) return [];
  const total = batches.reduce((sum, { executions }) => sum + executions, 0);
  const common = [...batches].sort((a, b) => b.executions - a.executions).slice(0, MAX_BATCHES);
  const cells = Math.max(6, width - 36);
  const lines = common
    .sort((a, b) => a.size - b.size)
    .map(({ size, executions, meanExecutionUs }): Row => {
      const share = executions / total;
      const figures = ` ${right(share < 0.005 ? '<1' : (share * 100).toFixed(0), 3)} %  ${formatMs(meanExecutionUs / US_PER_MS)}`;
      return [span(`  ${right(String(size), 6)} `), span(bar(share, cells), 'infer'), span(figures, 'muted')];
    });
  const more = batches.length - common.length;
  const title =
    width < FULL_TITLES ? 'batches: share of executions, time' : 'batch sizes: share of executions, time of one';
  const rest = more > 0 && width >= FULL_TITLES ? ` (${more} rare sizes left out)` : '';
  return [row(`  ${title}${rest}`, 'muted'), ...lines];
}
