import type { EngineProfile } from '#adapter/engine/adapter.ts';
import { measureUnder, type ProfiledWorkload, type ProfiledWorkloads, playing } from '#adapter/workloads.ts';
import { realClock } from '#base/clock.ts';
import { TrituneError } from '#base/errors.ts';
import { MS_PER_S } from '#base/units.ts';
import type { LoadLevel, RequestHeader, RequestSet } from '#loadgen/types.ts';
import { engineProbe } from '#profiler/devices/engine-metrics.ts';
import type { WindowRule } from '#profiler/level-options.ts';
import type { Measurement } from '#profiler/measurement.ts';
import { play } from '#profiler/play.ts';
import type { StudySpec } from '#spec/study-spec.ts';
import type { TlsOptions } from '#triton/wire/tls.ts';
import type { MeasureOptions, MeasurePurpose } from '#tuner/adapter.ts';
import { listDevices } from '../server/devices.ts';
import { rateSchedule } from '../traffic/schedule.ts';
import type { Sender } from '../traffic/sender.ts';
import { toFirstAnswersMs } from './time-limits.ts';

/** The server that a study currently sends to. */
export interface RequestServer {
  /** HOST:PORT */
  readonly address: string;
  readonly headers: readonly RequestHeader[];
  readonly tls?: TlsOptions | undefined;
  /** The Prometheus page of its engine; undefined if it has none. */
  readonly metricsUrl?: string | undefined;
}

/** A workload of requests that are the same for every candidate. */
export interface RequestWorkload extends ProfiledWorkload {
  readonly requests: RequestSet;
}

/** A kind of requests that are the same for every candidate: what a study sends, and how. */
export interface RequestKind {
  /** The requests without workloads. */
  readonly requests: RequestSet;
  readonly workloads: ProfiledWorkloads<RequestWorkload> | undefined;
  /** Returns the rule for the windows of a measurement. */
  windowsFor(purpose: MeasurePurpose | undefined): Partial<WindowRule>;
  /**
   * Returns the milliseconds that a request may take, from the slowest one so far; null if there is
   * none yet.
   */
  timeoutMs(slowestMs: number | null): number;
  /** Opens the threads that measure. Errors: USAGE, AGENT_FAILED, MODEL_UNKNOWN, SERVER_*. */
  open(server: RequestServer, timeoutMs: number): Promise<Sender>;
}

const MAX_IN_FLIGHT = 4096;

/** A smaller change does not justify reopening connections. */
const isNear = (a: number, b: number): boolean => Math.max(a, b) <= 2 * Math.min(a, b);

/** A sender, and what it was opened for. */
interface OpenSender extends Sender {
  readonly address: string;
  readonly timeoutMs: number;
}

/**
 * Returns a profile that sends requests of one kind to the current server from `serving`, under
 * each workload in turn if there are any. Errors: USAGE for an accuracy, which only tensors have;
 * of its `measure`: SERVER_*, MODEL_UNKNOWN, INTERRUPTED.
 */
export function requestProfile(
  { model, seed, goal, levels, measurement, traffic, limits, accuracy }: StudySpec,
  serving: () => RequestServer,
  kind: RequestKind,
): EngineProfile {
  if (accuracy !== undefined) {
    const what = '--atol, --rtol, --outside-share and --accuracy-command are for tensors of a Triton model';
    throw new TrituneError('USAGE', what, 'leave them out');
  }
  let open: OpenSender | null = null;
  let slowestMs: number | null = null;

  async function close(): Promise<void> {
    await open?.close();
    open = null;
  }

  /** Each start of a server has another address. */
  async function senderTo(server: RequestServer): Promise<OpenSender> {
    const { requestTimeoutSeconds } = traffic;
    const timeoutMs =
      requestTimeoutSeconds === undefined ? kind.timeoutMs(slowestMs) : requestTimeoutSeconds * MS_PER_S;
    if (open?.address === server.address && isNear(open.timeoutMs, timeoutMs)) return open;
    await close();
    open = { ...(await kind.open(server, timeoutMs)), address: server.address, timeoutMs };
    return open;
  }

  async function measure(
    workload: RequestWorkload | null,
    level: LoadLevel,
    isFresh: boolean,
    { signal, onProgress, budgetMs, purpose, untilNs }: MeasureOptions,
  ): Promise<Measurement> {
    const now = serving();
    const { sending, timeoutMs } = await senderTo(now);
    const devices = listDevices({ server: { url: now.address, emulated: null } }, model);
    try {
      const measured = await play(
        {
          clock: realClock,
          level,
          signal,
          onProgress,
          isFresh,
          untilNs,
          maxErrors: traffic.maxErrors,
          firstAnswersMs: toFirstAnswersMs(limits),
          percentile: goal.percentile,
          precision: measurement.precisionPercent / 100,
          ...(budgetMs !== undefined && { budgetMs }),
          limits: goal.goodput,
          scheduleAt: (perSecond) => rateSchedule({ requestDistribution: levels.requestDistribution, seed }, perSecond),
          ...(workload && playing(workload)),
          windows: kind.windowsFor(purpose),
          maxInFlight: MAX_IN_FLIGHT,
          // Requests left over from one level must not affect the next.
          drainMs: timeoutMs,
          deviceProbe: devices.probe,
          ...(devices.hostWorkUs && { hostWorkUs: devices.hostWorkUs }),
          engineProbe:
            now.metricsUrl === undefined
              ? undefined
              : engineProbe(now.metricsUrl, model, { tls: now.tls, headers: now.headers }),
        },
        [{ ...sending, requests: (workload ?? kind).requests, stats: null }],
      );
      if (measured.latencyMs.max > (slowestMs ?? 0)) slowestMs = measured.latencyMs.max;
      return measured;
    } finally {
      await devices.close();
    }
  }

  return {
    measure: ({ change }, level, options) => measureUnder(kind.workloads, level, change !== 'none', options, measure),
    close,
  };
}
