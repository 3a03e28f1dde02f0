import { formatMs, formatRate } from '#base/format.ts';
import { findSummary, heyLines } from '#headless/hey-summary.ts';
import { classLines } from '#headless/perf-analyzer/class-lines.ts';
import {
  closingLines,
  levelHeading,
  levelLines,
  levelWarnings,
  windowLine,
} from '#headless/perf-analyzer/level-lines.ts';
import { type ProfileSettings, settingsLines } from '#headless/perf-analyzer/settings.ts';
import { tokenLines } from '#headless/perf-analyzer/token-lines.ts';
import { trustLines } from '#headless/perf-analyzer/trust-lines.ts';
import type { LoadLevel } from '#loadgen/types.ts';
import type { LevelReport } from '#profiler/level-report.ts';
import type { ProfileProgress } from '#profiler/progress.ts';
import type { Terminal } from '../../terminal.ts';

const MS_TO_US = 1e3;

/** The output of a running profile. */
export interface ProfileScreen {
  onLevel(level: LoadLevel): void;
  onProgress(progress: ProfileProgress): void;
  onReport(report: LevelReport): void;
  onEnd(reports: readonly LevelReport[]): void;
}

/**
 * Prints perf_analyzer's lines, with a progress line on a terminal; unless `alike`, also how
 * reliable the figures are.
 */
export function createProfileScreen(
  settings: ProfileSettings,
  { verbose, alike }: { readonly verbose: boolean; readonly alike: boolean },
  terminal: Terminal,
): ProfileScreen {
  const printAll = (lines: readonly string[]): void => {
    for (const line of lines) terminal.print(line);
  };
  let heading = '';
  const unit = settings.serviceKind === 'TRITON' ? 'infer/s' : 'requests/s';
  printAll(settingsLines(settings));
  return {
    onLevel: (level) => {
      heading = levelHeading({ level });
      terminal.print(heading);
      terminal.status(`${heading}: connecting`);
    },
    onProgress: (progress) => {
      if (progress.phase === 'warm-up' || progress.phase === 'first-answers')
        return terminal.status(`${heading}: warming up`);
      if (progress.phase === 'void') {
        return terminal.status(
          `${heading}: repeating a window (${progress.voidWindows}): the load generator was delayed`,
        );
      }
      const { window, latest: windowFigures } = progress;
      const { throughput, latencyMs } = progress;
      terminal.status(`${heading}: window ${window}, ${formatRate(throughput, unit)}, ${formatMs(latencyMs)}`);
      if (!verbose) return;
      const figures = {
        window,
        inferPerSecond: windowFigures.throughput,
        averageUs: windowFigures.latencyAvgMs * MS_TO_US,
        deviationUs: windowFigures.latencyStdMs * MS_TO_US,
        percentileUs: windowFigures.latencyPercentileMs * MS_TO_US,
      };
      terminal.status(null);
      terminal.print(windowLine(figures, settings.percentile));
    },
    onReport: (report) => {
      terminal.status(null);
      printAll(levelLines(report, settings, verbose));
      printAll(tokenLines(report));
      printAll(classLines(report));
      if (!alike) printAll(trustLines(report));
      const replies = findSummary(report.measurement);
      if (replies) printAll(heyLines(replies));
      for (const line of levelWarnings(report, settings)) terminal.tell(line);
    },
    onEnd: (reports) => {
      terminal.status(null);
      printAll(closingLines(reports, settings));
    },
  };
}
