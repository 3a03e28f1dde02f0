import type { Random } from '#base/random.ts';
import { ClientTally } from '../tally.ts';
import { ArrivalStream } from '../traffic.ts';
import { addPath, type PathSums, type Visit } from './passage.ts';
import { createPlan, type Plan } from './plan.ts';
import type { Front, FrontFigures } from './types.ts';

/** A front during a simulation: its future requests, and the counts of its answered ones. */
export class SimulatedFront {
  readonly arrivals: ArrivalStream;
  readonly tally: ClientTally;
  readonly plan: Plan;
  readonly samples: number;
  readonly frontEndNs: number;
  /** The total number of requests, if known; Infinity for clients that continue. */
  readonly all: number;
  answered = 0;
  /** Requests answered at this moment and not yet counted as a group. */
  answeredNow = 0;
  readonly #front: Front;
  readonly #path: PathSums;

  constructor(front: Front, stages: number, findStage: (name: string) => number, random: Random, isWarm: boolean) {
    const { traffic, steps, frontEndNs = 0 } = front;
    this.#front = front;
    this.plan = createPlan(steps, findStage);
    this.frontEndNs = frontEndNs;
    this.arrivals = new ArrivalStream(traffic, Number.POSITIVE_INFINITY, random);
    this.samples = traffic.samplesPerRequest ?? 1;
    this.all = traffic.kind === 'open' ? traffic.arrivalsNs.length : Number.POSITIVE_INFINITY;
    this.tally = new ClientTally(isWarm ? 0 : Number.POSITIVE_INFINITY, 0, traffic.roundTripNs ?? 0, 0);
    this.#path = { queueNs: new Float64Array(stages), computeNs: new Float64Array(stages) };
  }

  /** True when all its requests have been answered. */
  get isExhausted(): boolean {
    return this.answered === this.all;
  }

  /** The last visit of one of its requests has ended. */
  answer(nowNs: number, last: Visit): void {
    this.answered++;
    this.answeredNow++;
    if (this.tally.isCounting) {
      this.tally.answered(last.passage.sentNs, nowNs, last.passage.limitNs);
      addPath(last, this.#path);
    }
    this.arrivals.answered(nowNs);
  }

  /** Throws INPUT_INVALID when nothing was answered after the warm-up. */
  summary(stages: readonly string[]): FrontFigures {
    const figures = this.tally.summary();
    const path = stages.map((stage, place) => {
      const queueNs = (this.#path.queueNs[place] as number) / figures.requests;
      const computeNs = (this.#path.computeNs[place] as number) / figures.requests;
      return { stage, queueNs, computeNs, share: (queueNs + computeNs) / figures.latencyNs.mean };
    });
    return { ...figures, name: this.#front.name, path };
  }
}
