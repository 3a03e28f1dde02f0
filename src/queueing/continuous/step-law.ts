import { TrituneError } from '#base/errors.ts';

/** The work of an engine in one step. */
export interface StepWork {
  /** Tokens of prompts that the step computes. */
  readonly prefillTokens: number;
  /**
   * Pairs of such a token and a token that it attends to: for a chunk of *p* tokens behind *c*
   * tokens, p × (c + p / 2).
   */
  readonly prefillPairs: number;
  /** Sequences that get their next token. */
  readonly decoding: number;
  /** Tokens in the KV cache that those sequences attend to, over all of them. */
  readonly contextTokens: number;
}

/**
 * The time of one step of an engine, in nanoseconds:
 *
 *     baseNs + max(floorNs, perPrefillTokenNs × prefillTokens + perDecodingNs × decoding)
 *            + perContextTokenNs × contextTokens + perPrefillPairNs × prefillPairs + prefillBaseNs
 *            if there are tokens of prompts
 *
 * Linear layers take time by the tokens in the step, whosever they are, and at least the time to
 * read the weights; attention takes time by the context that it reads. The form is that of the
 * operators in Vidur (Agrawal and others, MLSys 2024, section 4) and of the arithmetic intensity in
 * Sarathi-Serve (the same, OSDI 2024, section 3); the maximum is the roofline of AIConfigurator
 * (2026). A step with prompts costs more than its tokens do: vLLM replays recorded CUDA graphs
 * whole only for steps without prompts (its page "CUDA Graphs"), and the fit of measured prefill
 * times in Dynamo's mocker (lib/mocker/src/common/perf_model.rs) has a constant of 16.5 ms beside
 * 15 µs per token.
 */
export interface StepLaw {
  /** Fixed work of a step: scheduling, launching kernels, sampling. */
  readonly baseNs: number;
  /** The least time of the linear layers: that to read the weights. */
  readonly floorNs: number;
  /** Additional fixed work of a step with tokens of prompts. */
  readonly prefillBaseNs: number;
  readonly perPrefillTokenNs: number;
  readonly perDecodingNs: number;
  readonly perContextTokenNs: number;
  readonly perPrefillPairNs: number;
  /** Coefficient of variation of a step's time. */
  readonly cv: number;
}

/** The parts of a step's time, in nanoseconds or as shares, by figure of the law. */
export type StepParts = { readonly [part in keyof Omit<StepLaw, 'cv'>]: number };

/** Adds the time of this many steps to the parts of the law that cause it. */
export function addParts(
  parts: { -readonly [part in keyof StepParts]: number },
  law: StepLaw,
  { prefillTokens, prefillPairs, decoding, contextTokens }: StepWork,
  steps: number,
): void {
  const prefillNs = law.perPrefillTokenNs * prefillTokens;
  const decodingNs = law.perDecodingNs * decoding;
  parts.baseNs += law.baseNs * steps;
  if (prefillNs + decodingNs < law.floorNs) {
    parts.floorNs += law.floorNs * steps;
  } else {
    parts.perPrefillTokenNs += prefillNs * steps;
    parts.perDecodingNs += decodingNs * steps;
  }
  parts.perContextTokenNs += law.perContextTokenNs * contextTokens * steps;
  parts.perPrefillPairNs += law.perPrefillPairNs * prefillPairs * steps;
  if (prefillTokens > 0) parts.prefillBaseNs += law.prefillBaseNs * steps;
}

/** Returns the mean time of one step in nanoseconds. */
export const stepTimeNs = (law: StepLaw | StepTimes, work: StepWork): number =>
  isStepLaw(law) ? stepNs(law, work) : law.stepNs(work);

/** As `stepTimeNs`, by a law of this form. */
export function stepNs(law: StepLaw, { prefillTokens, prefillPairs, decoding, contextTokens }: StepWork): number {
  const linearNs = law.perPrefillTokenNs * prefillTokens + law.perDecodingNs * decoding;
  return (
    law.baseNs +
    Math.max(law.floorNs, linearNs) +
    law.perContextTokenNs * contextTokens +
    law.perPrefillPairNs * prefillPairs +
    (prefillTokens > 0 ? law.prefillBaseNs : 0)
  );
}

/** Times of steps by a law of another form. */
export interface StepTimes {
  /**
   * Returns the mean time of a step in nanoseconds, above 0; linear in the tokens of context if
   * nothing else changes.
   */
  stepNs(work: StepWork): number;
  readonly cv: number;
}

/** True if a law has the form of `StepLaw`. */
export const isStepLaw = (law: StepLaw | StepTimes): law is StepLaw => 'baseNs' in law;

/**
 * Checks a step law. Throws INPUT_INVALID, naming the figure, for one that no engine could have.
 */
export function checkStepLaw(law: StepLaw): void {
  for (const [name, value] of Object.entries(law)) {
    if (!(Number.isFinite(value) && value >= 0)) refuse(`${name} is ${value}`, 'give a finite number of at least 0');
  }
  if (law.baseNs + law.floorNs + law.perDecodingNs <= 0) refuse('a step takes no time', 'give a baseNs above 0');
}

function refuse(what: string, hint: string): never {
  throw new TrituneError('INPUT_INVALID', `this is not a law of an engine's steps: ${what}`, hint);
}
