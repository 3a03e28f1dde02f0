import type { BatcherPolicy } from '../batcher-policy.ts';
import type { ServiceLaw } from '../service-law.ts';
import type { ModelFigures, SimulatedClients } from '../tally.ts';
import type { Traffic } from '../traffic.ts';

/**
 * Models that are served together, their shared devices, and their traffic. Names of stages,
 * devices and fronts are unique within their kind.
 */
export interface Network {
  readonly stages: readonly Stage[];
  readonly devices?: readonly Device[];
  readonly fronts: readonly Front[];
}

/** One model: its queue, its batcher and its instances. */
export interface Stage {
  readonly name: string;
  readonly policy: BatcherPolicy;
  /**
   * Its `frontEndNs` does not count here: the server receives a client's request once, whatever its
   * path (`Front`).
   */
  readonly law: ServiceLaw;
  /** The device that its executions run on; absent: one that no other stage uses. */
  readonly device?: {
    readonly name: string;
    /**
     * The share of the device that one execution takes, above 0 and at most 1: a core of four is
     * 0.25.
     */
    readonly share: number;
  };
  /**
   * The calls that each execution makes after its own time and before it ends, like the code of a
   * BLS model: its instance stays busy.
   */
  readonly calls?: readonly Call[];
}

/**
 * A call of an execution: requests to other stages. Calls are made one after the other, each for
 * all requests of the batch; the next one after all replies have come.
 */
export interface Call {
  readonly steps: readonly Step[];
  /**
   * Requests of one sample per sample of the caller, at least 0: a detector's crops. With a
   * fraction some samples have one more than others. Absent: one request per request of the caller,
   * with as many samples.
   */
  readonly requestsPerSample?: number;
  /** True: all requests at once; false: each after the reply to the one before. */
  readonly inParallel: boolean;
}

/**
 * A step of an ensemble: a stage, or an inner ensemble. It starts when the steps at these places in
 * the list, all before its own, have ended.
 */
export type Step = ({ readonly stage: string } | { readonly steps: readonly Step[] }) & {
  readonly after?: readonly number[];
};

/** A resource that stages share: a GPU, or the cores of a CPU. */
export interface Device {
  readonly name: string;
  /**
   * The interference between executions of several stages, at least 0. With S as the sum of the
   * shares of all running executions, one takes 1 + interference × max(0, S − 1) times as long as
   * alone. 0: no interference; 1: they share the device evenly (processor sharing). The stage's own
   * law covers executions of the same stage, and that part of S is not counted twice.
   */
  readonly interference: number;
  /**
   * The most executions that it runs at once, of all stages; others wait for their turn and keep
   * their instance busy. Absent: any number.
   */
  readonly atOnce?: number;
}

/** Clients that send requests through steps; a single model is one step. */
export interface Front {
  readonly name: string;
  readonly steps: readonly Step[];
  readonly traffic: Traffic;
  /**
   * Time of the server's front end for each request, one after the other over all fronts; 0 if
   * absent.
   */
  readonly frontEndNs?: number;
}

/** Figures of a simulation after its warm-up, each list in the network's order. */
export interface NetworkSimulation {
  readonly fronts: readonly FrontFigures[];
  readonly stages: readonly StageFigures[];
  readonly devices: readonly DeviceFigures[];
}

export interface FrontFigures extends SimulatedClients {
  readonly name: string;
  /**
   * The time of its requests, by stage: only time that a request really waited for, so of parallel
   * branches the one that ended last. The sum is the mean latency without front end and round trip.
   */
  readonly path: readonly PathPart[];
}

/** Means per request of a front. */
export interface PathPart {
  readonly stage: string;
  readonly queueNs: number;
  /** Time in executions, without waiting for calls. */
  readonly computeNs: number;
  /** Part of the mean latency. */
  readonly share: number;
}

export interface StageFigures extends ModelFigures {
  readonly name: string;
  /** Requests that it answered, including those of ensembles and calls. */
  readonly requests: number;
  readonly requestsPerSecond: number;
  /** The part of `computeNs` in which the execution waited for its calls. */
  readonly callNs: number;
  /** Busy instances / instances, 0 to 1; an instance that waits for a call is busy. */
  readonly utilization: number;
}

export interface DeviceFigures {
  readonly name: string;
  /** Mean share in use, 0 to 1. */
  readonly utilization: number;
}
