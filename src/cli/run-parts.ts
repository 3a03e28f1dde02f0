import { realClock } from '../base/clock.ts';
import { MS_PER_S } from '../base/units.ts';
import type { PreparedInputs } from '../loadgen/inputs.ts';
import { defaultPerfAnalyzerRule, type PerfAnalyzerRule } from '../profiler/level-options.ts';
import { foldStudy } from '../study/fold.ts';
import type { StudyStarted } from '../study/records.ts';
import { type ControlClient, type ControlOptions, createControl } from '../tuner/control.ts';
import { createProfile, shorterWindows, studyWindows } from '../tuner/profile.ts';
import type { TuneParts } from '../tuner/run.ts';
import type { Control } from '../tuner/seams.ts';
import { createTracing } from '../tuner/tracing.ts';
import { devicesOf } from './devices.ts';
import type { OpenServer } from './open-server.ts';
import type { PlannedStudy } from './plan-study.ts';
import { rateSchedule } from './schedule.ts';
import { openTraffic } from './traffic-parts.ts';
import type { TuneOptions } from './tune-options.ts';
import type { TuneRequest } from './tune-request.ts';

const REQUEST_TIMEOUT_MS = 30_000;
const LOAD_TIMEOUT_S = 600;
/** A model that is loaded is ready within that, or within the time that a load may take if that is less. */
const SETTLE_TIMEOUT_MS = 60_000;

/**
 * The parts of a run, wired to its server; `close` lets go of the traffic's sockets and shared memory, and of what read the
 * devices. Errors: USAGE, UNSUPPORTED, SERVER_FAILED (shared memory that the server cannot use).
 */
export async function assembleParts(
  { options, model, journal }: TuneRequest,
  { plan, sampler, samplerFor, windows }: PlannedStudy,
  opened: OpenServer,
  inputs: PreparedInputs,
): Promise<{ readonly parts: TuneParts; close(): Promise<void> }> {
  const { client, server, tls } = opened;
  const { originalConfig: config, levels } = plan.study;
  const traffic = await openTraffic(
    { client, server, tls },
    { options, config, inputs, levels, timeoutMs: REQUEST_TIMEOUT_MS },
  );
  const devices = devicesOf(opened, model);
  const profile = createProfile({
    transport: traffic.transport,
    ...traffic.threads,
    sequences: traffic.sequences,
    requestsFor: (candidate) => traffic.requestsFor(candidate.config),
    stats: client,
    clock: realClock,
    percentile: options.percentile,
    precision: options.precision / 100,
    ...(plan.study.levels.mode === 'concurrency' && { maxInFlight: plan.study.levels.high }),
    ...(options.stability === 'perf-analyzer' && { stability: perfAnalyzerRuleOf(options) }),
    ...(windows ? { windows } : { windows: studyWindows, shorterWindows }),
    deviceProbe: devices.probe,
    hostWorkUs: devices.hostWorkUs,
    alarm: traffic.alarm,
    scheduleAt: (perSecond) => rateSchedule(options, perSecond),
    maxErrors: options.maxErrors,
    ...(traffic.clientCeiling && { clientCeiling: traffic.clientCeiling }),
    ...(options.latencyBudget !== undefined && { budgetMs: options.latencyBudget }),
  });
  const isNewStudy = plan.earlier.length === 0;
  const mayBeLoading = !isNewStudy && foldStudy(plan.earlier).restored?.verified !== true;
  const control = controlOver(client, model, plan.study, options.restore, { ...options, isNewStudy, mayBeLoading });
  const tracing = options.trace ? { tracing: createTracing(client) } : {};
  return {
    parts: { control, profile, sampler, samplerFor, journal, clock: realClock, ...tracing },
    close: async () => {
      await devices.close();
      await traffic.close();
    },
  };
}

/** With a budget the latency that it is about must be stable, and is the threshold. */
const perfAnalyzerRuleOf = ({ latencyBudget, percentile }: TuneOptions): PerfAnalyzerRule =>
  latencyBudget === undefined
    ? defaultPerfAnalyzerRule
    : { ...defaultPerfAnalyzerRule, percentile, latencyThresholdMs: latencyBudget };

type ControlFlags = Partial<Pick<TuneOptions, 'loadTimeout' | 'maxOutage' | 'allowForeignTraffic'>> &
  Pick<ControlOptions, 'isNewStudy' | 'mayBeLoading'>;

/** Control over a model whose original state is the one that its study's journal names. */
export function controlOver(
  client: ControlClient,
  model: string,
  { originalConfig, wasLoaded }: Pick<StudyStarted, 'originalConfig' | 'wasLoaded'>,
  restore: 'config' | 'reload',
  {
    loadTimeout = LOAD_TIMEOUT_S,
    maxOutage,
    allowForeignTraffic = false,
    isNewStudy = false,
    mayBeLoading = false,
  }: ControlFlags = {},
): Control {
  return createControl(client, model, originalConfig, wasLoaded, {
    clock: realClock,
    restore,
    loadTimeoutMs: loadTimeout * MS_PER_S,
    settleTimeoutMs: Math.min(SETTLE_TIMEOUT_MS, loadTimeout * MS_PER_S),
    ...(maxOutage !== undefined && { maxOutageMs: maxOutage * MS_PER_S }),
    isNewStudy,
    // Others that use the model are not to find it gone.
    mayUnload: !allowForeignTraffic,
    mayBeLoading,
  });
}
