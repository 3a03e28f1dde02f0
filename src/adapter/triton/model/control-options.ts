import type { Clock } from '../../../base/clock.ts';
import type { ModelConfig } from '../../../triton/config/model-config.ts';
import type { RunMark } from '../../../triton/config/run-mark.ts';
import type { ModelControl, ServerHealth } from '../../../triton/types.ts';

export type ControlClient = ModelControl & Pick<ServerHealth, 'modelReady'>;

/**
 * A model's state before the study, including its earlier runs; a model that was not loaded then is
 * unloaded at the end.
 */
export interface OriginalState {
  readonly model: string;
  readonly config: ModelConfig;
  readonly wasLoaded: boolean;
}

/** How to load one model and restore it. */
export interface ModelLoadOptions {
  readonly clock: Clock;
  /**
   * `config` sends the original config again, without an outage. `reload` unloads and loads from
   * the repository, so that nothing of an override remains.
   */
  readonly restore: 'config' | 'reload';
  /** Time limit of one load. */
  readonly loadTimeoutMs: number;
  /** Time limit for a loaded model to become ready, and for an unloaded one to disappear. */
  readonly settleTimeoutMs: number;
  /**
   * No earlier run of the study has changed the model: until this one does, any config other than
   * the original comes from another client.
   */
  readonly isNewStudy?: boolean;
  /**
   * If a candidate does not fit into memory besides the served model, the latter may be unloaded
   * first: nobody else uses it.
   */
  readonly mayUnload?: boolean;
  /** A killed run may have left a load in progress, which swaps the model when it ends. */
  readonly mayBeLoading?: boolean;
  /** Marks configs that this run sends, for other machines, if it is killed. */
  readonly mark?: RunMark;
  /** The run whose TensorRT engines the server's machine keeps, if any. */
  readonly engines?: KeptEngines;
}

/** Where TensorRT's engines stay between the loads of a run (`withEngineCache`). */
export interface KeptEngines {
  /** What no other run has. */
  readonly run: string;
  /**
   * Removes a directory of engines; absent if it lies on another machine, and the person is told.
   */
  readonly remove?: (directory: string) => Promise<void>;
}
