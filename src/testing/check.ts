/** One thing that every part of a kind must do. */
export interface ConformanceCheck {
  readonly name: string;
  /** Rejects with what is wrong; resolves when nothing is. */
  run(): Promise<void>;
}
