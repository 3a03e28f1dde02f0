import type { ProfileDocuments } from '../../../app/profile/documents.ts';
import { type ProfilePlan, settingsOf } from '../../../app/profile/plan.ts';
import { openProfileTarget } from '../../../app/profile/target.ts';
import type { OpenServer } from '../../../app/server/open-server.ts';
import type { LoadLevel } from '../../../loadgen/types.ts';
import type { LevelReport } from '../../../profiler/level-report.ts';
import type { MeasureLevel } from '../../../profiler/sweep.ts';
import type { Terminal } from '../../terminal.ts';
import type { ProfileOptions } from './options.ts';
import { createProfileScreen } from './screen.ts';

/** What every kind of profile works with. */
export interface ProfileRun {
  readonly opened: OpenServer;
  readonly model: string;
  readonly options: ProfileOptions;
  readonly plan: ProfilePlan;
  /** As perf_analyzer prints and decides, without what we add. */
  readonly alike: boolean;
  readonly documents: ProfileDocuments;
  readonly terminal: Terminal;
  readonly signal: AbortSignal;
  /** Every level so far. */
  readonly reports: LevelReport[];
}

/**
 * Measures the levels that `walk` asks for with the requests of these options, shows them, and writes them down one by one.
 * Errors: as of `openProfileTarget` and a target's `measure`; OUTPUT_UNWRITABLE.
 */
export async function profileLevels(
  { opened, model, options, plan, alike, documents, terminal, signal, reports }: ProfileRun,
  walk: (measure: MeasureLevel) => Promise<void>,
): Promise<void> {
  const target = await openProfileTarget(opened, model, options, plan, signal);
  const settings = settingsOf(plan, options, target.isDecoupled);
  for (const line of target.assumptions) terminal.tell(line);
  const screen = createProfileScreen(settings, { verbose: options.verbose === true, alike }, terminal);
  const own: LevelReport[] = [];
  try {
    await walk(async (value) => {
      const level: LoadLevel = { mode: plan.mode, value };
      for (const listener of [screen, documents]) listener.onLevel(level);
      const report = await target.measure(level, {
        onProgress: (progress) => {
          for (const listener of [screen, documents]) listener.onProgress(progress);
        },
        onRequest: documents.onRequest,
      });
      screen.onReport(report);
      own.push(report);
      reports.push(report);
      await documents.onReport(reports);
      return report.isWithinLimit;
    });
  } finally {
    screen.onEnd(own);
    await target.close();
  }
}
