import type { Disturbance, FaultyCall, Meddling } from '../faults.ts';
import type { Servable } from '../models/servable.ts';
import type { ServerContext } from '../server-context.ts';
import type { Breakage } from './broken-connection.ts';
import { checkAnswerSize, checkedBatch, chosenOutputs, type InferCall } from './infer-call.ts';
import { asProtocolFailure, ProtocolFailure } from './protocol-failure.ts';
import type { SharedMemoryRegistry } from './shared-memory.ts';
import { tensorBytes, zeroTensor } from './tensors.ts';

/** The outcome of one infer call. `ended`: a decoupled model has sent all its responses. */
export type InferOutcome =
  | { readonly kind: 'answered'; readonly served: Servable; readonly batch: number }
  | { readonly kind: 'ended'; readonly served: Servable }
  | { readonly kind: 'failed'; readonly failure: ProtocolFailure }
  | { readonly kind: 'disturbed'; readonly how: 'hang' | Breakage };

export interface InferListener {
  /** The refusal of a decoupled model; null if any number of responses is possible. */
  readonly oneAnswerOnly: string | null;
  /** Called for one response of a decoupled model; `text` is a language model's. */
  respond?(served: Servable, batch: number, text?: string): void;
  /** Called once, possibly before `runInfer` returns; again with the failure if it throws. */
  done(outcome: InferOutcome): void;
}

type InferContext = Pick<ServerContext, 'repository' | 'faults' | 'sharedMemory' | 'crash'>;

/** Checks a call and runs it through its model. */
export const runInfer = (context: InferContext, call: InferCall, listener: InferListener): void =>
  throughFaults(context, call, listener, () => admit(context, call, listener));

/** Applies the faults to a call, or lets it through. */
export function throughFaults(
  { faults, repository, crash }: Pick<ServerContext, 'repository' | 'faults' | 'crash'>,
  call: FaultyCall,
  listener: Pick<InferListener, 'done'>,
  run: () => void,
): void {
  const disturbance = faults.dropConnection?.(call) ? 'close' : (faults.disturbInfer?.(call) ?? null);
  const failure = faults.failInfer?.(call) ?? null;
  const delayMs = faults.delayInferMs?.(call) ?? 0;
  if (isMeddling(disturbance)) void repository.meddle(call.model, disturbance);
  if (disturbance === 'crash') crash();
  else if (isBroken(disturbance)) listener.done({ kind: 'disturbed', how: disturbance });
  else if (failure) listener.done({ kind: 'failed', failure: new ProtocolFailure(failure.status, failure.message) });
  else if (delayMs > 0) setTimeout(run, delayMs).unref();
  else run();
}

const isBroken = (disturbance: Disturbance | null): disturbance is 'hang' | Breakage =>
  disturbance !== null && disturbance !== 'crash' && !isMeddling(disturbance);

const isMeddling = (disturbance: Disturbance | null): disturbance is Meddling =>
  disturbance === 'unload' || disturbance === 'reload' || disturbance === 'remove';

function admit(context: InferContext, call: InferCall, listener: InferListener): void {
  const { sharedMemory } = context;
  try {
    const served = context.repository.serving(call.model, call.version);
    if (served.isDecoupled && listener.oneAnswerOnly !== null)
      throw new ProtocolFailure('UNIMPLEMENTED', listener.oneAnswerOnly);
    const release = sharedMemory.use(listPlaces(call));
    try {
      submit(sharedMemory, served, call, listener, release);
    } catch (error) {
      release();
      throw error;
    }
  } catch (error) {
    listener.done({ kind: 'failed', failure: asProtocolFailure(error) });
  }
}

function submit(
  sharedMemory: SharedMemoryRegistry,
  served: Servable,
  call: InferCall,
  listener: InferListener,
  release: () => void,
): void {
  const batch = checkedBatch(served.signature, call);
  checkAnswerSize(served.signature, batch, call.outputs);
  // An answer that cannot be written is reported as a failure: nothing else would catch it here.
  let unanswered: ProtocolFailure | null = null;
  served.submit({
    id: call.id,
    samples: batch,
    sequence: call.sequence,
    text: call.text,
    respond: (text) => {
      const failure = writeOutputs(sharedMemory, served, batch, call);
      unanswered ??= failure ?? attempt(() => listener.respond?.(served, batch, text));
    },
    done: (ended) => {
      const failure = ended ?? (served.isDecoupled ? unanswered : writeOutputs(sharedMemory, served, batch, call));
      release();
      const answer = (): void =>
        listener.done(served.isDecoupled ? { kind: 'ended', served } : { kind: 'answered', served, batch });
      const refusal = failure ?? attempt(answer);
      if (refusal) listener.done({ kind: 'failed', failure: refusal });
    },
  });
}

function attempt(work: () => void): ProtocolFailure | null {
  try {
    work();
    return null;
  } catch (error) {
    return asProtocolFailure(error);
  }
}

const listPlaces = (call: InferCall) => [
  ...call.inputs.flatMap(({ size }) => ('place' in size ? [size.place] : [])),
  ...call.outputPlaces.values(),
];

/** Writes the outputs for shared memory; returns the failure if one does not fit into its place. */
function writeOutputs(
  sharedMemory: SharedMemoryRegistry,
  { signature }: Servable,
  batch: number,
  { outputs, outputPlaces }: InferCall,
): ProtocolFailure | null {
  if (outputPlaces.size === 0) return null;
  for (const { name, datatype, shape } of chosenOutputs(signature, batch, outputs)) {
    const place = outputPlaces.get(name);
    if (!place) continue;
    const byteLength = tensorBytes({ datatype, shape });
    if (byteLength > place.byteSize) {
      return new ProtocolFailure(
        'INTERNAL',
        `shared memory size specified with the request for output '${name}' (${place.byteSize} bytes) ` +
          `should be at least ${byteLength} bytes to hold the results`,
      );
    }
    sharedMemory.write(place, zeroTensor(datatype, shape));
  }
  return null;
}
