/**
 * The calls of a BLS model (business logic scripting: a model whose code calls other models) after
 * its own work, while its instance waits.
 */
export interface BlsPlan {
  /** Whether it processes the requests of its batch one after another or all at once. */
  readonly requests: 'in-turn' | 'together';
  /** Stages run one after another; the calls of a stage are sent together. */
  readonly stages: readonly (readonly BlsCall[])[];
}

/** The requests that one request sends to a called model. */
export interface BlsCall {
  readonly model: string;
  /** Samples that the called model gets per sample of the request. */
  readonly fanOut: number;
  /**
   * `batch`: one request, or as few as the called model's largest batch allows; `each`: one request
   * per sample, all sent together; `each-in-turn`: one request per sample, each sent once the
   * previous one has been answered.
   */
  readonly send: 'batch' | 'each' | 'each-in-turn';
}
