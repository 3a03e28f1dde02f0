import type { Clock } from '#base/clock.ts';
import type { ModelConfig } from '#triton/config/model-config.ts';
import type { RunMark } from '#triton/config/run-mark.ts';
import type { ModelControl, ServerHealth } from '#triton/types.ts';

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
  /** Absent if TensorRT's engines are not kept between loads. */
  readonly engines?: KeptEngines;
}

/** Where TensorRT's engines stay between the loads of a run (`withEngineCache`). */
export interface KeptEngines {
  /** What names their directory, and nobody can guess. */
  readonly secret: string;
  /** Removes such a directory; absent if it is on another machine. Errors: the system's. */
  readonly remove?: (directory: string) => Promise<void>;
}
