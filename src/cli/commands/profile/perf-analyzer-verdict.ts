import { plainLine } from '#base/format.ts';
import type { LevelReport } from '#profiler/level-report.ts';

/** perf_analyzer's own exit codes, for programs that run it. */
export const perfAnalyzerExitCodes = { done: 0, unstable: 2, noRequests: 3, failed: 99 } as const;

/** The meaning of each, for the reference. */
export const perfAnalyzerExitMeanings: Readonly<Record<keyof typeof perfAnalyzerExitCodes, string>> = {
  done: 'the levels were measured',
  unstable: 'the first level is unstable',
  noRequests: 'no request ended in a window',
  failed: 'anything else',
};

/**
 * Returns the exit code for the results. `tell` gets the matching messages, which other programs
 * look for.
 */
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
