/** How one model with one config behaves on the emulated device. */
export interface ModelPhysics {
  /** Time of one execution, in nanoseconds; `busyInstances` counts the one that starts. Draws its own noise. */
  executionNs(batchSize: number, busyInstances: number): number;
  /** Executions that run at once, at most; Infinity: as many as there are instances. */
  readonly atOnce: number;
  /** Added to the first execution of every instance. */
  readonly firstExecutionMs: number;
  /** Added to the first execution of every batch size on every instance. */
  readonly firstOfSizeMs: number;
  /** Of a decoupled model to each request, spread evenly over its execution. */
  readonly responses: number;
  /** From an execution's end until its instance is free again. */
  readonly turnaroundMs: number;
  /** How long before the end of their execution answers leave. */
  readonly answerLeadMs: number;
  /** How much later answers arrive than they leave. */
  readonly networkMs: number;
  /** Shares of an execution's time; the rest is compute-infer. */
  readonly split: { readonly input: number; readonly output: number };
  /** Device memory of so many instances, in MiB. */
  memoryMib(instances: number): number;
  /** The backend refuses to start more; Infinity when it never does. */
  readonly maxInstances: number;
  /** Why the backend loads no such config; null when it does. */
  readonly refusal: string | null;
  readonly load: LoadTimes;
}

export interface LoadTimes {
  /** A full load, instances included. */
  readonly fullSeconds: number;
  /** Adding instances in place: they start side by side. */
  readonly addSeconds: number;
  /** Removing instances in place: for each one, one after the other. */
  readonly removeSeconds: number;
}
