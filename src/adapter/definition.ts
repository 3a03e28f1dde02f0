import type { JsonObject } from '#base/json.ts';
import type { Narrowing } from '#space/narrowing.ts';
import type { Candidate, ParameterValue } from '#space/types.ts';
import type { SpaceView } from '#study/search/samplers/space-view.ts';
import type { Profile, ServerAdapter } from '#tuner/adapter.ts';

/** How a study measures. */
export interface MeasuringRule {
  /** The percentile of the goal, such as 99. */
  readonly percentile: number;
  /** Relative half-width of the 95 % intervals at which a measurement ends. */
  readonly precision: number;
  /** Maximum number of requests in flight at any level. */
  readonly maxInFlight?: number;
  /** Milliseconds that one request may take; 30,000 if absent. */
  readonly requestTimeoutMs?: number;
  /** Opens the load generator for a server at HOST:PORT, if the study says what to send. */
  readonly profileAt?: (address: string) => Promise<Profile & { close(): Promise<void> }>;
}

/** An open adapter, and what its candidates consist of. */
export interface OpenedAdapter {
  readonly adapter: ServerAdapter;
  /**
   * The values of each setting, in trial order. A combination is legal if the adapter builds it.
   */
  readonly settings: Readonly<Record<string, readonly ParameterValue[]>>;
  /** A search space, instead of settings. */
  readonly space?: AdapterSpace;
  /** True if the server was started for this study only. */
  readonly isOwn?: true;
  /** Releases what the adapter holds. */
  close(): Promise<void>;
}

/** A search space over the adapter's original. */
export interface AdapterSpace {
  /** For the journal. */
  readonly definition: JsonObject;
  /** Number of legal assignments; Infinity if there are too many to count. */
  readonly size: number;
  /** The largest number of samples or sequences that a candidate executes at once. */
  readonly places: number;
  view(narrowing: Narrowing): SpaceView;
}

/** A kind of server that is not built in. */
export interface AdapterDefinition {
  /** Recorded in journals; a study continues with the adapter of the same name. */
  readonly name: string;
  /**
   * Opens the server for one study. `original`: the state to restore, if an earlier run of the
   * study may have left the server changed. `directory`: that of the study, for logs. Errors:
   * SERVER_*.
   */
  open(rule: MeasuringRule, original?: Candidate, directory?: string): Promise<OpenedAdapter>;
}
