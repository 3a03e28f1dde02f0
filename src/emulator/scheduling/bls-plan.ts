/**
 * What an execution of a BLS model (business logic scripting: a model whose code calls other models) does after its own
 * work, while its instance waits.
 */
export interface BlsPlan {
  /** Whether it works on the requests of its batch one after the other, or on all of them at once. */
  readonly requests: 'in-turn' | 'together';
  /** One stage after the other; the calls of a stage go out together. */
  readonly stages: readonly (readonly BlsCall[])[];
}

/** What one request makes of a model that is called. */
export interface BlsCall {
  readonly model: string;
  /** Samples that the called model gets for each sample of the request. */
  readonly fanOut: number;
  /**
   * `batch`: in one request, or as few as the called model's largest batch allows; `each`: in a request each, all sent together;
   * `each-in-turn`: in a request each, sent when the one before has been answered.
   */
  readonly send: 'batch' | 'each' | 'each-in-turn';
}
