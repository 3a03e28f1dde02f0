import type { Faults } from './faults.ts';
import { checkedBatch, type InferCall } from './infer-call.ts';
import type { ModelRepository } from './model-repository.ts';
import { asProtocolFailure, ProtocolFailure } from './protocol-failure.ts';
import type { ServedVersion } from './served-version.ts';

/** How one infer call ends; `dropped`: no answer, the connection is to be cut. */
export type InferOutcome =
  | { readonly kind: 'answered'; readonly served: ServedVersion; readonly batch: number }
  | { readonly kind: 'failed'; readonly failure: ProtocolFailure }
  | { readonly kind: 'dropped' };

/** Checks a call and runs it through its model; `done` is called once, possibly before this returns. */
export function runInfer(
  repository: ModelRepository,
  faults: Faults,
  call: InferCall,
  done: (outcome: InferOutcome) => void,
): void {
  if (faults.dropConnection?.()) {
    done({ kind: 'dropped' });
    return;
  }
  let served: ServedVersion;
  let batch: number;
  try {
    const fault = faults.failInfer?.() ?? null;
    if (fault) throw new ProtocolFailure(fault.status, fault.message);
    served = repository.serving(call.model, call.version);
    batch = checkedBatch(served.signature, call);
  } catch (error) {
    done({ kind: 'failed', failure: asProtocolFailure(error) });
    return;
  }
  served.submit(batch, (failure) => {
    done(failure ? { kind: 'failed', failure } : { kind: 'answered', served, batch });
  });
}
