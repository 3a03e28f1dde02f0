import { seededRandom } from '#base/random.ts';
import { EventHeap } from '../event-heap.ts';
import { checkSimulation, type SimulationOptions } from '../simulate.ts';
import { ExecutionCalls } from './calls.ts';
import { checkNetwork, stageFinder } from './check-network.ts';
import { Extent } from './extent.ts';
import { SimulatedFront } from './front-traffic.ts';
import { ModelStage } from './model-stage.ts';
import { Passage, Visit } from './passage.ts';
import type { PlannedStep } from './plan.ts';
import { SharedDevice } from './shared-device.ts';
import type { Network, NetworkSimulation } from './types.ts';

/**
 * Simulates models that are served together, in virtual time: ensembles, models that call others,
 * and models that share devices. A network of one stage has the figures of `simulate`. Closed loops
 * and rates continue until every front has been counted: `requests` and `warmUpRequests` are
 * averages per front, and a slow front has at least a tenth of that.
 *
 * The same arguments give the same figures, everywhere. Throws CONFIG_INVALID or INPUT_INVALID for
 * impossible ones, also when nothing of a front is left to count after the warm-up.
 */
export function simulateNetwork(network: Network, options: SimulationOptions): NetworkSimulation {
  checkNetwork(network);
  checkSimulation(options);
  const run = new NetworkRun(network, options);
  while (run.step());
  return run.summary();
}

class NetworkRun {
  readonly #network: Network;
  readonly #stages: readonly ModelStage[];
  readonly #fronts: readonly SimulatedFront[];
  readonly #devices: readonly SharedDevice[];
  readonly #extent: Extent;
  /**
   * Subjects: a slot whose own time has passed; `#slots` and above: a device; −1 and below: the
   * wake-up of a stage.
   */
  readonly #events = new EventHeap();
  readonly #stageOfSlot: number[] = [];
  readonly #callsOfSlot = new Map<number, ExecutionCalls>();
  readonly #slots: number;
  #frontEndFreeNs = 0;

