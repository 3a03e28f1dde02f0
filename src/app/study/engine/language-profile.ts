import type { EngineProfile } from '../../../adapter/engine/adapter.ts';
import { shorterWindows } from '../../../adapter/triton/profile.ts';
import { realClock } from '../../../base/clock.ts';
import { MS_PER_S } from '../../../base/units.ts';
import type { Schedule } from '../../../loadgen/pacing/pacers.ts';
import type { LoadLevel, RequestHeader } from '../../../loadgen/types.ts';
import { engineProbe } from '../../../profiler/devices/engine-metrics.ts';
import { defaultWindowRule, type LevelOptions, type WindowRule } from '../../../profiler/level-options.ts';
import { measureLevel } from '../../../profiler/measure-level.ts';
import type { Measurement } from '../../../profiler/measurement.ts';
import { measureWorkloads } from '../../../profiler/workloads/measure-workloads.ts';
import type { StudySpec } from '../../../spec/study-spec.ts';
import type { TlsOptions } from '../../../triton/wire/tls.ts';
import type { MeasureOptions, MeasurePurpose } from '../../../tuner/adapter.ts';
import { languageWindows } from '../../profile/language-windows.ts';
import { devicesOf } from '../../server/devices.ts';
import { type FoundEndpoint, findEndpoint } from '../../server/find-endpoint.ts';
import { type LanguageTraffic, openLanguageTraffic } from '../../traffic/open-language.ts';
import { promptsOf } from '../../traffic/prompts.ts';
import { rateSchedule } from '../../traffic/schedule.ts';
import { type AskedWorkload, askedWorkloads } from '../workloads/language-workloads.ts';
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

/** The requests, and when they come. */
type Asked = Pick<LevelOptions, 'requests' | 'limits'> & Required<Pick<LevelOptions, 'scheduleAt'>>;

interface Asking {
  readonly address: string;
  /** Milliseconds that a request may take. */
  readonly timeoutMs: number;
  readonly traffic: LanguageTraffic;
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
  const played = workloads && (await askedWorkloads(spec, workloads));
  const evenly: Asked = {
    requests: played?.search[0]?.requests ?? (await promptsOf(spec.prompts ?? {}, { model, seed })).requests,
    limits: goal.goodput,
    scheduleAt: (perSecond) => rateSchedule({ requestDistribution: levels.requestDistribution, seed }, perSecond),
  };
  const asked = server.endpoint ?? 'openai';
  let found: FoundEndpoint | null = null;
  let asking: Asking | null = null;
  let slowestMs: number | null = null;

  async function close(): Promise<void> {
    await asking?.traffic.close();
    asking = null;
  }

  /** Returns the traffic to the current server. Each start of a server has another address. */
  async function trafficTo({ address, headers, tls }: LanguageServer): Promise<Asking> {
    const timeoutMs = requestLimitMs(slowestMs);
    if (asking?.address === address && isNear(asking.timeoutMs, timeoutMs)) return asking;
    await close();
    const where = { address, host: address, basePath: '', headers, tls };
    found ??= await findEndpoint({
      ...where,
      asked,
      model,
      modelVersion: '',
      path: undefined,
      timeoutMs,
      extra: undefined,
    });
    const { endpoint } = found;
    const traffic = await openLanguageTraffic({ ...where, model, endpoint, timeoutMs }, evenly.requests, client);
    asking = { address, timeoutMs, traffic };
    return asking;
  }

  async function measureAsked(
    isFresh: boolean,
    level: LoadLevel,
    { signal, onProgress, budgetMs, purpose, untilNs }: MeasureOptions,
    { requests, limits, scheduleAt }: Asked,
  ): Promise<Measurement> {
    const now = serving();
    const { traffic, timeoutMs } = await trafficTo(now);
    const devices = devicesOf({ server: { url: now.address, emulated: null } }, model);
    try {
      const measured = await measureLevel({
        ...traffic.threads,
        ...{ alarm: traffic.alarm, requests, level, stats: null },
        ...{ clock: realClock, signal, onProgress, maxErrors: client.maxErrors },
        ...{ percentile: goal.percentile, precision: measurement.precisionPercent / 100 },
        ...(budgetMs !== undefined && { budgetMs }),
        ...{ limits, scheduleAt, isFresh, untilNs },
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
      });
      if (measured.latencyMs.max > (slowestMs ?? 0)) slowestMs = measured.latencyMs.max;
      return measured;
    } finally {
      await devices.close();
    }
  }

  return {
    measure: ({ change }, level, options) => {
      const isFresh = change !== 'none';
      if (!played) return measureAsked(isFresh, level, options, evenly);
      const now = options.purpose === undefined ? played.final : played.search;
      return measureWorkloads(played.rule, level, now, (place, own) => {
        const { name, requests, limits, partAt } = now[place] as AskedWorkload;
        const onProgress: MeasureOptions['onProgress'] = (progress) =>
          options.onProgress(now.length > 1 ? { ...progress, workload: name } : progress);
        const scheduleAt = (perSecond: number): Schedule => ({ kind: 'arrivals', plan: partAt(perSecond) });
        return measureAsked(isFresh && place === 0, own, { ...options, onProgress }, { requests, limits, scheduleAt });
      });
    },
    close,
  };
}
