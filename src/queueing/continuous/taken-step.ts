import type { Progress } from './progress.ts';
import type { Admission, EngineStep } from './step.ts';
import type { StepWork } from './step-law.ts';

/** What a step of the scheduler did, as sequences. */
export interface StepOutcome {
  readonly admitted: readonly Admission[];
  readonly preempted: readonly Progress[];
  /** Sequences whose last token came by decoding, and those that got a token by their prompt. */
  readonly ended: readonly Progress[];
  readonly completed: readonly Progress[];
  /**
   * Running sequences, and some that have left; those that decode since before this decoding step
   * got a token.
   */
  readonly running: readonly Progress[];
  readonly decodingStep: number;
}

/** Most lists of most steps are empty. */
const NONE: readonly number[] = [];

/**
 * A step that the scheduler has taken. A class, because a simulation makes one for each of its
 * steps; few of its readers need all tokens.
 */
export class TakenStep implements EngineStep {
  readonly durationNs: number;
  readonly endNs: number;
  readonly work: StepWork;
  readonly admitted: readonly Admission[];
  readonly first: readonly number[];
  readonly resumed: readonly number[];
  readonly finished: readonly number[];
  readonly preempted: readonly number[];
  readonly #outcome: StepOutcome;

  constructor(beginNs: number, durationNs: number, work: StepWork, outcome: StepOutcome) {
    const { admitted, preempted, ended, completed } = outcome;
    this.durationNs = durationNs;
    this.endNs = beginNs + durationNs;
    this.work = work;
    this.admitted = admitted;
    this.first = listIds(completed, isFirst);
    this.resumed = listIds(completed, (progress) => !isFirst(progress));
    const atOnce = listIds(completed, ({ state }) => state === 'gone');
    this.finished = ended.length === 0 ? atOnce : [...listIds(ended), ...atOnce];
    this.preempted = listIds(preempted);
    this.#outcome = outcome;
  }

  get emitted(): readonly number[] {
    const { running, decodingStep, ended, completed } = this.#outcome;
    const decoded = running.filter(({ state, decodesFrom }) => state === 'decoding' && decodesFrom < decodingStep);
    return [...decoded, ...ended, ...completed].map(({ id }) => id);
  }
}

/** True if the token that a sequence got by its prompt was its first. */
const isFirst = ({ needed, sequence }: Progress): boolean => needed === sequence.inputTokens;

function listIds(
  sequences: readonly Progress[],
  which: (progress: Progress) => boolean = () => true,
): readonly number[] {
  return sequences.length === 0 ? NONE : sequences.filter(which).map(({ id }) => id);
}
