import { plainLine } from '../../../base/format.ts';
import type { LevelReport } from '../../../profiler/level-report.ts';

/** perf_analyzer's own, for whatever runs it. */
export const perfAnalyzerExitCodes = { done: 0, unstable: 2, noRequests: 3, failed: 99 } as const;

/** The exit code for what was measured; `tell` gets the words that go with it, as others look for them. */
export function perfAnalyzerVerdict(reports: readonly LevelReport[], tell: (line: string) => void): number {
  const [first] = reports;
  if (first === undefined) return perfAnalyzerExitCodes.done;
  if (reports.some(({ requestCount }) => requestCount === 0)) {
    tell('No valid requests recorded within time interval. Please use a larger time window.');
    return perfAnalyzerExitCodes.noRequests;
  }
  const failing = reports.find(({ measurement }) => measurement.errorRate === 1);
  if (failing) {
    const [failure] = failing.measurement.failures;
    tell(`Failed to retrieve results from inference request. ${plainLine(failure?.firstMessage ?? '')}`);
    return perfAnalyzerExitCodes.failed;
  }
  return first.isStable ? perfAnalyzerExitCodes.done : perfAnalyzerExitCodes.unstable;
}
