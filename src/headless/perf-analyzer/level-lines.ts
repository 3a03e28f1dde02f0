import { capital } from '#base/format.ts';
import { describeFailed, failedRequestsOfSent, isMostlyFailed } from '#profiler/failed-requests.ts';
import { type LevelReport, shownClientParts } from '#profiler/level-report.ts';
import { streamFigure, wholeUs } from './figures.ts';
import { serverLines } from './server-lines.ts';
import type { ProfileSettings } from './settings.ts';

/** Late sends above this percentage cause a warning. */
const LATE_PERCENT = 1;

/** The line that announces a level. */
export const levelHeading = ({ level }: Pick<LevelReport, 'level'>): string =>
  level.mode === 'concurrency'
    ? `Request concurrency: ${level.value}`
    : `Request Rate: ${streamFigure(level.value)} inference requests per second`;

export interface WindowFigures {
  readonly window: number;
  readonly inferPerSecond: number;
  readonly averageUs: number;
  readonly deviationUs: number;
  /** The percentile of the decisive latency; null for the average. */
  readonly percentileUs: number | null;
}

/** Returns a line for each window, with -v. */
export function windowLine(figures: WindowFigures, percentile: number | null): string {
  const latency =
    percentile === null || figures.percentileUs === null
      ? `Avg latency: ${wholeUs(figures.averageUs)} usec (std ${wholeUs(figures.deviationUs)} usec).`
      : `p${percentile} latency: ${wholeUs(figures.percentileUs)} usec.`;
  return `  Pass [${figures.window}] throughput: ${streamFigure(figures.inferPerSecond)} infer/sec. ${latency}`;
}

/** Returns the results of a level: the client's side, then the server's. */
export function levelLines(report: LevelReport, settings: ProfileSettings, verbose: boolean): readonly string[] {
  return [
    '  Client: ',
    `    Request count: ${report.requestCount}`,
    ...sendLines(report),
    ...(report.sequences
      ? [`    Sequence count: ${report.sequences.count} (${streamFigure(report.sequences.perSecond)} seq/sec)`]
      : []),
    `    Throughput: ${streamFigure(report.inferPerSecond)} infer/sec`,
    ...(report.responsesPerSecond === null
      ? []
      : [`    Response Throughput: ${streamFigure(report.responsesPerSecond)} infer/sec`]),
    ...(settings.percentile === null
      ? [`    Avg latency: ${wholeUs(report.averageUs)} usec (standard deviation ${wholeUs(report.deviationUs)} usec)`]
      : []),
    ...report.percentilesUs.map(({ percentile, us }) => `    p${percentile} latency: ${wholeUs(us)} usec`),
    transportLine(report, settings, verbose),
    ...serverLines(report.server),
    ...gpuLines(report),
    '',
  ];
}

function sendLines({ sends }: LevelReport): readonly string[] {
  if (sends === null || sends.latePercent <= LATE_PERCENT) return [];
  return [
    `    Avg send request rate: ${sends.perSecond.toFixed(2)} infer/sec`,
    `    [WARNING] Perf Analyzer was not able to keep up with the desired request rate. ${sends.latePercent.toFixed(2)}% of the requests were delayed. `,
  ];
}

/**
 * Returns the client's own parts, as perf_analyzer shows them. Over gRPC, sending and receiving the
 * bytes is part of the wait.
 */
function transportLine(report: LevelReport, { protocol }: ProfileSettings, verbose: boolean): string {
  const { averageUs, measurement } = report;
  const words =
    protocol === 'http'
      ? { name: 'HTTP', out: 'send', back: 'receive', both: 'send/recv' }
      : { name: 'gRPC', out: 'marshal', back: 'unmarshal', both: '(un)marshal request/response' };
  const { marshalUs = 0, unmarshalUs = 0 } = measurement.clientTimes ?? {};
  const { sendUs, receiveUs } =
    protocol === 'http' ? shownClientParts(report) : { sendUs: marshalUs, receiveUs: unmarshalUs };
  const wait = `response wait ${wholeUs(Math.max(0, averageUs - sendUs - receiveUs))} usec`;
  const parts = verbose
    ? `${words.out} ${wholeUs(sendUs)} usec + ${wait} + ${words.back} ${wholeUs(receiveUs)} usec`
    : `${words.both} ${wholeUs(sendUs + receiveUs)} usec + ${wait}`;
  return `    Avg ${words.name} time: ${wholeUs(averageUs)} usec (${parts})`;
}

