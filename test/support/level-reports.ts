import type { LevelReport, ServerReport } from '#profiler/level-report.ts';
import { measured } from '../study/builders.ts';

export const serverReport: ServerReport = {
  model: '',
  version: '',
  inferenceCount: 1250,
  executionCount: 625,
  successCount: 1250,
  cache: null,
  requestUs: 18_099.9,
  overheadUs: 9.4,
  queueUs: 13_314.2,
  computeInputUs: 21.7,
  computeInferUs: 4_700.5,
  computeOutputUs: 54.1,
  composing: [],
};

/** A report with the figures of a published run of perf_analyzer, where it has them. */
export function levelReport(change: Partial<LevelReport> = {}): LevelReport {
  return {
    level: { mode: 'concurrency', value: 4 },
    inferPerSecond: 208.4,
    requestCount: 1042,
    sends: null,
    sequences: null,
    responsesPerSecond: null,
    averageUs: 19_185.6,
    deviationUs: 105.2,
    percentilesUs: [
      { percentile: 50, us: 19_168.9 },
      { percentile: 90, us: 19_218 },
      { percentile: 95, us: 19_265 },
      { percentile: 99, us: 19_583 },
    ],
    decidingUs: 19_185.6,
    isStable: true,
    isWithinLimit: true,
    server: serverReport,
    measurement: measured(4, 208.4, 19.2),
    ...change,
  };
}
