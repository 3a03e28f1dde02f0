import type { Candidate, ParameterValue } from '../space/types.ts';
import type { ServerAdapter } from '../tuner/adapter.ts';

/** How a study measures. */
export interface MeasuringRule {
  /** The percentile that the goal is about, such as 99. */
  readonly percentile: number;
  /** Half-width of the 95 % intervals that ends a measurement, as a share. */
  readonly precision: number;
  /** Requests in flight at most, whatever the level. */
  readonly maxInFlight?: number;
}

/** An adapter that is open, and the settings that its candidates are made of. */
export interface OpenedAdapter {
  readonly adapter: ServerAdapter;
  /** The values of each setting, in the order in which they are tried. */
  readonly settings: Readonly<Record<string, readonly ParameterValue[]>>;
  /** Lets go of what the adapter holds. */
  close(): Promise<void>;
}

/** A kind of server that tritune itself does not know. */
export interface AdapterDefinition {
  /** Stands in journals; a study goes on with the adapter of the same name. */
  readonly name: string;
  /**
   * Opens the server for one study. `original`: what the server had before the first change, where an earlier run of the
   * study may have left it changed; it is what is put back. Errors: SERVER_*.
   */
  open(rule: MeasuringRule, original?: Candidate): Promise<OpenedAdapter>;
}
