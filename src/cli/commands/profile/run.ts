import { exitCodes } from '#app/exit-codes.ts';
import { listProfileFigures } from '#app/otlp-figures.ts';
import { openProfileDocuments, writePictures } from '#app/profile/documents.ts';
import { findService } from '#app/profile/find-service.ts';
import { profileHead } from '#app/profile/head.ts';
import type { LevelTarget } from '#app/profile/measuring.ts';
import { openOutlasting } from '#app/profile/outlast.ts';
import { planProfile } from '#app/profile/plan.ts';
import type { ServiceKind } from '#app/profile/service.ts';
import { traced } from '#app/profile/traced.ts';
import { afterRestoring } from '#app/restore-first.ts';
import { readServerMachine } from '#app/server/devices.ts';
import { warnIfInsecure } from '#app/server/tls.ts';
import { closeTelemetry, openTelemetry } from '#app/telemetry.ts';
import { realClock } from '#base/clock.ts';
import { isTrituneError, TrituneError } from '#base/errors.ts';
import { inertJson } from '#base/format.ts';
import { shownUrl } from '#base/secrets.ts';
import { describeFailed, failedRequestsOfSent, isMostlyFailed } from '#profiler/failed-requests.ts';
import type { LevelReport } from '#profiler/level-report.ts';
import type { DeviceMetrics } from '#profiler/server-figures.ts';
import { sweep } from '#profiler/sweep.ts';
import { type ProfileHead, profileJson } from '#report/profile-json.ts';
import { sweepOfReports } from '#report/sweep-plots.ts';
import type { EndpointSpec, LevelSpec } from '#spec/profile-spec.ts';
import type { PromptSpec } from '#workload/prompt-spec.ts';
import { listenForInterrupts } from '../../interrupts.ts';
import type { Terminal } from '../../terminal.ts';
import type { PlainHttpFlags } from './http-options.ts';
import { measureLevels } from './levels.ts';
import type { ProfileOptions } from './options.ts';
import { withoutAliases } from './perf-analyzer-aliases.ts';
import { runScenario } from './scenario.ts';

/** The options, and the user's maximum of requests in flight; undefined for no limit. */
interface ChosenLoad<O> {
  readonly options: O;
  readonly maxInFlight: number | undefined;
}

/**
 * With a rate, a concurrency is the maximum number of requests in flight, and not a level;
 * perf_analyzer takes only one of them for a model on a Triton. Errors: USAGE.
 */
function toLoad<O extends LevelSpec>(kind: ServiceKind, options: O): ChosenLoad<O> {
  const { concurrencyRange, ...others } = options;
  if (kind === 'triton' || !concurrencyRange || !options.requestRateRange) return { options, maxInFlight: undefined };
  const { start, end } = concurrencyRange;
  if (start !== end) {
    throw new TrituneError(
      'USAGE',
      'the limit of requests in flight is a single number',
      `write --concurrency-range ${start}`,
    );
  }
  return { options: others as O, maxInFlight: start };
}

/** The outcome of a profile. */
export interface ProfileOutcome {
  readonly reports: readonly LevelReport[];
  readonly wasInterrupted: boolean;
}

/** The options of `profile` with those of every kind of service. */
export type AnyProfileOptions = ProfileOptions & PlainHttpFlags & EndpointSpec & PromptSpec;

/**
 * Runs `tritune profile` once: plans, finds the service, measures level after level, and writes the
 * requested documents, also after an early end. `alike`: print and decide as perf_analyzer does,
 * without our additions. Errors: USAGE, INPUT_INVALID, MODEL_*, SERVER_*, OUTPUT_*.
 */
