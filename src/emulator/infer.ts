import type { Backstage } from './grpc-front.ts';
import { checkedBatch, chosenOutputs, type InferCall } from './infer-call.ts';
import { asProtocolFailure, ProtocolFailure } from './protocol-failure.ts';
import type { ServedVersion } from './served-version.ts';
import type { SharedMemoryRegistry } from './shared-memory.ts';
import { zeroTensor } from './tensors.ts';

/** How one infer call ends; `dropped`: no answer, the connection is to be cut. */
export type InferOutcome =
  | { readonly kind: 'answered'; readonly served: ServedVersion; readonly batch: number }
  | { readonly kind: 'failed'; readonly failure: ProtocolFailure }
  | { readonly kind: 'dropped' };

/** Checks a call and runs it through its model; `done` is called once, possibly before this returns. */
export function runInfer(
  { repository, faults, sharedMemory }: Omit<Backstage, 'identity'>,
  call: InferCall,
  done: (outcome: InferOutcome) => void,
): void {
  if (faults.dropConnection?.()) {
    done({ kind: 'dropped' });
    return;
  }
  let served: ServedVersion;
  let batch: number;
  let release: () => void;
  try {
    const fault = faults.failInfer?.() ?? null;
    if (fault) throw new ProtocolFailure(fault.status, fault.message);
    served = repository.serving(call.model, call.version);
    release = sharedMemory.use(placesOf(call));
    try {
      batch = checkedBatch(served.signature, call);
    } catch (error) {
      release();
      throw error;
    }
  } catch (error) {
    done({ kind: 'failed', failure: asProtocolFailure(error) });
    return;
  }
  served.submit(batch, (ended) => {
    const failure = ended ?? writeOutputs(sharedMemory, served, batch, call);
    release();
    done(failure ? { kind: 'failed', failure } : { kind: 'answered', served, batch });
  });
}

const placesOf = (call: InferCall) => [
  ...call.inputs.flatMap(({ size }) => ('place' in size ? [size.place] : [])),
  ...call.outputPlaces.values(),
];

/** Writes the outputs that go to shared memory; gives the failure when one does not fit into its place. */
function writeOutputs(
  sharedMemory: SharedMemoryRegistry,
  { signature }: ServedVersion,
  batch: number,
  { outputs, outputPlaces }: InferCall,
): ProtocolFailure | null {
  if (outputPlaces.size === 0) return null;
  for (const { name, datatype, shape } of chosenOutputs(signature, batch, outputs)) {
    const place = outputPlaces.get(name);
    if (!place) continue;
    const tensor = zeroTensor(datatype, shape);
    if (tensor.byteLength > place.byteSize) {
      return new ProtocolFailure(
        'INTERNAL',
        `shared memory size specified with the request for output '${name}' (${place.byteSize} bytes) ` +
          `should be at least ${tensor.byteLength} bytes to hold the results`,
      );
    }
    sharedMemory.write(place, tensor);
  }
  return null;
}
