import type { Random } from '#base/random.ts';
import { NS_PER_S } from '#base/units.ts';
import { createSpread, executionNs } from '../service-law.ts';
import { Station } from '../station.ts';
import { ModelTally } from '../tally.ts';
import { PlannedCall } from './calls.ts';
import type { Visit } from './passage.ts';
import type { SharedDevice } from './shared-device.ts';
import type { Stage, StageFigures } from './types.ts';

/** A stage during a simulation: its station, its visits, and their counts. */
export class ModelStage {
  readonly station: Station;
  readonly tally: ModelTally;
  readonly device: SharedDevice | null;
  readonly calls: readonly PlannedCall[];
  /** Number of its first instance among those of all stages. */
  readonly firstSlot: number;
  /** Instances that wait for calls and therefore execute nothing. */
  callers = 0;
  readonly #name: string;
  /** Visits that have not ended, by their number at the station. */
  readonly #visits = new Map<number, Visit>();
  #callNs = 0;

  constructor(
    stage: Stage,
    device: SharedDevice | null,
    firstSlot: number,
    findStage: (name: string) => number,
    random: Random,
  ) {
    this.#name = stage.name;
    this.station = new Station(stage.policy, stage.law, createSpread(stage.law.cv, random), 0);
    this.tally = new ModelTally(Math.max(1, stage.policy.maxBatchSize));
    this.device = device;
    this.firstSlot = firstSlot;
    this.calls = (stage.calls ?? []).map((call) => new PlannedCall(call, findStage));
  }

  arrive(nowNs: number, visit: Visit): void {
    this.#visits.set(this.station.arrive(nowNs, visit.passage.samples), visit);
  }

  /** Returns the visits in the batch of the instance. */
  takeBatch(instance: number): Visit[] {
    const first = this.station.first[instance] as number;
    const batch: Visit[] = [];
    for (let index = 0; index < (this.station.count[instance] as number); index++) {
      batch.push(this.#visits.get(first + index) as Visit);
    }
    return batch;
  }

  /**
   * Returns the slowdown of the execution that has just started by this stage's other running
   * executions.
   */
  ownFactor(instance: number): number {
    const { law } = this.station;
    const size = this.station.batchSize[instance] as number;
    return executionNs(law, size, this.station.besides(this.running)) / executionNs(law, size, 1);
  }

  /** The number of executing instances. */
  get running(): number {
    return this.station.batcher.busyInstances - this.callers;
  }

  /** Counts the execution of the instance, which ends now, and forgets its visits. */
  count(nowNs: number, instance: number, batch: readonly Visit[]): void {
    const first = this.station.first[instance] as number;
    for (const [index, visit] of batch.entries()) {
      this.#visits.delete(first + index);
      if (!this.tally.isCounting) continue;
      this.tally.served(visit.queuedNs, visit.startNs, nowNs);
      this.#callNs += nowNs - visit.computedNs;
    }
    const ns = nowNs - (this.station.startNs[instance] as number);
    this.tally.executed(this.station.batchSize[instance] as number, batch.length, ns);
  }

  summary(spanNs: number): StageFigures {
    const figures = this.tally.summary(spanNs);
    const { requests } = this.tally;
    return {
      ...figures,
      name: this.#name,
      requests,
      requestsPerSecond: (requests * NS_PER_S) / spanNs,
      callNs: this.#callNs / Math.max(1, requests),
      utilization: figures.busyInstances / this.station.instances,
    };
  }
}
