import { plainLine } from '#base/format.ts';
import type { LatencySummary } from '#profiler/figure-schemas.ts';
import { type LevelReport, networkUs, type ServerReport, shownClientParts } from '#profiler/level-report.ts';
import type { ClassFigures } from '#profiler/measurement.ts';
import type { TokenFigures } from '#profiler/token-figures.ts';
import { csvText } from './csv.ts';

const US_PER_MS = 1e3;

export interface CsvOptions {
  readonly isVerbose: boolean;
  readonly withGpuMetrics: boolean;
  /** The percentile that decides; null for the average. */
  readonly percentile: number | null;
}

interface Column {
  readonly name: string;
  readonly cell: (report: LevelReport) => string;
}

const whole = (us: number): string => `${Math.floor(us)}`;
const figure = (value: number): string => `${Number(value.toPrecision(12))}`;
const serverUs = (report: LevelReport, of: (server: ServerReport) => number): string =>
  report.server === null ? '0' : whole(of(report.server));

/**
 * Returns the levels in perf_analyzer's columns, the lowest throughput first, with times in whole
 * microseconds. Like perf_analyzer, leaves out columns without any values (server statistics, a
 * response cache). The models of an ensemble, and those that a model calls, have extra columns at
 * the end, which perf_analyzer does not have.
 */
export function perfAnalyzerCsv(reports: readonly LevelReport[], options: CsvOptions): string {
  const columns = listColumns(reports, options);
  const rows = reports.toSorted((one, other) => one.inferPerSecond - other.inferPerSecond);
  return csvText(
    [columns.map(({ name }) => name), ...rows.map((report) => columns.map(({ cell }) => cell(report)))],
    '\n',
  );
}

function listColumns(reports: readonly LevelReport[], options: CsvOptions): readonly Column[] {
  const first = reports[0];
  const hasResponses = reports.some((report) => report.responsesPerSecond !== null);
  const hasServer = reports.some((report) => report.server !== null);
  const hasCache = reports.some((report) => report.server?.cache);
  return [
    {
      name: first?.level.mode === 'request-rate' ? 'Request Rate' : 'Concurrency',
      cell: ({ level }) => figure(level.value),
    },
    { name: 'Inferences/Second', cell: ({ inferPerSecond }) => figure(inferPerSecond) },
    ...(hasResponses
      ? [{ name: 'Response Throughput', cell: (report: LevelReport) => figure(report.responsesPerSecond ?? 0) }]
      : []),
    { name: 'Client Send', cell: (report) => whole(shownClientParts(report).sendUs) },
    ...(hasServer ? serverColumns(hasCache) : []),
    { name: 'Client Recv', cell: (report) => whole(shownClientParts(report).receiveUs) },
    ...percentileColumns(first),
    ...(options.isVerbose ? verboseColumns(options) : []),
    ...composingColumns(reports),
    ...tokenColumns(reports),
    ...classColumns(reports),
  ];
}

/**
 * Returns the figures of a language model, in the units of the other columns, without those that no
 * level has.
 */
function tokenColumns(reports: readonly LevelReport[]): readonly Column[] {
  const all = reports.flatMap(({ measurement }) => measurement.tokens ?? []);
  if (all.length === 0) return [];
  const column = (name: string, of: (tokens: TokenFigures) => string): Column => ({
    name,
    cell: ({ measurement }) => (measurement.tokens ? of(measurement.tokens) : ''),
  });
  const times = (name: string, of: (tokens: TokenFigures) => LatencySummary | undefined): readonly Column[] =>
    (['avg', 'p50', 'p90', 'p95', 'p99'] as const).map((part) =>
      column(`${name} ${part}`, (tokens) => whole((of(tokens)?.[part] ?? 0) * US_PER_MS)),
    );
  return [
    ...times('TTFT', ({ ttftMs }) => ttftMs),
    ...(all.some(({ scheduledTtftMs }) => scheduledTtftMs)
      ? times('TTFT from due', ({ scheduledTtftMs }) => scheduledTtftMs)
      : []),
    ...times('ITL', ({ itlMs }) => itlMs),
    ...times('TPOT', ({ tpotMs }) => tpotMs),
    column('Output Tokens/Second', ({ outputTokensPerSecond }) => figure(outputTokensPerSecond.value)),
    column('Total Tokens/Second', ({ totalTokensPerSecond }) => figure(totalTokensPerSecond.value)),
    column('Output Tokens/Second/User', (tokens) => figure(tokens.outputTokensPerSecondPerUser)),
    ...(all.some(({ goodput }) => goodput) ? [column('Goodput', ({ goodput }) => figure(goodput?.value ?? 0))] : []),
    column('Input Tokens', ({ inputTokens }) => figure(inputTokens.mean)),
    column('Output Tokens', ({ outputTokens }) => figure(outputTokens.mean)),
  ];
}

/**
 * Returns goodput, unless a token column has it, and the figures of each request class, in the
 * units of the other columns.
 */
