import type { JsonObject } from '../base/json.ts';
import type { Narrowing } from '../space/narrowing.ts';
import type { Candidate, ParameterValue } from '../space/types.ts';
import type { SpaceView } from '../study/search/samplers/space-view.ts';
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

/** An adapter that is open, and what its candidates are made of. */
export interface OpenedAdapter {
  readonly adapter: ServerAdapter;
  /** The values of each setting, in the order in which they are tried; any go together that the adapter builds. */
  readonly settings: Readonly<Record<string, readonly ParameterValue[]>>;
  /** In place of settings. */
  readonly space?: AdapterSpace;
  /** The server was started for this study alone. */
  readonly isOwn?: true;
  /** Lets go of what the adapter holds. */
  close(): Promise<void>;
}

/** A search space over the adapter's original. */
export interface AdapterSpace {
  /** For the journal. */
  readonly definition: JsonObject;
  /** Legal assignments; Infinity where there are more than are counted. */
  readonly size: number;
  /** The most samples, or sequences, that a candidate executes at once. */
  readonly places: number;
  view(narrowing: Narrowing): SpaceView;
}

/** A kind of server that tritune itself does not know. */
export interface AdapterDefinition {
  /** Stands in journals; a study goes on with the adapter of the same name. */
  readonly name: string;
  /**
   * Opens the server for one study. `original`: what the server had before the first change, where an earlier run of the
   * study may have left it changed; it is what is put back. `directory`: the study's, for logs. Errors: SERVER_*.
   */
  open(rule: MeasuringRule, original?: Candidate, directory?: string): Promise<OpenedAdapter>;
}
