import { type Alarm, sleepingAlarm } from '#base/alarm.ts';
import type { Clock } from '#base/clock.ts';
import { TrituneError } from '#base/errors.ts';
import type { RequestLimits } from '#queueing/continuous/request-limits.ts';
import { ClosedLoop } from './closed-loop.ts';
import { Conversations } from './conversations.ts';
import { defaultOpenLoopRule, OpenLoop, type OpenLoopRule, type SendTally, type Throttle } from './open-loop.ts';
import { computeShare, type Part, whole } from './paced-part.ts';
import { createPacer, dealt, limited, type Schedule } from './pacers.ts';
import type { Recorder } from './recorder.ts';
import { requestTurns } from './request-turns.ts';
import { partOfRule, type SequenceRule, Sequences } from './sequences.ts';
import type { LoadLevel, RequestSet, Transport } from './types.ts';

/** The load of one level, in a form that can be sent to another thread. */
export interface SendOrder {
  readonly requests: RequestSet;
  /** For models that keep state between requests; if absent, requests are independent. */
  readonly sequences?: SequenceRule | undefined;
  readonly level: LoadLevel;
  /** For request rates: when requests are due; evenly spaced if absent. */
  readonly schedule?: Schedule | undefined;
  /** For request rates: the cap on requests in flight, and the definition of a late request. */
  readonly openLoop?: Partial<OpenLoopRule> | undefined;
  /** The maximum number of requests in total; if absent, traffic continues until it is drained. */
  readonly mostRequests?: number | undefined;
  /**
   * Limits of a good request whose class has none of its own. Without any limits, good requests are
   * not counted.
   */
  readonly limits?: RequestLimits | undefined;
}

/** What an order is sent with. */
export interface SendMeans {
  readonly transport: Transport;
  readonly clock: Clock;
  /**
   * For request rates: wakes the sender. If absent, `clock` does, with an accuracy of a millisecond
   * or two in real time.
   */
  readonly alarm?: Alarm | undefined;
  /** For request rates: limits them. */
  readonly throttle?: Throttle | undefined;
}

/** Sends at a load level, in either mode. */
export interface LevelSender {
  /** `startNs`: start of the schedule, for senders that share one; now if absent. */
  start(startNs?: number): void;
  /** Requests sent since the start. */
  readonly sent: number;
  readonly mostInFlight: number;
  /** Requests that were due since the start, sent or not; null if requests have no due time. */
  readonly due: number | null;
  /** Takes the outcome of the requests that were due since the last call; null in a closed loop. */
  takeTally(): SendTally | null;
  drain(limitMs: number): Promise<number>;
}

/**
 * Returns a closed loop for a concurrency and an open loop for a request rate; sequences and
 * conversations wrap the requests of either. With a part it sends only that part's share: all parts
 * together send exactly the order.
 */
export function createSender(order: SendOrder, means: SendMeans, recorder: Recorder, part: Part = whole): LevelSender {
  checkClasses(order);
  if (order.requests.holdsConversations) {
    const conversations = new Conversations(means.transport, order.requests, means.clock, part);
    return createLoop(order, { ...means, transport: conversations }, recorder, part);
  }
  if (!order.sequences) return createLoop(order, means, recorder, part);
  const sequences = new Sequences(means.transport, order.requests, partOfRule(order.sequences, part));
  const loop = createLoop(order, { ...means, transport: sequences }, recorder, part);
  return {
    start: (startNs) => loop.start(startNs),
    get sent() {
      return loop.sent;
    },
    get mostInFlight() {
      return loop.mostInFlight;
    },
    get due() {
      return loop.due;
    },
    takeTally: () => loop.takeTally(),
    drain: async (limitMs) => {
      const [left] = await Promise.all([loop.drain(limitMs), sequences.finish(limitMs, means.clock)]);
      return left;
    },
  };
}

/**
 * Errors: UNSUPPORTED for classes of requests that follow each other in streams, because the plan
 * could not decide which one is sent.
 */
function checkClasses({ sequences, requests: { model, classes = [], holdsConversations } }: SendOrder): void {
  if (classes.length < 2 || !(sequences || holdsConversations)) return;
  throw new TrituneError(
    'UNSUPPORTED',
    `'${model}' gets sequences or conversations, which can have one class only`,
    'keep one class for this model in the workload file',
  );
}

function createLoop(order: SendOrder, means: SendMeans, recorder: Recorder, part: Part): LevelSender {
  return order.level.mode === 'concurrency'
    ? closedLoop(order, means, recorder, part)
    : openLoop(order, means, recorder, part);
}

function closedLoop(order: SendOrder, { transport, clock }: SendMeans, recorder: Recorder, part: Part): LevelSender {
  const { requests, level, mostRequests = Number.POSITIVE_INFINITY } = order;
  const most = Number.isFinite(mostRequests) ? computeShare(mostRequests, part) : mostRequests;
  const loop = new ClosedLoop(transport, requestTurns(transport, requests, part), recorder, clock, most);
  const concurrency = computeShare(level.value, part);
  return {
    start: (startNs = clock.nowNs()) => loop.startAt(startNs, concurrency),
    get sent() {
      return loop.sent;
    },
    mostInFlight: concurrency,
    due: null,
    takeTally: () => null,
    drain: (limitMs) => loop.drain(limitMs),
  };
}

function openLoop(order: SendOrder, means: SendMeans, recorder: Recorder, part: Part): LevelSender {
  const { requests, level, mostRequests = Number.POSITIVE_INFINITY } = order;
  const { transport, clock, alarm = sleepingAlarm(clock) } = means;
  const { maxInFlight, lateNs } = { ...defaultOpenLoopRule, ...order.openLoop };
  const schedule = order.schedule ?? { kind: 'constant' as const, perSecond: level.value };
  const pacer = limited(createPacer(schedule), { requests: mostRequests });
  const plan = schedule.kind === 'arrivals' ? schedule.plan : undefined;
  return new OpenLoop(
    { transport, recorder, ...requestTurns(transport, requests, part, plan) },
    { clock, alarm },
    dealt(pacer, part),
    { maxInFlight: computeShare(maxInFlight, part), lateNs },
    means.throttle,
  );
}
