import { formatMs, formatRate } from '#base/format.ts';
import { MS_PER_S } from '#base/units.ts';
import { type LevelReport, networkUs, shownClientParts } from '#profiler/level-report.ts';
import { type CalibrationRow, computeMs, outsideMs } from '#queueing/calibration/row.ts';
import { type BreakdownBar, breakdownChart } from './charts/breakdown-chart.ts';
import { growthEnd } from './charts/growth.ts';
import { lineChart } from './charts/line-chart.ts';
import { type Chart, filePaper } from './charts/svg.ts';
import { titled } from './charts/titled.ts';
import type { PngRenderer } from './png.ts';
import type { ScenarioFile } from './scenario-case.ts';

/** One level of a sweep. */
export interface SweepLevel {
  /** `concurrency 8`. */
  readonly name: string;
  /** `8`. */
  readonly label: string;
  readonly inferPerSecond: number;
  readonly latencyMs: number;
  /** The parts of its mean latency; null if the server's times are not known. */
  readonly bar: BreakdownBar | null;
}

/** The levels of one measurement, the lowest first. */
export interface Sweep {
  /** What it is of, where there are several. */
  readonly name: string;
  /** Which latency its levels have, such as `p99`. */
  readonly latency: string;
  readonly levels: readonly SweepLevel[];
}

const US_PER_MS = MS_PER_S;
const PERCENTILE = 99;

/** Returns the levels of a profile, by their p99. */
export function sweepOfReports(reports: readonly LevelReport[], name: string): Sweep {
  const levels = reports.map((report): SweepLevel => {
    const { mode, value } = report.level;
    const level = `${mode.replace('-', ' ')} ${value}`;
    const { us = 0 } = report.percentilesUs.find(({ percentile }) => percentile === PERCENTILE) ?? {};
    return {
      name: level,
      label: `${value}`,
      inferPerSecond: report.inferPerSecond,
      latencyMs: us / US_PER_MS,
      bar: barOfReport(report, level),
    };
  });
  return { name, latency: `p${PERCENTILE}`, levels };
}

function barOfReport(report: LevelReport, name: string): BreakdownBar | null {
  const { server } = report;
  if (server === null) return null;
  const { sendUs, receiveUs } = shownClientParts(report);
  return {
    name,
    queueMs: server.queueUs / US_PER_MS,
    inputMs: server.computeInputUs / US_PER_MS,
    inferMs: server.computeInferUs / US_PER_MS,
    outputMs: server.computeOutputUs / US_PER_MS,
    outsideMs: networkUs(report) / US_PER_MS,
    client: { sendMs: sendUs / US_PER_MS, receiveMs: receiveUs / US_PER_MS },
  };
}

/**
 * Returns the sweeps in the rows of a result table's set-up, by their median latency: over
 * concurrencies for each batch size that has several, and over the other batch sizes.
 */
export function sweepsOfRows(rows: readonly CalibrationRow[], name: string): readonly Sweep[] {
  if (rows.length === 1) return [toSweep(rows, 'concurrency', name)];
  const byBatch = [...Map.groupBy(rows, ({ samplesPerRequest }) => samplesPerRequest).values()];
  const single = byBatch.flatMap((alike) => (alike.length === 1 ? alike : []));
  const sweeps = [
    ...(single.length > 0 ? [toSweep(single, 'batch', `${name}, by batch`)] : []),
    ...byBatch
      .filter(({ length }) => length > 1)
      .map((alike) => toSweep(alike, 'concurrency', `${name}, batch ${alike[0]?.samplesPerRequest}`)),
  ];
  return sweeps.length === 1 ? sweeps.map((each) => ({ ...each, name })) : sweeps;
}

function toSweep(rows: readonly CalibrationRow[], varied: 'batch' | 'concurrency', name: string): Sweep {
  const read = (row: CalibrationRow): number => (varied === 'batch' ? row.samplesPerRequest : row.concurrency);
  const levels = rows
    .toSorted((a, b) => read(a) - read(b))
    .map((row): SweepLevel => {
      const level = `${varied} ${read(row)}`;
      return {
        name: level,
        label: `${read(row)}`,
        inferPerSecond: row.inferPerSecond,
        latencyMs: row.latencyMs.p50,
        bar: row.server && {
          name: level,
          ...row.server,
          outsideMs: outsideMs(row, row.server),
          client: null,
        },
      };
    });
  return { name, latency: 'p50', levels };
}

