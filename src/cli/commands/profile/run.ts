import { openProfileDocuments } from '../../../app/profile/documents.ts';
import { profileHead } from '../../../app/profile/head.ts';
import { planProfile } from '../../../app/profile/plan.ts';
import { checkLimits, modelsOf } from '../../../app/profile/target.ts';
import { traced } from '../../../app/profile/traced.ts';
import { afterRestoring } from '../../../app/restore/restore-first.ts';
import { noteOwnRequests } from '../../../app/server/client-requests.ts';
import { checkLeftovers, leftoversIn } from '../../../app/server/leftover.ts';
import { type OpenServer, openServer } from '../../../app/server/open-server.ts';
import { warnIfInsecure } from '../../../app/server/tls.ts';
import { errorLine } from '../../../base/error-line.ts';
import { isTrituneError, TrituneError } from '../../../base/errors.ts';
import { describeFailed, failedRequestsOfSent, isMostlyFailed } from '../../../profiler/failed-requests.ts';
import type { LevelReport } from '../../../profiler/level-report.ts';
import { sweep } from '../../../profiler/sweep.ts';
import { exitCodes } from '../../exit-codes.ts';
import { listenForInterrupts } from '../../interrupts.ts';
import type { Terminal } from '../../terminal.ts';
import { profileLevels } from './levels.ts';
import type { ProfileOptions } from './options.ts';
import { withoutAliases } from './perf-analyzer-aliases.ts';
import { runScenario } from './scenario.ts';

/** The outcome of a profile. */
export interface ProfileOutcome {
  readonly reports: readonly LevelReport[];
  readonly wasInterrupted: boolean;
}

/**
 * Runs `tritune profile` once against a Triton: plans, opens the server, measures level after level, and writes the requested documents, also after
 * an early end. `alike`: print and decide as perf_analyzer does, without our additions. Errors: USAGE, INPUT_INVALID, MODEL_*, SERVER_*, OUTPUT_*.
 */
export async function runProfile(given: ProfileOptions, terminal: Terminal, alike: boolean): Promise<ProfileOutcome> {
  const options = withoutAliases(given);
  const plan = await planProfile(options, alike);
  checkLimits(options, plan);
  const models = modelsOf(options, plan);
  const [model] = models;
  warnIfInsecure(options, terminal);
  return interruptible(terminal, async (signal, reports) => {
    const opened = await openServer(options, { loadModels: models }, null, signal);
    try {
      await refuseLeftovers(opened, models, options, alike, terminal);
      const noteSent = await noteOwnRequests(opened, models);
      const head = profileHead(options, plan, opened.server, model, process.argv.slice(2));
      const documents = await openProfileDocuments(options, plan, head);
      const run = { opened, model, options, plan, alike, documents, terminal, signal, reports };
      try {
        await traced(opened.client, options, async () => {
          if (options.scenario) await runScenario(run, options.scenario);
          else await profileLevels(run, (measure) => sweep(plan.sweep, measure));
        });
      } finally {
        await noteSent();
        await documents.close();
      }
    } finally {
      await opened.close();
    }
  });
}

/** perf_analyzer measures any config as it is, so its drop-in only warns. */
async function refuseLeftovers(
  opened: OpenServer,
  models: readonly string[],
  options: ProfileOptions,
  alike: boolean,
  { tell }: Terminal,
): Promise<void> {
  if (!alike) return afterRestoring(options, tell, () => checkLeftovers(opened, models));
  for await (const error of leftoversIn(opened, models)) tell(`warning: ${errorLine(error)}`);
}

/** Does the work until it is done or the user stops it. `reports`: the levels so far. Errors: those of the work. */
export async function interruptible(
  terminal: Terminal,
  work: (signal: AbortSignal, reports: LevelReport[]) => Promise<void>,
): Promise<ProfileOutcome> {
  const { signal, check, release } = listenForInterrupts(
    terminal.tell,
    () => 'stopped at once; nothing was changed',
    'stopping; finished levels are reported',
  );
  const reports: LevelReport[] = [];
  try {
    await work(signal, reports);
  } catch (error) {
    if (!isTrituneError(error, 'INTERRUPTED')) throw error;
  } finally {
    release();
  }
  check();
  return { reports, wasInterrupted: signal.aborted };
}

/**
 * Returns the exit code of a profile. Errors: SERVER_FAILED if most requests failed at every level, with the first message.
 */
export function exitCodeOf({ reports, wasInterrupted }: ProfileOutcome): number {
  if (wasInterrupted) return exitCodes.interrupted;
  const levels = reports.map(({ measurement }) => failedRequestsOfSent(measurement));
  const [first] = levels;
  if (first === undefined || !levels.every(isMostlyFailed)) return exitCodes.done;
  throw new TrituneError(
    'SERVER_FAILED',
    levels.length === 1
      ? describeFailed(first)
      : `at every level most requests failed; at the first ${describeFailed(first)}`,
    'read the log of the server, or check --input-data and --shape',
  );
}