  constructor(network: Network, options: SimulationOptions) {
    const { stages, devices = [], fronts } = network;
    const random = seededRandom(options.seed);
    const findStage = stageFinder(stages);
    this.#network = network;
    this.#devices = devices.map(
      (device) =>
        new SharedDevice(
          device,
          stages.map((stage) => (stage.device?.name === device.name ? stage.device.share : 0)),
        ),
    );
    this.#stages = stages.map((stage, place) => {
      const device = this.#devices[devices.findIndex(({ name }) => name === stage.device?.name)] ?? null;
      const made = new ModelStage(stage, device, this.#stageOfSlot.length, findStage, random);
      for (let instance = 0; instance < made.station.instances; instance++) this.#stageOfSlot.push(place);
      return made;
    });
    this.#slots = this.#stageOfSlot.length;
    const isWarm = options.warmUpRequests === 0;
    this.#fronts = fronts.map((front) => new SimulatedFront(front, stages.length, findStage, random, isWarm));
    this.#extent = new Extent(this.#fronts, [...this.#stages.map(({ tally }) => tally), ...this.#devices], options);
  }

  /**
   * Handles the next event; returns false at the end of the simulation. Of simultaneous events,
   * arrivals come first.
   */
  step(): boolean {
    const front = this.#nextFront();
    const { arrivals, frontEndNs } = this.#fronts[front] as SimulatedFront;
    const arrivalNs = Math.max(arrivals.nextNs, this.#frontEndFreeNs) + frontEndNs;
    const eventNs = this.#events.nextNs;
    const nowNs = Math.min(arrivalNs, eventNs);
    if (nowNs === Number.POSITIVE_INFINITY) return false;
    for (const { tally, station } of this.#stages) tally.busyUntil(nowNs, station.batcher.busyInstances);
    for (const device of this.#devices) device.usedUntil(nowNs);
    if (arrivalNs <= eventNs) {
      this.#arrive(arrivalNs, front);
      return true;
    }
    this.#happen(nowNs, this.#events.take());
    return !this.#extent.isOverAt(nowNs);
  }

  summary(): NetworkSimulation {
    const { stages, devices = [] } = this.#network;
    const { spanNs } = this.#extent;
    const names = stages.map(({ name }) => name);
    return {
      fronts: this.#fronts.map((front) => front.summary(names)),
      stages: this.#stages.map((stage) => stage.summary(spanNs)),
      devices: devices.map(({ name }, place) => ({
        name,
        utilization: (this.#devices[place] as SharedDevice).utilization(spanNs),
      })),
    };
  }

  /** Returns the front with the next request. */
  #nextFront(): number {
    let next = 0;
    for (let front = 1; front < this.#fronts.length; front++) {
      if (this.#sendsNextNs(front) < this.#sendsNextNs(next)) next = front;
    }
    return next;
  }

  #sendsNextNs(front: number): number {
    return (this.#fronts[front] as SimulatedFront).arrivals.nextNs;
  }

  #arrive(nowNs: number, front: number): void {
    const { arrivals, plan, samples } = this.#fronts[front] as SimulatedFront;
    const request = arrivals.take();
    const [sentNs, limitNs] = [arrivals.sentNs(request), arrivals.limitNs(request)];
    this.#frontEndFreeNs = nowNs;
    this.#enter(nowNs, new Passage(plan, samples, sentNs, { front }, limitNs));
  }

  #happen(nowNs: number, subject: number): void {
    if (subject < 0) {
      const place = -1 - subject;
      (this.#stages[place] as ModelStage).station.wake(nowNs);
      this.#start(nowNs, place);
    } else if (subject < this.#slots) {
      this.#computed(nowNs, subject);
    } else {
      const device = this.#devices[subject - this.#slots] as SharedDevice;
      const slot = device.end(nowNs);
      if (slot >= 0) this.#computed(nowNs, slot);
      this.#planEnd(device);
    }
  }

  #enter(nowNs: number, passage: Passage): void {
    for (const step of passage.plan.first) this.#visit(nowNs, passage, step, null);
  }

  #visit(nowNs: number, passage: Passage, step: number, cause: Visit | null): void {
    const { stage: place } = passage.plan.steps[step] as PlannedStep;
    (this.#stages[place] as ModelStage).arrive(nowNs, new Visit(passage, step, place, nowNs, cause));
    this.#start(nowNs, place);
  }

  /** Starts the executions that the stage's batcher releases. */
  #start(nowNs: number, place: number): void {
    const stage = this.#stages[place] as ModelStage;
    const { station, device, firstSlot } = stage;
    for (let instance = station.takeStarted(nowNs); instance >= 0; instance = station.takeStarted(nowNs)) {
      const ns = station.drawExecutionNs(instance, stage.running);
      if (device) {
        device.begin(nowNs, firstSlot + instance, place, ns, stage.ownFactor(instance));
        this.#planEnd(device);
      } else this.#events.add(nowNs + ns, firstSlot + instance);
    }
    const wakeNs = station.wakeToPlan();
    if (wakeNs !== Number.POSITIVE_INFINITY) this.#events.add(wakeNs, -1 - place);
  }

  #planEnd(device: SharedDevice): void {
    const endNs = device.endToPlan();
    if (endNs !== Number.POSITIVE_INFINITY) this.#events.add(endNs, this.#slots + this.#devices.indexOf(device));
  }

  /** The own time of an execution has passed. */
  #computed(nowNs: number, slot: number): void {
    const stage = this.#stages[this.#stageOfSlot[slot] as number] as ModelStage;
    const instance = slot - stage.firstSlot;
    const startNs = stage.station.startNs[instance] as number;
    const batch = stage.takeBatch(instance);
    for (const visit of batch) {
      visit.startNs = startNs;
      visit.computedNs = nowNs;
    }
    if (stage.calls.length === 0) {
      this.#finish(nowNs, slot, batch);
      return;
    }
    stage.callers++;
    const samples = batch.map(({ passage }) => passage.samples);
    this.#callsOfSlot.set(slot, new ExecutionCalls(stage.calls, samples));
    this.#call(nowNs, slot);
  }

  /** Sends an execution's next call; ends the execution if there is none. */
  #call(nowNs: number, slot: number): void {
    const calls = this.#callsOfSlot.get(slot) as ExecutionCalls;
    const next = calls.next();
    if (next) {
      for (const samples of next.requests) this.#enter(nowNs, new Passage(next.plan, samples, nowNs, { slot }));
      return;
    }
    const stage = this.#stages[this.#stageOfSlot[slot] as number] as ModelStage;
    const batch = stage.takeBatch(slot - stage.firstSlot);
    for (const visit of batch) visit.called = calls.replies;
    stage.callers--;
    this.#callsOfSlot.delete(slot);
    this.#finish(nowNs, slot, batch);
  }

  /**
   * Ends an execution, including its calls: its requests continue, and its instance takes the next
   * batch.
   */
  #finish(nowNs: number, slot: number, batch: readonly Visit[]): void {
    const place = this.#stageOfSlot[slot] as number;
    const stage = this.#stages[place] as ModelStage;
    const instance = slot - stage.firstSlot;
    stage.count(nowNs, instance, batch);
    for (const visit of batch) this.#goOn(nowNs, visit);
    stage.station.complete(nowNs, instance);
    this.#start(nowNs, place);
  }

  /**
   * Begins the steps that need the ended one; after the last step the reply goes to the sender of
   * the request.
   */
  #goOn(nowNs: number, visit: Visit): void {
    const { passage, step } = visit;
    passage.left--;
    const { next: waiting } = passage.plan.steps[step] as PlannedStep;
    for (const next of waiting) {
      if (passage.isReady(next)) this.#visit(nowNs, passage, next, visit);
    }
    if (passage.left > 0) return;
    const { sender } = passage;
    if ('front' in sender) (this.#fronts[sender.front] as SimulatedFront).answer(nowNs, visit);
    else if (this.#callsOfSlot.get(sender.slot)?.isLast(visit)) this.#call(nowNs, sender.slot);
  }
}