export async function runProfile(
  kind: ServiceKind,
  profileOptions: AnyProfileOptions,
  terminal: Terminal,
  alike: boolean,
): Promise<ProfileOutcome> {
  const { options, maxInFlight } = toLoad(kind, { ...profileOptions, ...withoutAliases(profileOptions) });
  const { tell } = terminal;
  const asFarAsKnown = await planProfile(options, alike);
  warnIfInsecure(options, terminal);
  const telemetry = await openTelemetry(options.otlp, { command: 'profile', model: options.model ?? '' });
  const isJson = options.outputFormat === 'json';
  const shown = isJson ? { ...terminal, print: () => undefined } : terminal;
  let head: ProfileHead | null = null;
  const outcome = await interruptible(terminal, async (signal, reports) => {
    const service = await afterRestoring(options, tell, () =>
      findService[kind](options, asFarAsKnown, { signal, tell, maxInFlight, alike }),
    );
    try {
      const { plan, protocol, triton } = service;
      const scenario = triton && options.scenario;
      const open = (openTarget: () => Promise<LevelTarget>): Promise<LevelTarget> =>
        openOutlasting(openTarget, {
          maxOutageSeconds: alike ? 0 : options.maxOutage,
          hasAnswered: service.hasAnswered,
          clock: realClock,
          signal,
          tell,
        });
      await traced(triton?.client, options, async () => {
        // A scenario opens a target for each of its cases.
        const target = scenario ? null : await open(service.open);
        const machine = await readServerMachine(service.server);
        head = profileHead(options, service, shownCommandLine(options), target?.assumptions ?? [], machine);
        const documents = await openProfileDocuments(options, plan, head).catch(async (error: unknown) => {
          await target?.close();
          throw error;
        });
        const run = {
          options: { ...options, protocol },
          plan,
          alike,
          documents,
          terminal: shown,
          reports,
          signal,
          open,
        };
        try {
          if (target) await measureLevels(run, target, (measure) => sweep(plan.sweep, measure));
          else if (scenario) await runScenario(run, triton, scenario);
        } finally {
          await documents.close();
        }
      });
    } finally {
      await service.close();
    }
  });
  const { reports } = outcome;
  telemetry?.record(listProfileFigures(reports));
  await closeTelemetry(telemetry, tell);
  if (options.collectMetrics && !alike && !reports.some(({ measurement }) => hasFigures(measurement.device)))
    tell('no GPU or CPU metrics found with nvidia-smi; give their address with --metrics-url');
  if (options.plots !== undefined && reports.length > 0) {
    const sweep = sweepOfReports(reports, options.model ?? '');
    for (const file of await writePictures(options.plots, [sweep], tell)) shown.print(file);
  }
  if (isJson && head) terminal.print(inertJson(JSON.stringify(profileJson(head, reports), null, 2)));
  return outcome;
}

const hasFigures = (device: DeviceMetrics): boolean => Object.keys(device).length > 0;

/**
 * Returns the command line in a form safe to store: `profileHead` removes the values of headers,
 * and this function those of the address and a password.
 */
export function shownCommandLine({
  url = '',
  basicAuth,
}: Pick<AnyProfileOptions, 'url' | 'basicAuth'>): readonly string[] {
  return process.argv.slice(2).map((arg) => {
    const shown = url === '' ? arg : arg.replaceAll(url, shownUrl(url));
    return basicAuth === undefined ? shown : shown.replaceAll(basicAuth, '…');
  });
}

/**
 * Does the work until it is done or the user stops it. `reports`: the levels so far. Errors: those
 * of the work.
 */
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
 * Returns the exit code of a profile. Errors: SERVER_FAILED if most requests failed at every level,
 * with the first message.
 */
export function toExitCode({ reports, wasInterrupted }: ProfileOutcome): number {
  if (wasInterrupted) return exitCodes.interrupted;
  const levels = reports.map(({ measurement }) => failedRequestsOfSent(measurement));
  const [first] = levels;
  if (first === undefined || !levels.every(isMostlyFailed)) return exitCodes.done;
  throw new TrituneError(
    'SERVER_FAILED',
    levels.length === 1
      ? describeFailed(first)
      : `at every level most requests failed; at the first ${describeFailed(first)}`,
    'read the log of the server, and check what is sent: tensors (--input-data, --shape, --integers), prompts, or a body',
  );
}
