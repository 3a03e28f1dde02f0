import type { Clock } from '../../../base/clock.ts';
import type { ModelConfig } from '../../../triton/config/model-config.ts';
import type { ModelControl, ServerHealth } from '../../../triton/types.ts';

export type ControlClient = ModelControl & Pick<ServerHealth, 'modelReady'>;

/** A model as it was before the study, by an earlier run of it too; one that was not loaded then is unloaded at the end. */
export interface OriginalState {
  readonly model: string;
  readonly config: ModelConfig;
  readonly wasLoaded: boolean;
}

/** How one model is loaded and put back. */
export interface LoadOptions {
  readonly clock: Clock;
  /** `config` sends the original config again, without an outage. `reload` unloads and loads from the repository, so that nothing of an override remains. */
  readonly restore: 'config' | 'reload';
  /** How long one load may take. */
  readonly loadTimeoutMs: number;
  /** How long a loaded model may take to become ready, and an unloaded one to go. */
  readonly settleTimeoutMs: number;
  /** No earlier run of the study has changed the model: until this one does, a config other than the original comes from another client. */
  readonly isNewStudy?: boolean;
  /** A candidate that does not fit beside what is served may have it unloaded first: nobody else uses it. */
  readonly mayUnload?: boolean;
  /** A run that was killed may have left a load under way, which swaps the model when it ends. */
  readonly mayBeLoading?: boolean;
}
