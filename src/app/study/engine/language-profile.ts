import type { EngineProfile } from '../../../adapter/engine/adapter.ts';
import { shorterWindows } from '../../../adapter/triton/profile.ts';
import { measureUnder, playing } from '../../../adapter/workloads.ts';
import { realClock } from '../../../base/clock.ts';
import { MS_PER_S } from '../../../base/units.ts';
import type { LoadLevel, RequestHeader } from '../../../loadgen/types.ts';
import { engineProbe } from '../../../profiler/devices/engine-metrics.ts';
import { defaultWindowRule, type WindowRule } from '../../../profiler/level-options.ts';
import type { Measurement } from '../../../profiler/measurement.ts';
import { play } from '../../../profiler/play.ts';
import type { StudySpec } from '../../../spec/study-spec.ts';
import type { TlsOptions } from '../../../triton/wire/tls.ts';
import type { MeasureOptions, MeasurePurpose } from '../../../tuner/adapter.ts';
import { languageWindows } from '../../profile/language-windows.ts';
import { devicesOf } from '../../server/devices.ts';
import { type FoundEndpoint, findEndpoint } from '../../server/find-endpoint.ts';
import { openLanguageTraffic } from '../../traffic/open-language.ts';
import { promptsOf } from '../../traffic/prompts.ts';
import { rateSchedule } from '../../traffic/schedule.ts';
import type { Sender } from '../../traffic/sender.ts';
import { type PromptWorkload, promptWorkloads } from '../workloads/language-workloads.ts';
import type { StudiedWorkloads } from '../workloads/read-workloads.ts';
import { requestLimitMs } from './request-limit.ts';

/** The current server of a language model. */
export interface LanguageServer {
  /** HOST:PORT */
  readonly address: string;
  readonly headers: readonly RequestHeader[];
  readonly tls?: TlsOptions | undefined;
  /** The Prometheus page of its engine; undefined if it has none. */
  readonly metricsUrl?: string | undefined;
}

const MOST_IN_FLIGHT = 4096;

/**
 * Returns shorter windows for a trial, which has several levels and whose best result the final measures again, and for a study whose time
 * budget would hold only a few measurements: replies take seconds.
 */
function windowsOf(purpose: MeasurePurpose | undefined, timeBudgetSeconds: number | undefined): Partial<WindowRule> {
  const maxWindows = purpose === undefined ? 6 : (shorterWindows[purpose].maxWindows ?? 3);
  const { maxWindowMs, minWindowMs, maxWarmUpMs } = { ...defaultWindowRule, ...languageWindows };
  const shareMs = ((timeBudgetSeconds ?? Number.POSITIVE_INFINITY) * MS_PER_S) / MIN_MEASUREMENTS;
  const within = (mostMs: number, fittingMs: number): number => Math.min(mostMs, Math.max(minWindowMs, fittingMs));
  return {
    ...languageWindows,
    maxVoidWindows: 1,
    maxWindows,
    maxWindowMs: within(maxWindowMs, shareMs / maxWindows),
    maxWarmUpMs: within(maxWarmUpMs, shareMs / 2),
  };
}

/** Measurements for which a time budget has room: the original, a few candidates, and a final. */
const MIN_MEASUREMENTS = 8;

/** A smaller change does not justify reopening connections. */
const isNear = (a: number, b: number): boolean => Math.max(a, b) <= 2 * Math.min(a, b);

/** What is sent to the current server, and to which. */
interface OpenSender extends Sender {
  readonly address: string;
  /** Milliseconds that a request may take. */
  readonly timeoutMs: number;
}

/**
 * Returns a profile that measures a language model with prompts on the current server from `serving`, under each workload in turn if there are any.
 * Errors: USAGE, INPUT_INVALID for prompts that cannot be made or read; of its `measure`: SERVER_*, MODEL_UNKNOWN, INTERRUPTED.
 */
export async function languageProfile(
  spec: StudySpec,
  serving: () => LanguageServer,
  workloads: StudiedWorkloads | null,
): Promise<EngineProfile> {
  const { model, seed, server, goal, levels, measurement, traffic: client } = spec;
  const played = workloads ? await promptWorkloads(spec, workloads) : undefined;
  const usual = played?.search[0] ?? (await promptsOf(spec.prompts ?? {}, { model, seed }));
  let found: FoundEndpoint | null = null;
  let open: OpenSender | null = null;
  let slowestMs: number | null = null;

  async function close(): Promise<void> {
    await open?.close();
    open = null;
  }

  /** Returns the sender to the current server. Each start of a server has another address. */
  async function senderTo({ address, headers, tls }: LanguageServer): Promise<OpenSender> {
    const timeoutMs = requestLimitMs(slowestMs);
    if (open?.address === address && isNear(open.timeoutMs, timeoutMs)) return open;
    await close();
    const where = { address, host: address, basePath: '', headers, tls };
    found ??= await findEndpoint({
      ...where,
      asked: server.endpoint ?? 'openai',
      model,
      modelVersion: '',
      path: undefined,
      timeoutMs,
      extra: undefined,
    });
    const { endpoint } = found;
    const sender = await openLanguageTraffic({ ...where, model, endpoint, timeoutMs }, usual.requests, client);
    open = { ...sender, address, timeoutMs };
    return open;
  }

  async function measure(
    workload: PromptWorkload | null,
    level: LoadLevel,
    isFresh: boolean,
    { signal, onProgress, budgetMs, purpose, untilNs }: MeasureOptions,
  ): Promise<Measurement> {
    const now = serving();
    const { sending, timeoutMs } = await senderTo(now);
    const devices = devicesOf({ server: { url: now.address, emulated: null } }, model);
    try {
      const measured = await play(
        {
          ...{ clock: realClock, level, signal, onProgress, isFresh, untilNs, maxErrors: client.maxErrors },
          ...{ percentile: goal.percentile, precision: measurement.precisionPercent / 100 },
          ...(budgetMs !== undefined && { budgetMs }),
          limits: goal.goodput,
          scheduleAt: (perSecond) => rateSchedule({ requestDistribution: levels.requestDistribution, seed }, perSecond),
          ...(workload && playing(workload)),
          windows: windowsOf(purpose, spec.limits.timeBudgetSeconds),
          maxInFlight: MOST_IN_FLIGHT,
          // Requests left over from one level must not affect the next.
          drainMs: timeoutMs,
          deviceProbe: devices.probe,
          ...(devices.hostWorkUs && { hostWorkUs: devices.hostWorkUs }),
          engineProbe:
            now.metricsUrl === undefined
              ? undefined
              : engineProbe(now.metricsUrl, model, { tls: now.tls, headers: now.headers }),
        },
        [{ ...sending, requests: (workload ?? usual).requests, stats: null }],
      );
      if (measured.latencyMs.max > (slowestMs ?? 0)) slowestMs = measured.latencyMs.max;
      return measured;
    } finally {
      await devices.close();
    }
  }

  return {
    measure: ({ change }, level, options) => measureUnder(played, level, change !== 'none', options, measure),
    close,
  };
}