function classColumns(reports: readonly LevelReport[]): readonly Column[] {
  const isReported = reports.some(({ measurement }) => measurement.goodput && !measurement.tokens);
  const names = [...new Set(reports.flatMap(({ measurement }) => measurement.classes ?? []).map(({ name }) => name))];
  return [
    ...(isReported
      ? [{ name: 'Goodput', cell: ({ measurement }: LevelReport) => figure(measurement.goodput?.value ?? 0) }]
      : []),
    ...names.flatMap((name) => {
      const column = (what: string, of: (figures: ClassFigures) => string): Column => ({
        name: `${plainLine(name)} ${what}`,
        cell: ({ measurement }) => {
          const figures = measurement.classes?.find((each) => each.name === name);
          return figures ? of(figures) : '';
        },
      });
      return [
        column('Requests', ({ requests }) => `${requests}`),
        column('Failures', ({ failures }) => `${failures}`),
        column('Requests/Second', ({ throughput }) => figure(throughput.value)),
        column('Goodput', ({ goodput }) => (goodput ? figure(goodput.value) : '')),
        ...(['avg', 'p50', 'p90', 'p95', 'p99'] as const).map((part) =>
          column(`${part} latency`, ({ latencyMs }) => whole(latencyMs[part] * US_PER_MS)),
        ),
      ];
    }),
  ];
}

/** Groups by model, in order of first appearance. */
function composingColumns(reports: readonly LevelReport[]): readonly Column[] {
  const models = reports.flatMap(({ server }) => server?.composing ?? []).map(({ model }) => model);
  return [...new Set(models)].flatMap((model) => {
    const column = (name: string, of: (server: ServerReport) => number): Column => ({
      name: `${plainLine(model)} ${name}`,
      cell: ({ server }) => {
        const report = server?.composing.find((each) => each.model === model);
        return report ? whole(of(report)) : '';
      },
    });
    return [
      column('Requests', ({ successCount }) => successCount),
      column('Executions', ({ executionCount }) => executionCount),
      column('Queue', ({ queueUs }) => queueUs),
      column('Compute Input', ({ computeInputUs }) => computeInputUs),
      column('Compute Infer', ({ computeInferUs }) => computeInferUs),
      column('Compute Output', ({ computeOutputUs }) => computeOutputUs),
    ];
  });
}

function serverColumns(hasCache: boolean): readonly Column[] {
  return [
    { name: 'Network+Server Send/Recv', cell: (report) => whole(networkUs(report)) },
    { name: 'Server Queue', cell: (report) => serverUs(report, ({ queueUs }) => queueUs) },
    { name: 'Server Compute Input', cell: (report) => serverUs(report, ({ computeInputUs }) => computeInputUs) },
    { name: 'Server Compute Infer', cell: (report) => serverUs(report, ({ computeInferUs }) => computeInferUs) },
    { name: 'Server Compute Output', cell: (report) => serverUs(report, ({ computeOutputUs }) => computeOutputUs) },
    ...(hasCache
      ? [
          {
            name: 'Server Cache Hit',
            cell: (report: LevelReport) => serverUs(report, ({ cache }) => cache?.hitUsPerRequest ?? 0),
          },
          {
            name: 'Server Cache Miss',
            cell: (report: LevelReport) => serverUs(report, ({ cache }) => cache?.missUsPerRequest ?? 0),
          },
        ]
      : []),
  ];
}

function clientUs(report: LevelReport): number {
  const { sendUs, receiveUs } = shownClientParts(report);
  return sendUs + receiveUs;
}

function percentileColumns(first: LevelReport | undefined): readonly Column[] {
  return (first?.percentilesUs ?? []).map(({ percentile }, index) => ({
    name: `p${percentile} latency`,
    cell: (report) => whole(report.percentilesUs[index]?.us ?? 0),
  }));
}

function verboseColumns({ percentile, withGpuMetrics }: CsvOptions): readonly Column[] {
  return [
    ...(percentile === null ? [{ name: 'Avg latency', cell: ({ averageUs }: LevelReport) => whole(averageUs) }] : []),
    { name: 'request/response', cell: (report) => whole(clientUs(report)) },
    { name: 'response wait', cell: (report) => whole(Math.max(0, report.averageUs - clientUs(report))) },
    ...(withGpuMetrics ? gpuColumns : []),
  ];
}

type Gpu = NonNullable<LevelReport['measurement']['device']['gpus']>[number];

const perGpu =
  (findFigure: (gpu: Gpu) => number | undefined) =>
  ({ measurement }: LevelReport): string =>
    (measurement.device.gpus ?? [])
      .flatMap((gpu) => {
        const value = findFigure(gpu);
        return value === undefined ? [] : [`${gpu.uuid}:${figure(value)};`];
      })
      .join('');

/** Cells of the form `uuid:value;uuid:value;`, utilisation as a fraction. */
const gpuColumns: readonly Column[] = [
  {
    name: 'Avg GPU Utilization',
    cell: perGpu(({ utilizationPercent: percent }) => (percent === undefined ? undefined : percent / 100)),
  },
  { name: 'Avg GPU Power Usage', cell: perGpu(({ powerW }) => powerW) },
  { name: 'Max GPU Memory Usage', cell: perGpu(({ memoryBytes }) => memoryBytes) },
  { name: 'Total GPU Memory', cell: perGpu(({ memoryTotalBytes }) => memoryTotalBytes) },
];
