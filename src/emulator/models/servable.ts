import type { ExecutionSplit } from '#queueing/service-law.ts';
import type { ModelConfig } from '#triton/config/model-config.ts';
import type { Placement } from '../scheduling/placement.ts';
import type { SequenceMark } from '../scheduling/sequence-mark.ts';
import type { WarmUp } from '../scheduling/warm-up.ts';
import type { ModelSignature, TextCall } from '../wire/infer-call.ts';
import type { ProtocolFailure } from '../wire/protocol-failure.ts';
import type { AnswerCache } from './answer-cache.ts';
import type { VersionStatistics } from './version-statistics.ts';

/** One request on its way through a model. */
export interface Job {
  /** The request's own id, for messages; '' without one. */
  readonly id: string;
  readonly samples: number;
  readonly sequence: SequenceMark | null;
  /** For a language model: the text to answer. */
  readonly text?: TextCall | undefined;
  /** Called for each response of a decoupled model; a language model's holds a text. */
  respond?(text?: string): void;
  /** Called after the last response. `compute`: the execution that served it, if any. */
  done(failure: ProtocolFailure | null, compute: ExecutionSplit | null): void;
}

/** A loaded version of a model that takes requests. */
export interface Servable {
  readonly model: string;
  readonly version: string;
  readonly config: ModelConfig;
  readonly signature: ModelSignature;
  readonly statistics: VersionStatistics;
  /** True: any number of responses per request, on streams only. */
  readonly isDecoupled: boolean;
  /** Filled by the front ends. */
  readonly encoded: AnswerCache;
  /** Requests that are not executing yet. */
  readonly waitingRequests: number;
  /** Throws a ProtocolFailure if the request cannot be accepted; then never calls `job`. */
  submit(job: Job): void;
  /**
   * Changes instances in place from `before`: statistics and remaining instances stay; added
   * instances have warmed up.
   */
  setInstances(placement: Placement, before: number, warmUp: WarmUp): void;
  /** Resolves once nothing is queued or executing. */
  drained(): Promise<void>;
}

/** True if a model with this config may answer a request any number of times. */
export const isDecoupledConfig = ({ model_transaction_policy: policy }: ModelConfig): boolean =>
  (policy as { readonly decoupled?: boolean } | undefined)?.decoupled === true;
