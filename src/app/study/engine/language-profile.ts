import type { EngineProfile } from '../../../adapter/engine/adapter.ts';
import { shorterWindows } from '../../../adapter/triton/profile.ts';
import { realClock } from '../../../base/clock.ts';
import type { RequestHeader } from '../../../loadgen/types.ts';
import { engineProbe } from '../../../profiler/devices/engine-metrics.ts';
import type { WindowRule } from '../../../profiler/level-options.ts';
import { measureLevel } from '../../../profiler/measure-level.ts';
import type { StudySpec } from '../../../spec/study-spec.ts';
import type { TlsOptions } from '../../../triton/wire/tls.ts';
import type { MeasurePurpose } from '../../../tuner/adapter.ts';
import { languageWindows } from '../../profile/language-windows.ts';
import { devicesOf } from '../../server/devices.ts';
import { type FoundEndpoint, findEndpoint } from '../../server/find-endpoint.ts';
import { type LanguageTraffic, openLanguageTraffic } from '../../traffic/open-language.ts';
import { promptsOf } from '../../traffic/prompts.ts';
import { rateSchedule } from '../../traffic/schedule.ts';
import { requestLimitMs } from './request-limit.ts';

/** Where a language model is asked at the moment. */
export interface LanguageServer {
  /** HOST:PORT */
  readonly address: string;
  readonly headers: readonly RequestHeader[];
  readonly tls?: TlsOptions | undefined;
  /** The Prometheus page of its engine; undefined where there is none. */
  readonly metricsUrl?: string | undefined;
}

const MOST_IN_FLIGHT = 4096;

/** A trial is measured at several levels, and the final measures the best again. */
const windowsOf = (purpose: MeasurePurpose | undefined): Partial<WindowRule> => ({
  ...languageWindows,
  maxVoidWindows: 1,
  maxWindows: purpose === undefined ? 6 : (shorterWindows[purpose].maxWindows ?? 3),
});

/** Connections are not reopened for less. */
const isNear = (a: number, b: number): boolean => Math.max(a, b) <= 2 * Math.min(a, b);

interface Asking {
  readonly address: string;
  /** How long a request may take. */
  readonly timeoutMs: number;
  readonly traffic: LanguageTraffic;
}

/**
 * Measures a language model with prompts, at the server that `serving` names at that moment. Errors: USAGE, INPUT_INVALID for prompts that cannot be
 * had; of its `measure`: SERVER_*, MODEL_UNKNOWN, INTERRUPTED.
 */
export async function languageProfile(
  { model, seed, prompts: promptSpec = {}, server, goal, levels, measurement, traffic: client }: StudySpec,
  serving: () => LanguageServer,
): Promise<EngineProfile> {
  const prompts = await promptsOf(promptSpec, { model, seed });
  const asked = server.endpoint ?? 'openai';
  let found: FoundEndpoint | null = null;
  let asking: Asking | null = null;
  let slowestMs: number | null = null;

  async function close(): Promise<void> {
    await asking?.traffic.close();
    asking = null;
  }

  /** What sends to the server that serves now: each start of one has another address. */
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
    const traffic = await openLanguageTraffic({ ...where, model, endpoint, timeoutMs }, prompts.requests, client);
    asking = { address, timeoutMs, traffic };
    return asking;
  }

  return {
    measure: async (applied, level, { signal, onProgress, budgetMs, purpose }) => {
      const now = serving();
      const { traffic, timeoutMs } = await trafficTo(now);
      const devices = devicesOf({ server: { url: now.address, emulated: null } }, model);
      try {
        const measured = await measureLevel({
          ...traffic.threads,
          ...{ alarm: traffic.alarm, requests: prompts.requests, level, stats: null },
          ...{ clock: realClock, signal, onProgress, maxErrors: client.maxErrors },
          ...{ percentile: goal.percentile, precision: measurement.precisionPercent / 100 },
          ...(budgetMs !== undefined && { budgetMs }),
          limits: goal.goodput,
          windows: windowsOf(purpose),
          maxInFlight: MOST_IN_FLIGHT,
          isFresh: applied.change !== 'none',
          // Nothing of one level is left in the server when the next begins.
          drainMs: timeoutMs,
          scheduleAt: (perSecond) => rateSchedule({ requestDistribution: levels.requestDistribution, seed }, perSecond),
          deviceProbe: devices.probe,
          ...(devices.hostWorkUs && { hostWorkUs: devices.hostWorkUs }),
          engineProbe: now.metricsUrl === undefined ? undefined : engineProbe(now.metricsUrl, model, now.tls),
        });
        if (measured.latencyMs.max > (slowestMs ?? 0)) slowestMs = measured.latencyMs.max;
        return measured;
      } finally {
        await devices.close();
      }
    },
    close,
  };
}
