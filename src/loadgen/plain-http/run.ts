import type { Alarm } from '../../base/alarm.ts';
import type { Clock } from '../../base/clock.ts';
import { msToNs, NS_PER_MS, NS_PER_S, nsToMs } from '../../base/units.ts';
import { LatencyHistogram } from '../../stats/histogram.ts';
import { ClosedLoop } from '../closed-loop.ts';
import { defaultOpenLoopRule, OpenLoop, type SendTally } from '../pacing/open-loop.ts';
import { constantRate, limited, type Pacer } from '../pacing/pacers.ts';
import { type Batch, type FailureTally, Recorder } from '../recorder.ts';
import { openPlainHttp, type PlainHttpOptions, type PlainHttpRequest } from './plain-http.ts';
import { ReplyTally } from './tally.ts';

const LOOK_MS = 50;
/** Requests end at their timeout by themselves, and sweeps for it are a little late. */
const DRAIN_MARGIN_MS = 1000;
const INTERRUPTED_DRAIN_MS = 500;
/** Time with every connection refused or cut after which the server counts as gone. */
const UNREACHABLE_NS = 3 * NS_PER_S;

/** The extent of a run: a number of requests, a duration, or the first of both. */
export interface PlainHttpLoad {
  /** In flight; beside a rate the most that may be, where more are due they are not sent. */
  readonly concurrency: number | undefined;
  /** Requests per second, whatever the replies do. */
  readonly perSecond: number | undefined;
  readonly pacerAt?: (perSecond: number) => Pacer;
  readonly requests: number | undefined;
  readonly durationMs: number | undefined;
}

export interface PlainHttpFigures {
  /** From the first sending until the last reply or failure. */
  readonly totalNs: number;
  /** Latencies of replies of any status; with a rate from the time that each was due, else from its sending. */
  readonly latencies: LatencyHistogram;
  readonly fromSending: LatencyHistogram;
  readonly replies: ReplyTally;
  /** Requests without a reply. */
  readonly failures: readonly FailureTally[];
  /** The fate of the requests of a rate; null without one. */
  readonly sends: SendTally | null;
  readonly ended: 'done' | 'interrupted' | 'unreachable';
}

export interface PlainHttpTime {
  readonly clock: Clock;
  /** Wakes the sender of a rate. */
  readonly alarm: Alarm;
  readonly signal: AbortSignal;
}

/** Sends the request as the load says and gives what came back. Every request that was sent is waited for, up to its timeout. */
export async function measurePlainHttp(
  options: PlainHttpOptions,
  request: PlainHttpRequest,
  load: PlainHttpLoad,
  { clock, alarm, signal }: PlainHttpTime,
): Promise<PlainHttpFigures> {
  const replies = new ReplyTally();
  const sender = openPlainHttp(options, request, replies);
  const recorder = new Recorder();
  let whole: Batch | undefined;
  try {
    const end = new End(load);
    const loop =
      load.perSecond === undefined
        ? closedLoop(load, sender, recorder, clock, end)
        : openLoop(load, load.perSecond, sender, recorder, { clock, alarm }, end);
    if (load.perSecond !== undefined) await firstWakeUp(alarm);
    const startNs = clock.nowNs();
    const keep = (batch: Batch): void => {
      whole = batch;
    };
    recorder.start({ lengthNs: Number.POSITIVE_INFINITY, minRequests: 1 }, keep, startNs);
    loop.start();
    const ended = await end.wait(clock, signal, recorder);
    await loop.drain(ended === 'done' ? options.timeoutMs + DRAIN_MARGIN_MS : INTERRUPTED_DRAIN_MS);
    const endNs = clock.nowNs();
    recorder.closeNow(endNs);
    recorder.stop();
    const fromSending = whole?.latencies ?? new LatencyHistogram();
    return {
      totalNs: endNs - startNs,
      latencies: whole?.fromDue ?? fromSending,
      fromSending,
      replies,
      failures: recorder.failures,
      sends: loop.takeTally(),
      ended,
    };
  } finally {
    await sender.close();
  }
}

/** The alarm's thread takes some tens of milliseconds to come up, in which requests would be late. */
const firstWakeUp = (alarm: Alarm): Promise<void> => new Promise((resolve) => alarm.set(NS_PER_MS, resolve));

interface Loop {
  start(): void;
  drain(limitMs: number): Promise<number>;
  takeTally(): SendTally | null;
}

type Sender = ReturnType<typeof openPlainHttp>;

function closedLoop(
  { concurrency = 1, requests = Number.POSITIVE_INFINITY }: PlainHttpLoad,
  sender: Sender,
  recorder: Recorder,
  clock: Clock,
  end: End,
): Loop {
  let left = requests;
  const nextRequest = (): Sender['request'] => {
    left--;
    if (left === 0) {
      loop.setConcurrency(0);
      end.allSent();
    }
    return sender.request;
  };
  const loop = new ClosedLoop(sender, nextRequest, recorder, clock);
  return {
    start: () => loop.setConcurrency(Math.min(concurrency, requests)),
    drain: (limitMs) => loop.drain(limitMs),
    takeTally: () => null,
  };
}

function openLoop(
  { concurrency, requests, durationMs, pacerAt = constantRate }: PlainHttpLoad,
  perSecond: number,
  sender: Sender,
  recorder: Recorder,
  time: { readonly clock: Clock; readonly alarm: Alarm },
  end: End,
): Loop {
  const limit = {
    ...(requests !== undefined && { requests }),
    ...(durationMs !== undefined && { durationNs: msToNs(durationMs) }),
  };
  const schedule = limited(pacerAt(perSecond), limit);
  const pacer: Pacer = (elapsedNs, sent) => {
    const next = schedule(elapsedNs, sent);
    if (next === 'stop') end.allSent();
    return next;
  };
  const rule = { ...defaultOpenLoopRule, ...(concurrency !== undefined && { maxInFlight: concurrency }) };
  return new OpenLoop({ transport: sender, nextRequest: () => sender.request, recorder }, time, pacer, rule);
}

/** When sending is over. */
class End {
  readonly #durationNs: number;
  readonly #sent: Promise<void>;
  #isOver = false;
  allSent: () => void = () => undefined;

  constructor({ durationMs = Number.POSITIVE_INFINITY }: PlainHttpLoad) {
    this.#durationNs = msToNs(durationMs);
    this.#sent = new Promise((resolve) => {
      this.allSent = () => {
        this.#isOver = true;
        resolve();
      };
    });
  }

  async wait(clock: Clock, signal: AbortSignal, recorder: Recorder): Promise<PlainHttpFigures['ended']> {
    const startNs = clock.nowNs();
    while (!this.#isOver) {
      const nowNs = clock.nowNs();
      const leftMs = nsToMs(this.#durationNs - (nowNs - startNs));
      if (leftMs <= 0) break;
      if (recorder.unserved !== null && nowNs - recorder.unserved.sinceNs >= UNREACHABLE_NS) return 'unreachable';
      const look = clock.sleep(Math.min(leftMs, LOOK_MS), signal).catch(() => undefined);
      await Promise.race([this.#sent, look]);
      if (signal.aborted) return 'interrupted';
    }
    return 'done';
  }
}
