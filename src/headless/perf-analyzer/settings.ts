import { streamFigure } from './figures.ts';

/** The settings of a profile that its first lines show. */
export interface ProfileSettings {
  readonly batch: number;
  readonly serviceKind: string;
  readonly protocol: 'grpc' | 'http';
  readonly mode: 'concurrency' | 'request-rate';
  /** The highest level; 0 if only the latency ends the search. */
  readonly endLevel: number;
  readonly binarySearch: boolean;
  readonly distribution: 'constant' | 'poisson' | null;
  readonly latencyLimitMs: number;
  readonly warmupRequests: number | null;
  readonly isAsync: boolean;
  readonly isDecoupled: boolean;
  readonly measuring: MeasuringSettings;
  /** The percentile that decides; null for the average. */
  readonly percentile: number | null;
}

export type MeasuringSettings =
  | { readonly kind: 'request-count'; readonly requests: number }
  | { readonly kind: 'time-windows'; readonly windowMs: number; readonly maxTrials: number }
  | { readonly kind: 'count-windows'; readonly requests: number; readonly maxTrials: number }
  | { readonly kind: 'interval'; readonly precisionPercent: number }
  /** `passes`: null for as many as the measurement needs. */
  | { readonly kind: 'passes'; readonly passes: number | null };

/** The lines before the first level. */
export function settingsLines(settings: ProfileSettings): readonly string[] {
  const { mode, endLevel, distribution } = settings;
  return [
    '*** Measurement Settings ***',
    `  Batch size: ${settings.batch}`,
    `  Service Kind: ${settings.serviceKind}`,
    ...(settings.warmupRequests ? [`  Sending ${settings.warmupRequests} warmup requests`] : []),
    ...measuringLines(settings),
    ...(endLevel === 1
      ? []
      : [
          `  Latency limit: ${streamFigure(settings.latencyLimitMs)} msec`,
          mode === 'concurrency'
            ? `  Concurrency limit: ${limitText(endLevel)} concurrent requests`
            : `  Request Rate limit: ${limitText(endLevel)} requests per seconds`,
        ]),
    ...(distribution === null
      ? []
      : [`  Using ${distribution === 'poisson' ? 'poisson' : 'uniform'} distribution on request generation`]),
    ...(settings.binarySearch ? ['  Using Binary Search algorithm'] : []),
    `  Using ${settings.isAsync ? 'asynchronous' : 'synchronous'} calls for inference`,
    ...(settings.isDecoupled ? ['  Detected decoupled model, using the last response for measuring latency'] : []),
    '',
  ];
}

/** Without an end, perf_analyzer prints the largest number that it knows. */
const limitText = (level: number): string => (level === 0 ? 'no' : streamFigure(level));

function measuringLines({ measuring, percentile }: ProfileSettings): readonly string[] {
  const latency = percentile === null ? 'average latency' : `p${percentile} latency`;
  switch (measuring.kind) {
    case 'request-count':
      return [`  Sending ${measuring.requests} benchmark requests`];
    case 'time-windows':
      return [
        '  Using "time_windows" mode for stabilization',
        `  Stabilizing using ${latency} and throughput`,
        `  Measurement window: ${measuring.windowMs} msec`,
      ];
    case 'count-windows':
      return [
        '  Using "count_windows" mode for stabilization',
        `  Stabilizing using ${latency} and throughput`,
        `  Minimum number of samples in each window: ${measuring.requests}`,
      ];
    case 'passes': {
      const { passes } = measuring;
      return [
        `  Measuring ${passes === null ? 'whole passes' : passes === 1 ? 'one whole pass' : `${passes} whole passes`} of the workload`,
      ];
    }
    case 'interval':
      return [`  Stabilizing by 95 % intervals of throughput and ${latency}: ±${measuring.precisionPercent} %`];
  }
}
