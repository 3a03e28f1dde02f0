import { sleepingAlarm } from '../loadgen/alarm.ts';
import { ClosedLoop } from '../loadgen/closed-loop.ts';
import { defaultOpenLoopRule, OpenLoop, type SendTally } from '../loadgen/open-loop.ts';
import { constantRate } from '../loadgen/pacers.ts';
import type { Recorder } from '../loadgen/recorder.ts';
import { requestCycle } from '../loadgen/request-cycle.ts';
import { Sequences } from '../loadgen/sequences.ts';
import type { LevelOptions } from './level-options.ts';

/** What sends at a load level, whatever its mode. */
export interface Sender {
  start(): void;
  /** Requests sent since the start. */
  readonly sent: number;
  readonly mostInFlight: number;
  /** Requests that were due since the start, sent or not; null where none is ever due at a time. */
  readonly due: number | null;
  /** What became of the requests that were due since it was last asked; null where none is ever due at a time. */
  takeTally(): SendTally | null;
  drain(limitMs: number): Promise<number>;
}

/** Concurrency is a closed loop, a request rate an open one; sequences are made of what either sends. */
export function senderAt(options: LevelOptions, recorder: Recorder): Sender {
  const { sequences: rule, transport, requests, clock } = options;
  if (!rule) return loopAt(options, recorder);
  const sequences = new Sequences(transport, requests, rule);
  const loop = loopAt({ ...options, transport: sequences }, recorder);
  return {
    start: () => loop.start(),
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
      const [left] = await Promise.all([loop.drain(limitMs), sequences.finish(limitMs, clock)]);
      return left;
    },
  };
}

const loopAt = (options: LevelOptions, recorder: Recorder): Sender =>
  options.level.mode === 'concurrency' ? closedLoop(options, recorder) : openLoop(options, recorder);

function closedLoop({ transport, requests, clock, level }: LevelOptions, recorder: Recorder): Sender {
  const loop = new ClosedLoop(transport, requestCycle(transport, requests), recorder, clock);
  return {
    start: () => loop.setConcurrency(level.value),
    get sent() {
      return loop.sent;
    },
    mostInFlight: level.value,
    due: null,
    takeTally: () => null,
    drain: (limitMs) => loop.drain(limitMs),
  };
}

function openLoop(options: LevelOptions, recorder: Recorder): Sender {
  const { transport, requests, clock, level, alarm = sleepingAlarm(clock), pacerAt = constantRate } = options;
  return new OpenLoop(
    { transport, nextRequest: requestCycle(transport, requests), recorder },
    { clock, alarm },
    pacerAt(level.value),
    { ...defaultOpenLoopRule, ...options.openLoop },
  );
}
