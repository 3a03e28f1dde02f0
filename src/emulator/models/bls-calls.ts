import type { BlsCall, BlsPlan } from '../scheduling/bls-plan.ts';
import { asProtocolFailure, ProtocolFailure } from '../wire/protocol-failure.ts';
import type { Servable } from './servable.ts';

type Done = (failure: ProtocolFailure | null) => void;
type Task = (done: Done) => void;
/** Returns the serving version of a model. Throws NOT_FOUND. */
type Serving = (model: string, version: string) => Servable;

/**
 * Makes the calls of one execution of `model`, whose requests have these numbers of samples. `done`
 * gets null if all were answered; otherwise the failure that ends the whole execution, in the words
 * of Triton's Python backend.
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

/** The requests of one call; the called model is looked up when they are sent. */
function callTask({ model, fanOut, send }: BlsCall, samples: number, serving: Serving): Task {
  return (done) => {
    const whole = samples * fanOut;
    const one = (size: number): Task => requestTask(model, size, serving);
    if (send === 'batch') together(splitSamples(whole, mostAtOnce(model, serving)).map(one))(done);
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

/**
 * Returns its largest batch. For a missing model: one request with everything, which fails when it
 * is sent.
 */
function mostAtOnce(model: string, serving: Serving): number {
  try {
    return Math.max(1, serving(model, '').signature.maxBatchSize);
  } catch {
    return Number.POSITIVE_INFINITY;
  }
}

function splitSamples(samples: number, most: number): number[] {
  if (samples <= most) return [samples];
  return Array.from({ length: Math.ceil(samples / most) }, (_, index) => Math.min(most, samples - index * most));
}

/** Ends with the first failure; later tasks are not started. */
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

/** Ends when all tasks have ended, with the first failure of any. */
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

/** The error that `exec()` of a request to an unloaded model raises (seen on Triton 2.51). */
const notReady = (model: string): ProtocolFailure =>
  new ProtocolFailure(
    'INTERNAL',
    `Model ${model} - Error when running inference: Failed for execute the inference request. Model '${model}' is not ready.`,
  );

/**
 * The Python backend's report of an exception in `execute`, which all requests of the batch get.
 */
const executionFailure = (model: string, { message }: ProtocolFailure): ProtocolFailure =>
  new ProtocolFailure(
    'INTERNAL',
    `Failed to process the request(s) for model '${model}_0_0', message: TritonModelException: ${message}`,
  );