/**
 * Returns throughput over latency, a line for each sweep, and the parts of the mean latency at each
 * level of each sweep whose server's times are known: as SVG and, with a renderer, as PNG.
 */
export function sweepPlots(sweeps: readonly Sweep[], png: PngRenderer | null): readonly ScenarioFile[] {
  const bars = sweeps.map(({ levels }) => levels.flatMap(({ bar }) => bar ?? []));
  const many = sweeps.length > 1;
  return [
    { name: 'throughput_vs_latency', title: growthTitle(sweeps), chart: throughputChart(sweeps) },
    ...sweeps.flatMap((sweep, index) => {
      const known = bars[index] ?? [];
      if (known.length === 0) return [];
      const name = many ? `latency_parts_${index + 1}` : 'latency_parts';
      return [{ name, title: partsTitle(sweep, known, many), chart: breakdownChart(known) }];
    }),
  ].flatMap(({ name, title, chart }) => {
    const svg = titled(chart(filePaper), title, filePaper);
    return [{ name: `${name}.svg`, content: svg }, ...(png ? [{ name: `${name}.png`, content: png(svg) }] : [])];
  });
}

/** More labels beside the points of a line would be unreadable. */
const MAX_LABELS = 12;

/** Labels each point with its level; not those of several lines, which would lie on each other. */
function throughputChart(sweeps: readonly Sweep[]): Chart {
  const [first] = sweeps;
  const varied = first?.levels[0]?.name.replace(/ [\d.]+$/, '') ?? 'level';
  const points = sweeps.length === 1 ? `a point for each ${varied}` : 'a point for each level';
  return lineChart(
    sweeps.map(({ name, levels }) => {
      const apart = Math.ceil(levels.length / MAX_LABELS);
      return {
        name,
        points: levels.map(({ latencyMs, inferPerSecond }) => [latencyMs, inferPerSecond] as const),
        ...(sweeps.length === 1 && { labels: levels.map(({ label }, index) => (index % apart === 0 ? label : '')) }),
      };
    }),
    { x: `${first?.latency} latency, ms (${points})`, y: 'throughput, infer/s', isLogX: false },
  );
}

function growthTitle(sweeps: readonly Sweep[]): string {
  if (sweeps.length > 1) {
    const best = sweeps
      .flatMap(({ name, levels }) => levels.map((level) => ({ ...level, sweep: name })))
      .reduce((a, b) => (b.inferPerSecond > a.inferPerSecond ? b : a));
    return `The highest throughput is ${formatRate(best.inferPerSecond)}: ${best.sweep} (${best.name})`;
  }
  const levels = sweeps[0]?.levels ?? [];
  const [end, last] = [levels[growthEnd(levels.map((each) => each.inferPerSecond))], levels.at(-1)];
  if (!last) return 'Nothing was measured';
  const rateAt = ({ name, inferPerSecond }: SweepLevel): string => `${name}: ${formatRate(inferPerSecond)}`;
  if (end) return `Throughput stops growing at ${rateAt(end)}`;
  return `Throughput ${levels.length === 1 ? '' : 'still grows '}at ${rateAt(last)}`;
}

function partsTitle({ name }: Sweep, bars: readonly BreakdownBar[], isNamed: boolean): string {
  const last = bars.at(-1) as BreakdownBar;
  const parts = [
    ['queue', last.queueMs],
    ['compute', computeMs(last)],
    ['network and client', last.outsideMs + (last.client?.sendMs ?? 0) + (last.client?.receiveMs ?? 0)],
  ] as const;
  const [part, ms] = parts.reduce((a, b) => (b[1] > a[1] ? b : a));
  const whole = parts.reduce((sum, [, each]) => sum + each, 0);
  const share = whole > 0 ? Math.round((100 * ms) / whole) : 0;
  return `${isNamed ? `${name}: at` : 'At'} ${last.name}, ${share} % of ${formatMs(whole)} is ${part}`;
}
