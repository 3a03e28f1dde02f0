import { TrituneError } from '#base/errors.ts';
import { NS_PER_S } from '#base/units.ts';
import { grown } from './ring.ts';

/** Figures of clients after the warm-up. */
export interface SimulatedClients {
  /** Requests answered. */
  readonly requests: number;
  readonly requestsPerSecond: number;
  /** Requests that kept their limit; all if the traffic has none. */
  readonly goodRequests: number;
  /** From the client's sending to its receipt of the response. */
  readonly latencyNs: {
    readonly mean: number;
    readonly p50: number;
    readonly p90: number;
    readonly p95: number;
    readonly p99: number;
  };
  /** Latencies of all requests, rising, for further percentiles. */
  readonly latenciesNs: Float64Array;
}

/** Figures of a model after the warm-up. */
export interface ModelFigures {
  /** Means per request, as in Triton's statistics: in the queue, and in its execution. */
  readonly queueNs: number;
  readonly computeNs: number;
  /** Executions by batch size: the index is the size. */
  readonly executions: Uint32Array;
  /**
   * Time of all executions by batch size, as `executions`, in nanoseconds; calls of a BLS model
   * included.
   */
  readonly executionNs: Float64Array;
  /** Samples per execution. */
  readonly meanBatchSize: number;
  /** Mean number of busy instances. */
  readonly busyInstances: number;
}

/** Figures of a simulation after its warm-up. */
export interface Simulation extends SimulatedClients, ModelFigures {}

/**
 * Counts the requests of clients that are answered after a warm-up. The counted part begins and
 * ends with the end of an execution, and the requests of an execution are counted together: a part
 * of a large batch would bias the throughput.
 */
export class ClientTally {
  readonly #requests: number;
  readonly #roundTripNs: number;
  #latencies: Float64Array;
  #warmUpLeft: number;
  #counted = 0;
  #good = 0;
  #beginNs = 0;
  #endNs = 0;

  /**
   * `warmUpRequests`: Infinity until `endWarmUp`. `together`: the initial capacity for requests
   * that are answered together.
   */
  constructor(warmUpRequests: number, requests: number, roundTripNs: number, together: number) {
    this.#latencies = new Float64Array(requests + together);
    this.#requests = requests;
    this.#roundTripNs = roundTripNs;
    this.#warmUpLeft = warmUpRequests;
  }

  get isFull(): boolean {
    return this.#counted >= this.#requests;
  }

  get isCounting(): boolean {
    return this.#warmUpLeft <= 0;
  }

  get counted(): number {
    return this.#counted;
  }

  /** From the end of the warm-up to the last answer. */
  get spanNs(): number {
    return this.#endNs - this.#beginNs;
  }

  /** Ends the warm-up with the next group. */
  endWarmUp(): void {
    this.#warmUpLeft = Math.min(1, this.#warmUpLeft);
  }

  /** Counts a request, which is good within `limitNs`; call it only while `isCounting`. */
  answered(sentNs: number, nowNs: number, limitNs: number): void {
    if (this.#counted === this.#latencies.length) this.#latencies = grown(this.#latencies);
    const latencyNs = nowNs - sentNs + this.#roundTripNs;
    this.#latencies[this.#counted++] = latencyNs;
    if (latencyNs <= limitNs) this.#good++;
  }

  /** Ends a group, after `answered` was called for each of its requests. */
  together(requests: number, nowNs: number): void {
    if (this.#warmUpLeft > 0) {
      this.#warmUpLeft -= requests;
      this.#beginNs = nowNs;
    } else {
      this.#endNs = nowNs;
    }
  }

  /** Returns the figures. Throws INPUT_INVALID when nothing came after the warm-up. */
  summary(): SimulatedClients {
    if (this.#counted === 0) {
      throw new TrituneError(
        'INPUT_INVALID',
        'the simulation was over before its warm-up',
        'send more requests, or fewer of them as warm-up',
      );
    }
    const sorted = this.#latencies.subarray(0, this.#counted).sort();
    let latencyNs = 0;
    for (let rank = 0; rank < sorted.length; rank++) latencyNs += sorted[rank] as number;
    return {
      requests: sorted.length,
      goodRequests: this.#good,
      requestsPerSecond: (sorted.length * NS_PER_S) / this.spanNs,
      latencyNs: {
        mean: latencyNs / sorted.length,
        p50: quantile(sorted, 0.5),
        p90: quantile(sorted, 0.9),
        p95: quantile(sorted, 0.95),
        p99: quantile(sorted, 0.99),
      },
      latenciesNs: sorted,
    };
  }
}

/** Counts the executions of a model while counting is on. */
export class ModelTally {
  isCounting = false;
  readonly #executions: Uint32Array;
  readonly #executionNs: Float64Array;
  #requests = 0;
  #queueNs = 0;
  #computeNs = 0;
  #busyNs = 0;
  #busySinceNs = 0;

  constructor(largestBatch: number) {
    this.#executions = new Uint32Array(largestBatch + 1);
    this.#executionNs = new Float64Array(largestBatch + 1);
  }

  get requests(): number {
    return this.#requests;
  }

  /** Adds the time since the last call, with this number of busy instances. */
  busyUntil(nowNs: number, instances: number): void {
    if (this.isCounting) this.#busyNs += instances * (nowNs - this.#busySinceNs);
    this.#busySinceNs = nowNs;
  }

  /** Counts a request; call it only while `isCounting`. */
  served(queuedNs: number, startNs: number, nowNs: number): void {
    this.#queueNs += startNs - queuedNs;
    this.#computeNs += nowNs - startNs;
  }

  /**
   * Counts an execution that took this long and its requests, after `served` was called for each of
   * them.
   */
  executed(batchSize: number, requests: number, ns: number): void {
    if (!this.isCounting) return;
    this.#executionNs[batchSize] = (this.#executionNs[batchSize] as number) + ns;
    this.#executions[batchSize] = (this.#executions[batchSize] as number) + 1;
    this.#requests += requests;
  }

  /** Returns the figures of a count of this duration; 0 for sizes that were never executed. */
  summary(spanNs: number): ModelFigures {
    let [executions, samples] = [0, 0];
    for (let size = 0; size < this.#executions.length; size++) {
      const count = this.#executions[size] as number;
      executions += count;
      samples += count * size;
    }
    return {
      queueNs: this.#queueNs / Math.max(1, this.#requests),
      computeNs: this.#computeNs / Math.max(1, this.#requests),
      executions: this.#executions,
      executionNs: this.#executionNs,
      meanBatchSize: samples / Math.max(1, executions),
      busyInstances: this.#busyNs / spanNs,
    };
  }
}

/** Returns the smallest value that at least the given share of all values does not exceed. */
function quantile(sorted: Float64Array, share: number): number {
  return sorted[Math.max(0, Math.ceil(share * sorted.length) - 1)] as number;
}
