import { type Batcher, createBatcher } from '#queueing/batcher.ts';
import type { BatcherPolicy } from '#queueing/batcher-policy.ts';
import type { Execution } from '#queueing/execution.ts';
import type { ModelConfig } from '#triton/config/model-config.ts';
import { ProtocolFailure } from '../wire/protocol-failure.ts';
import type { Scheduler } from './scheduler.ts';
import type { SequenceMark } from './sequence-mark.ts';
import { sequencePolicy } from './sequence-policy.ts';

/**
 * An execution of a single-instance batcher, with the number of that instance in the whole model.
 */
class LaneExecution implements Execution {
  readonly instance: number;
  readonly #started: Execution;

  constructor(instance: number, started: Execution) {
    this.instance = instance;
    this.#started = started;
  }

  get batchSize(): number {
    return this.#started.batchSize;
  }

  get requestCount(): number {
    return this.#started.requestCount;
  }

  requestId(index: number): number {
    return this.#started.requestId(index);
  }

  samples(index: number): number {
    return this.#started.samples(index);
  }

  enqueuedNs(index: number): number {
    return this.#started.enqueuedNs(index);
  }
}

/**
 * One live sequence. At most one of its requests is with its instance's batcher; the others wait
 * here in order.
 */
interface Sequence {
  readonly key: string;
  /** Null while it waits for a slot. */
  lane: Lane | null;
  readonly waiting: number[];
  isRunning: boolean;
  /** True once its last request has arrived. */
  isEnded: boolean;
  lastRequestNs: number;
}

/** One instance: its own batcher over the sequences that have a slot on it. */
interface Lane {
  readonly instance: number;
  readonly batcher: Batcher;
  slotsTaken: number;
  /**
   * False after the number of instances was reduced: live sequences end there, and nothing new
   * arrives.
   */
  isOpen: boolean;
  running: Sequence[];
}

/**
 * Triton's sequence batcher: a sequence gets a slot of an instance at its start and keeps it to its
 * end, its requests run one after another, and a batch takes one request from each of several
 * sequences. `direct` has max_batch_size slots per instance, `oldest` max_candidate_sequences.
 * Sequences beyond all slots wait in order of their start; a sequence that is idle for longer than
 * max_sequence_idle_microseconds is forgotten.
 */
export class SequenceScheduler implements Scheduler {
  readonly #model: string;
  readonly #idleNs: number;
  readonly #slots: number;
  readonly #policy: BatcherPolicy;
  readonly #lanes: Lane[] = [];
  readonly #live = new Map<string, Sequence>();
  /** Ended sequences with unanswered requests: other sequences may reuse their ids. */
  readonly #ending = new Set<Sequence>();
  readonly #backlog: Sequence[] = [];
  /** By request id. */
  readonly #owners = new Map<number, Sequence>();
  #reapNs = Number.POSITIVE_INFINITY;

  constructor(model: string, config: ModelConfig, instances: number) {
    const { slots, policy, idleNs } = sequencePolicy(config);
    this.#model = model;
    this.#slots = slots;
    this.#policy = policy;
    this.#idleNs = idleNs;
    this.#open(instances);
  }

  get nextWakeNs(): number {
    return this.#lanes.reduce((least, { batcher }) => Math.min(least, batcher.nextWakeNs), this.#reapNs);
  }

