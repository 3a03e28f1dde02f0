import { TrituneError } from '../base/errors.ts';
import { NS_PER_S } from '../base/units.ts';

/** Figures of a simulation after its warm-up. */
export type Simulation = {
  /** Requests answered. */
  readonly requests: number;
  readonly requestsPerSecond: number;
  /** From the client's sending to its receiving the response. */
  readonly latencyNs: {
    readonly mean: number;
    readonly p50: number;
    readonly p90: number;
    readonly p95: number;
    readonly p99: number;
  };
  /** Latencies of all requests, rising, for further percentiles. */
  readonly latenciesNs: Float64Array;
  /** Means per request, as in Triton's statistics: in the queue, and in its execution. */
  readonly queueNs: number;
  readonly computeNs: number;
  /** Executions by batch size: the index is the size. */
  readonly executions: Uint32Array;
  /** Samples per execution. */
  readonly meanBatchSize: number;
  /** Mean number of busy instances. */
  readonly busyInstances: number;
};

type Limits = {
  readonly warmUpRequests: number;
  readonly requests: number;
  readonly largestBatch: number;
  readonly roundTripNs: number;
};

/**
 * Counts what happens after the warm-up. The counted part begins and ends with the end of an execution, and the requests of an execution
 * are counted together: a part of a large batch would bias the throughput.
 */
export class Tally {
  readonly #latencies: Float64Array;
  readonly #executions: Uint32Array;
  readonly #requests: number;
  readonly #roundTripNs: number;
  #warmUpLeft: number;
  #counted = 0;
  #beginNs = 0;
  #endNs = 0;
  #queueNs = 0;
  #computeNs = 0;
  #busyNs = 0;
  #busySinceNs = 0;

  constructor({ warmUpRequests, requests, largestBatch, roundTripNs }: Limits) {
    this.#latencies = new Float64Array(requests + largestBatch);
    this.#executions = new Uint32Array(largestBatch + 1);
    this.#requests = requests;
    this.#roundTripNs = roundTripNs;
    this.#warmUpLeft = warmUpRequests;
  }

  get isFull(): boolean {
    return this.#counted >= this.#requests;
  }

  /** Adds the time since the last call, with this number of busy instances. */
  busyUntil(nowNs: number, instances: number): void {
    if (this.#warmUpLeft <= 0) this.#busyNs += instances * (nowNs - this.#busySinceNs);
    this.#busySinceNs = nowNs;
  }

  answered(arrivedNs: number, queuedNs: number, startNs: number, nowNs: number): void {
    if (this.#warmUpLeft > 0) return;
    this.#latencies[this.#counted++] = nowNs - arrivedNs + this.#roundTripNs;
    this.#queueNs += startNs - queuedNs;
    this.#computeNs += nowNs - startNs;
  }

  /** Counts an execution that has ended, after `answered` was called for each of its requests. */
  executed(batchSize: number, requests: number, nowNs: number): void {
    if (this.#warmUpLeft > 0) {
      this.#warmUpLeft -= requests;
      this.#beginNs = nowNs;
      return;
    }
    this.#executions[batchSize] = (this.#executions[batchSize] as number) + 1;
    this.#endNs = nowNs;
  }

  /** Returns the figures. Throws INPUT_INVALID when nothing came after the warm-up. */
  summary(): Simulation {
    if (this.#counted === 0) {
      throw new TrituneError(
        'INPUT_INVALID',
        'the simulation was over before its warm-up',
        'send more requests, or fewer of them as warm-up',
      );
    }
    const sorted = this.#latencies.subarray(0, this.#counted).sort();
    let [executions, samples, latencyNs] = [0, 0, 0];
    for (let size = 0; size < this.#executions.length; size++) {
      const count = this.#executions[size] as number;
      executions += count;
      samples += count * size;
    }
    for (let rank = 0; rank < sorted.length; rank++) latencyNs += sorted[rank] as number;
    const spanNs = this.#endNs - this.#beginNs;
    return {
      requests: sorted.length,
      requestsPerSecond: (sorted.length * NS_PER_S) / spanNs,
      latencyNs: {
        mean: latencyNs / sorted.length,
        p50: quantile(sorted, 0.5),
        p90: quantile(sorted, 0.9),
        p95: quantile(sorted, 0.95),
        p99: quantile(sorted, 0.99),
      },
      latenciesNs: sorted,
      queueNs: this.#queueNs / sorted.length,
      computeNs: this.#computeNs / sorted.length,
      executions: this.#executions,
      meanBatchSize: samples / executions,
      busyInstances: this.#busyNs / spanNs,
    };
  }
}

/** Returns the smallest value that at least the given share of all values does not exceed. */
function quantile(sorted: Float64Array, share: number): number {
  return sorted[Math.max(0, Math.ceil(share * sorted.length) - 1)] as number;
}
