import type { ExecutionSplit } from '../../queueing/service-law.ts';
import type { ModelConfig } from '../../triton/config/model-config.ts';
import type { Placement } from '../scheduling/placement.ts';
import type { SequenceMark } from '../scheduling/sequence-mark.ts';
import type { WarmUp } from '../scheduling/warm-up.ts';
import type { ModelSignature, TextCall } from '../wire/infer-call.ts';
import type { ProtocolFailure } from '../wire/protocol-failure.ts';
import type { AnswerCache } from './answer-cache.ts';
import type { VersionStatistics } from './version-statistics.ts';

/** One request on its way through a model. */
export interface Job {
  /** The request's own, for messages; '' without one. */
  readonly id: string;
  readonly samples: number;
  readonly sequence: SequenceMark | null;
  /** For a language model: what it is to answer. */
  readonly text?: TextCall | undefined;
  /** A decoupled model has one of its responses; a language model's holds a text. */
  respond?(text?: string): void;
  /** No more will come. `compute`: the execution that served it, when there was one. */
  done(failure: ProtocolFailure | null, compute: ExecutionSplit | null): void;
}

/** A loaded version of a model that takes requests. */
export interface Servable {
  readonly model: string;
  readonly version: string;
  readonly config: ModelConfig;
  readonly signature: ModelSignature;
  readonly statistics: VersionStatistics;
  /** True: any number of responses to a request, on streams only. */
  readonly isDecoupled: boolean;
  /** The front ends fill it. */
  readonly encoded: AnswerCache;
  /** Requests that are not executing yet. */
  readonly waitingRequests: number;
  /** Throws a ProtocolFailure when the request cannot be taken; `job` is never called then. */
  submit(job: Job): void;
  /** Changes instances in place from `before` of them: statistics stay, and so do the instances that remain; those that are added have warmed up. */
  setInstances(placement: Placement, before: number, warmUp: WarmUp): void;
  /** Resolves when nothing is queued or executing any more. */
  drained(): Promise<void>;
}

/** Whether a model with this config may answer a request any number of times. */
export const isDecoupledConfig = ({ model_transaction_policy: policy }: ModelConfig): boolean =>
  (policy as { readonly decoupled?: boolean } | undefined)?.decoupled === true;
