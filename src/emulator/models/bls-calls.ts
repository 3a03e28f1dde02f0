import type { BlsCall, BlsPlan } from '../scheduling/bls-plan.ts';
import { asProtocolFailure, ProtocolFailure } from '../wire/protocol-failure.ts';
import type { Servable } from './servable.ts';

type Done = (failure: ProtocolFailure | null) => void;
type Task = (done: Done) => void;
/** The version of a model that serves. Throws NOT_FOUND. */
type Serving = (model: string, version: string) => Servable;

/**
 * Makes the calls of one execution of `model`, whose requests have these numbers of samples. `done` gets null when all were answered,
 * otherwise the failure that the whole execution ends with, in the words of Triton's Python backend.
 */
export function runBlsCalls(
  model: string,
  plan: BlsPlan,
  requestSamples: readonly number[],
  serving: Serving,
  done: Done,
): void {
  const ofRequest = (samples: number): Task =>
    inTurn(plan.stages.map((stage) => together(stage.map((call) => callTask(call, samples, serving)))));
  const join = plan.requests === 'together' ? together : inTurn;
  join(requestSamples.map(ofRequest))((failure) => done(failure && executionFailure(model, failure)));
}

/** The requests that one call makes; the called model is looked up when they are sent. */
function callTask({ model, fanOut, send }: BlsCall, samples: number, serving: Serving): Task {
  return (done) => {
    const whole = samples * fanOut;
    const one = (size: number): Task => requestTask(model, size, serving);
    if (send === 'batch') together(piecesOf(whole, mostAtOnce(model, serving)).map(one))(done);
    else (send === 'each' ? together : inTurn)(Array.from({ length: whole }, () => one(1)))(done);
  };
}

function requestTask(model: string, samples: number, serving: Serving): Task {
  return (done) => {
    try {
      serving(model, '').submit({ id: '', samples, sequence: null, done: (failure) => done(failure) });
    } catch (error) {
      const failure = asProtocolFailure(error);
      done(failure.status === 'NOT_FOUND' ? notReady(model) : failure);
    }
  };
}

/** Its largest batch; one request with everything for a model that is not there, which fails when it is sent. */
function mostAtOnce(model: string, serving: Serving): number {
  try {
    return Math.max(1, serving(model, '').signature.maxBatchSize);
  } catch {
    return Number.POSITIVE_INFINITY;
  }
}

function piecesOf(samples: number, most: number): number[] {
  if (samples <= most) return [samples];
  return Array.from({ length: Math.ceil(samples / most) }, (_, index) => Math.min(most, samples - index * most));
}

/** Ends with the first failure; the tasks after it are not begun. */
function inTurn(tasks: readonly Task[]): Task {
  return (done) => {
    const run = (index: number): void => {
      const task = tasks[index];
      if (!task) done(null);
      else task((failure) => (failure ? done(failure) : run(index + 1)));
    };
    run(0);
  };
}

/** Ends when all have ended, with the first failure of any. */
function together(tasks: readonly Task[]): Task {
  return (done) => {
    let left = tasks.length;
    let first: ProtocolFailure | null = null;
    if (left === 0) done(null);
    for (const task of tasks)
      task((failure) => {
        first ??= failure;
        left -= 1;
        if (left === 0) done(first);
      });
  };
}

/** As `exec()` of a request to a model that is not loaded raises it (seen on Triton 2.51). */
const notReady = (model: string): ProtocolFailure =>
  new ProtocolFailure(
    'INTERNAL',
    `Model ${model} - Error when running inference: Failed for execute the inference request. Model '${model}' is not ready.`,
  );

/** As the Python backend tells an exception in `execute`, which all requests of the batch get. */
const executionFailure = (model: string, { message }: ProtocolFailure): ProtocolFailure =>
  new ProtocolFailure(
    'INTERNAL',
    `Failed to process the request(s) for model '${model}_0_0', message: TritonModelException: ${message}`,
  );
