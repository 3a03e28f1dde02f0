import type { LanguageModel } from '../language/language-model.ts';
import type { BlsPlan } from './bls-plan.ts';

/** Simulates one model with one config on the emulated device. */
export interface EmulatedModelSimulator {
  /** The engine of a language model, which does not execute batches; null for other models. */
  readonly language: LanguageModel | null;
  /**
   * Returns the time of one execution in nanoseconds, with noise. `busyInstances` counts the one
   * that starts.
   */
  executionNs(batchSize: number, busyInstances: number): number;
  /** The part of its processor that an execution takes from other models, 0 to 1. */
  readonly deviceShare: number;
  /** The models that an execution calls; null when it calls none. */
  readonly bls: BlsPlan | null;
  /** Executions that run concurrently, at most; Infinity for as many as there are instances. */
  readonly atOnce: number;
  /** Added to the first execution on every instance. */
  readonly firstExecutionMs: number;
  /**
   * The engine that its first execution builds, if the config keeps it: what it is known by, and
   * how long it takes to read. null for what is built anew on every instance.
   */
  readonly keptEngine: { readonly key: string; readonly readMs: number } | null;
  /** Added to the first execution of every batch size on every instance. */
  readonly firstOfSizeMs: number;
  /** Responses of a decoupled model per request, spread evenly over its execution. */
  readonly responses: number;
  /** Time from an execution's end until its instance is free again. */
  readonly turnaroundMs: number;
  /** Time by which responses leave before the end of their execution. */
  readonly answerLeadMs: number;
  /** Time that responses take to the client. */
  readonly networkMs: number;
  /** Shares of an execution's time; the rest is compute-infer. */
  readonly split: { readonly input: number; readonly output: number };
  /** Returns the device memory of this many instances, in MiB. */
  memoryMib(instances: number): number;
  /** Instances that the backend starts, at most; Infinity without a limit. */
  readonly maxInstances: number;
  /** The backend's error message when it refuses the config; null when it loads it. */
  readonly refusal: string | null;
  readonly load: LoadTimes;
}

/** Durations of loads, in seconds. */
export interface LoadTimes {
  /** A full load, instances included. */
  readonly fullSeconds: number;
  /** Adding instances in place: they start in parallel. */
  readonly addSeconds: number;
  /** Removing one instance in place; several are removed one after the other. */
  readonly removeSeconds: number;
}