function gpuLines({ measurement }: LevelReport): readonly string[] {
  const gpus = measurement.device.gpus ?? [];
  if (gpus.length === 0) return [];
  const block = (title: string, findFigure: (gpu: (typeof gpus)[number]) => string | null): string[] => {
    const rows = gpus.flatMap((gpu) => {
      const value = findFigure(gpu);
      return value === null ? [] : [`      ${gpu.uuid} : ${value}`];
    });
    return rows.length === 0 ? [] : [`    ${title}:`, ...rows];
  };
  return [
    '  Server Prometheus Metrics: ',
    ...block('Avg GPU Utilization', ({ utilizationPercent: percent }) =>
      percent === undefined ? null : `${streamFigure(percent)}%`,
    ),
    ...block('Avg GPU Power Usage', ({ powerW }) => (powerW === undefined ? null : `${streamFigure(powerW)} watts`)),
    ...block('Max GPU Memory Usage', ({ memoryBytes }) => (memoryBytes === undefined ? null : `${memoryBytes} bytes`)),
    ...block('Total GPU Memory', ({ memoryTotalBytes: bytes }) => (bytes === undefined ? null : `${bytes} bytes`)),
  ];
}

/**
 * Returns the messages on stderr for a level without good figures, in the words that Model Analyzer
 * looks for.
 */
export function levelWarnings(report: LevelReport, settings: ProfileSettings): readonly string[] {
  return [
    ...(report.isStable ? [] : [unstableWarning(report, settings)]),
    ...(report.isWithinLimit
      ? []
      : [`Measured latency went over the set limit of ${streamFigure(settings.latencyLimitMs)} msec. `]),
    ...(report.measurement.client.bound
      ? [`[WARNING] The client was the limit, not the server: ${report.measurement.client.reason ?? ''}`]
      : []),
  ];
}

function unstableWarning({ level, measurement }: LevelReport, { measuring }: ProfileSettings): string {
  const where = level.mode === 'concurrency' ? `concurrency ${level.value}` : `request rate ${level.value}`;
  const wider = 'precisionPercent' in measuring ? 2 * measuring.precisionPercent : 0;
  const advice: Readonly<Record<typeof measuring.kind, string>> = {
    'count-windows': 'Please try to increase the --measurement-request-count.',
    'time-windows': 'Please try to increase the --measurement-interval.',
    'request-count': 'Please try to increase the --request-count.',
    passes: 'The server stopped answering before the workload was over.',
    interval: `Please try a larger --precision, such as --precision ${wider}.`,
  };
  const failed = failedRequestsOfSent(measurement);
  const nextStep = isMostlyFailed(failed) ? `${capital(describeFailed(failed))}.` : advice[measuring.kind];
  const limit = 'maxTrials' in measuring ? `within ${measuring.maxTrials} measurement windows ` : '';
  return `Failed to obtain stable measurement ${limit}for ${where}. ${nextStep}`;
}

/** Returns a line for each level, after the last one. */
export function closingLines(reports: readonly LevelReport[], { percentile }: ProfileSettings): readonly string[] {
  if (reports.length === 0) return [];
  const latencyName = percentile === null ? 'Average' : `p${percentile}`;
  return [
    `Inferences/Second vs. Client ${latencyName} Batch Latency`,
    ...reports.map(({ level, inferPerSecond, decidingUs }) => {
      const name = level.mode === 'concurrency' ? 'Concurrency' : 'Request Rate';
      return `${name}: ${streamFigure(level.value)}, throughput: ${streamFigure(inferPerSecond)} infer/sec, latency ${wholeUs(decidingUs)} usec`;
    }),
  ];
}