  get waitingRequests(): number {
    let waiting = this.#lanes.reduce((sum, { batcher }) => sum + batcher.waitingRequests, 0);
    for (const sequences of [this.#live.values(), this.#ending])
      for (const sequence of sequences) waiting += sequence.waiting.length;
    return waiting;
  }

  get busyInstances(): number {
    return this.#lanes.reduce((sum, { batcher }) => sum + batcher.busyInstances, 0);
  }

  arrive(nowNs: number, requestId: number, samples: number, mark: SequenceMark | null): void {
    if (!mark)
      throw refusal(`inference request to model '${this.#model}' must specify a non-zero or non-empty correlation ID`);
    if (samples !== 1) {
      throw refusal(
        `inference request to model '${this.#model}' must specify batch-size 1 due to requirements of sequence batcher`,
      );
    }
    const sequence = this.#live.get(mark.key) ?? (mark.start ? this.#begin(mark.key) : null);
    if (!sequence) {
      throw refusal(
        `inference request for sequence ${mark.id} to model '${this.#model}' must specify the START flag on the first ` +
          'request of the sequence',
      );
    }
    sequence.waiting.push(requestId);
    sequence.lastRequestNs = nowNs;
    this.#owners.set(requestId, sequence);
    if (mark.end) {
      sequence.isEnded = true;
      this.#live.delete(mark.key);
      this.#ending.add(sequence);
    }
    if (this.#reapNs === Number.POSITIVE_INFINITY) this.#reapNs = nowNs + this.#idleNs;
    this.#advance(sequence, nowNs);
  }

  complete(nowNs: number, instance: number): void {
    const lane = this.#lanes[instance] as Lane;
    for (const sequence of lane.running.splice(0)) {
      sequence.isRunning = false;
      if (sequence.isEnded && sequence.waiting.length === 0) this.#release(sequence, nowNs);
      else this.#advance(sequence, nowNs);
    }
    lane.batcher.complete(nowNs, 0);
  }

  wake(nowNs: number): void {
    for (const { batcher } of this.#lanes) batcher.wake(nowNs);
    if (nowNs >= this.#reapNs) this.#reap(nowNs);
  }

  setInstances(nowNs: number, instances: number): void {
    for (const lane of this.#lanes) lane.isOpen = lane.instance < instances;
    this.#open(instances);
    this.#fillSlots(nowNs);
  }

  takeStarted(): Execution | undefined {
    for (const lane of this.#lanes) {
      const started = lane.batcher.takeStarted();
      if (!started) continue;
      const ids = Array.from({ length: started.requestCount }, (_, index) => started.requestId(index));
      lane.running = ids.map((id) => this.#owners.get(id) as Sequence);
      for (const id of ids) this.#owners.delete(id);
      return new LaneExecution(lane.instance, started);
    }
    return undefined;
  }

  #begin(key: string): Sequence {
    const sequence: Sequence = { key, lane: null, waiting: [], isRunning: false, isEnded: false, lastRequestNs: 0 };
    this.#live.set(key, sequence);
    this.#backlog.push(sequence);
    return sequence;
  }

  #open(instances: number): void {
    for (let instance = this.#lanes.length; instance < instances; instance++)
      this.#lanes.push({ instance, batcher: createBatcher(this.#policy), slotsTaken: 0, isOpen: true, running: [] });
  }

  #advance(sequence: Sequence, nowNs: number): void {
    if (!sequence.lane) this.#fillSlots(nowNs);
    else this.#feed(sequence, nowNs);
  }

  /** Gives free slots to waiting sequences, on the instance with the most free slots. */
  #fillSlots(nowNs: number): void {
    while (this.#backlog.length > 0) {
      let best: Lane | undefined;
      for (const lane of this.#lanes)
        if (lane.isOpen && lane.slotsTaken < this.#slots && lane.slotsTaken < (best?.slotsTaken ?? this.#slots))
          best = lane;
      if (!best) return;
      const sequence = this.#backlog.shift() as Sequence;
      sequence.lane = best;
      best.slotsTaken++;
      this.#feed(sequence, nowNs);
    }
  }

  #feed(sequence: Sequence, nowNs: number): void {
    if (sequence.isRunning) return;
    const next = sequence.waiting.shift();
    if (next === undefined) return;
    sequence.isRunning = true;
    (sequence.lane as Lane).batcher.arrive(nowNs, next, 1);
  }

  #release(sequence: Sequence, nowNs: number): void {
    (sequence.lane as Lane).slotsTaken--;
    this.#ending.delete(sequence);
    this.#fillSlots(nowNs);
  }

  /** Forgets sequences that have been idle for too long; keeps those with requests in progress. */
  #reap(nowNs: number): void {
    this.#reapNs = Number.POSITIVE_INFINITY;
    for (const sequence of [...this.#live.values()]) {
      const isQuiet = !sequence.isRunning && sequence.waiting.length === 0;
      const dueNs = sequence.lastRequestNs + this.#idleNs;
      if (isQuiet && dueNs <= nowNs) {
        this.#live.delete(sequence.key);
        this.#release(sequence, nowNs);
      } else this.#reapNs = Math.min(this.#reapNs, Math.max(dueNs, nowNs + this.#idleNs / 10));
    }
  }
}

const refusal = (message: string): ProtocolFailure => new ProtocolFailure('INVALID_ARGUMENT', message);
