import type { Clock } from '../base/clock.ts';
import type { Alarm } from '../loadgen/alarm.ts';
import type { OpenLoopRule } from '../loadgen/open-loop.ts';
import type { Pacer } from '../loadgen/pacers.ts';
import type { SequenceRule } from '../loadgen/sequences.ts';
import type { LoadLevel, RequestSet, Transport } from '../loadgen/types.ts';
import type { ServerStats } from '../triton/types.ts';
import type { ClientWatch } from './client-cost.ts';
import type { DeviceProbe } from './device-probe.ts';
import type { ProfileProgress } from './measurement.ts';

/** How long is measured. Windows get longer for slow models, within these bounds. */
export interface WindowRule {
  readonly minWindowMs: number;
  readonly maxWindowMs: number;
  /** No verdict before so many windows, … */
  readonly minWindows: number;
  /** … and none after so many: the measurement then ends as unstable. */
  readonly maxWindows: number;
  /** A window is made long enough for so many requests, within its bounds. */
  readonly minRequests: number;
  readonly maxWarmUpMs: number;
}

export const defaultWindowRule: WindowRule = {
  minWindowMs: 250,
  maxWindowMs: 2000,
  minWindows: 3,
  maxWindows: 10,
  minRequests: 100,
  maxWarmUpMs: 5000,
};

/** ±3 %. */
export const defaultPrecision = 0.03;

export interface LevelOptions {
  readonly transport: Transport;
  readonly requests: RequestSet;
  /** For models that keep state between requests; without it every request stands alone. */
  readonly sequences?: SequenceRule | undefined;
  readonly level: LoadLevel;
  readonly stats: ServerStats;
  readonly clock: Clock;
  readonly signal: AbortSignal;
  /** The percentile that the budget is about, such as 99. */
  readonly percentile: number;
  /** Stop when the 95 % intervals of throughput, and with a budget of the percentile too, are within ± this share. */
  readonly precision?: number;
  /**
   * A latency budget in milliseconds; when given, the measurement ends early once the percentile is clearly above it, or
   * clearly below it with the throughput precise.
   */
  readonly budgetMs?: number;
  readonly windows?: Partial<WindowRule>;
  /** Instances of the model, each of which must have served before anything is counted. */
  readonly instances?: number;
  /** The least length of the warm-up: what the server still has to do after a load. Default 0. */
  readonly settleMs?: number;
  readonly onProgress?: (progress: ProfileProgress) => void;
  readonly deviceProbe?: DeviceProbe;
  /** For request rates: when requests are due; evenly spaced when not given. */
  readonly pacerAt?: (perSecond: number) => Pacer;
  /** For request rates: what wakes the sender. When not given, `clock` does, in real time good to a millisecond or two. */
  readonly alarm?: Alarm;
  /** For request rates: the cap of requests in flight, and what counts as late. */
  readonly openLoop?: Partial<OpenLoopRule>;
  /** What watches the load generator itself; this process when not given. */
  readonly watchClient?: () => ClientWatch;
  /** Requests per second that the client reaches against a server that does nothing; asked for only when it matters. */
  readonly clientCeiling?: () => Promise<number | null>;
  /** How long to wait for requests in flight at the end. */
  readonly drainMs?: number;
  /** After so long with every connection refused or cut, the server counts as gone. */
  readonly unreachableMs?: number;
}
