import type { ProfileDocuments } from '#app/profile/documents.ts';
import type { LevelTarget } from '#app/profile/measuring.ts';
import { type ProfilePlan, toSettings } from '#app/profile/plan.ts';
import type { LoadLevel } from '#loadgen/types.ts';
import type { LevelReport } from '#profiler/level-report.ts';
import type { ProfileProgress } from '#profiler/progress.ts';
import type { MeasureLevel } from '#profiler/sweep.ts';
import type { Terminal } from '../../terminal.ts';
import type { ProfileOptions } from './options.ts';
import { createProfileScreen } from './screen.ts';

/** The context of measuring levels. */
export interface LevelRun {
  readonly options: ProfileOptions;
  readonly plan: ProfilePlan;
  /** True to print and decide as perf_analyzer does, without our additions. */
  readonly alike: boolean;
  readonly documents: ProfileDocuments;
  readonly terminal: Terminal;
  /** Every level so far. */
  readonly reports: LevelReport[];
  readonly signal: AbortSignal;
  /** Opens a target that outlasts an outage of its server. */
  readonly open: (open: () => Promise<LevelTarget>) => Promise<LevelTarget>;
}

/**
 * Measures the levels that `walk` requests on an open target, shows them, writes them one by one,
 * and closes the target. Errors: as of its `measure`; OUTPUT_UNWRITABLE.
 */
export async function measureLevels(
  { options, plan, alike, documents, terminal, reports }: LevelRun,
  target: LevelTarget,
  walk: (measure: MeasureLevel) => Promise<void>,
): Promise<void> {
  const settings = toSettings(plan, options, target);
  for (const line of target.assumptions) terminal.tell(line);
  const screen = createProfileScreen(settings, { verbose: options.verbose === true, alike }, terminal);
  const levelReports: LevelReport[] = [];
  try {
    await walk(async (value) => {
      const level: LoadLevel = { mode: plan.mode, value };
      for (const listener of [screen, documents]) listener.onLevel(level);
      const listener = {
        onProgress: (progress: ProfileProgress) => {
          for (const each of [screen, documents]) each.onProgress(progress);
        },
        onRequest: documents.onRequest,
        onAgain: () => documents.onLevel(level),
      };
      const report = await target.measure(level, listener);
      screen.onReport(report);
      levelReports.push(report);
      reports.push(report);
      await documents.onReport(reports);
      return report.isWithinLimit;
    });
  } finally {
    screen.onEnd(levelReports);
    await target.close();
  }
}
