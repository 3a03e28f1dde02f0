/** One check that every implementation must pass. */
export interface ConformanceCheck {
  readonly name: string;
  /** Rejects with a description of the fault; resolves if there is none. */
  run(): Promise<void>;
}
