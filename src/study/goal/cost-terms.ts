/** A whole server that can be rented. */
export interface InstanceType {
  readonly name: string;
  /** Its GPUs, or MIG slices, of the priced kind. */
  readonly gpus: number;
  readonly perHour: number;
}

/** The price of a server, and the rate to serve. Amounts are in `currency`. */
export interface CostTerms {
  readonly currency: string;
  /** The priced item: `L4`, `A100-80GB/1g.10gb`, or an instance type. */
  readonly name: string;
  /**
   * `gpu`: each GPU or slice that a candidate uses; `server`: the whole server, whatever it uses.
   */
  readonly per: 'gpu' | 'server';
  /** The price of an hour of one item. */
  readonly perHour: number;
  /** GPUs of the server; absent: the number that its metrics show. */
  readonly serverGpus?: number;
  /** Inferences per second to serve, in total or by model; absent if no rate is requested. */
  readonly forRate?: number | { readonly [model: string]: number };
  /** The share of a server's capacity that is kept free, from 0 to less than 1. */
  readonly headroom: number;
  /** The chance to hold the rate, above 0 and below 1. */
  readonly chance: number;
  /** The types of instances in the prices with GPUs of the same kind; absent if there are none. */
  readonly instanceTypes?: readonly InstanceType[];
}
