import type { StepLaw, StepParts } from '../../queueing/continuous/step-law.ts';
import type { Normal } from '../../stats/gaussian-process.ts';

/** The law of an engine's steps, and a request's additional time before its first token. */
export interface EngineLaw extends StepLaw {
  readonly roundTripNs: number;
}

/** The figures of a law, in the order of its parameters; each parameter is the logarithm of one. */
export const lawFigures = [
  'baseNs',
  'floorNs',
  'perPrefillTokenNs',
  'perDecodingNs',
  'perContextTokenNs',
  'perPrefillPairNs',
  'roundTripNs',
  'cv',
] as const satisfies readonly (keyof EngineLaw)[];

/** The parts that a setting changes separately: the work on prompts, and all other work. */
export const settingParts = ['prompts', 'steps'] as const;

/** Logarithms of the factors on a law's times. */
export interface LawFactors {
  readonly prompts: number;
  readonly steps: number;
}

/** Returns the law of these parameters, with the factors of some settings on its times. */
export function lawOf(parameters: readonly number[], { prompts, steps }: LawFactors): EngineLaw {
  const figure = (name: (typeof lawFigures)[number], factor = 0): number =>
    Math.exp((parameters[lawFigures.indexOf(name)] as number) + factor);
  return {
    baseNs: figure('baseNs', steps),
    floorNs: figure('floorNs', steps),
    perPrefillTokenNs: figure('perPrefillTokenNs', prompts),
    perDecodingNs: figure('perDecodingNs', steps),
    perContextTokenNs: figure('perContextTokenNs', steps),
    perPrefillPairNs: figure('perPrefillPairNs', prompts),
    roundTripNs: figure('roundTripNs'),
    cv: Math.min(MOST_CV, figure('cv')),
  };
}

const MOST_CV = 0.6;

/** Returns the factor by which a part of a step's time grows. */
export const factorOfPart = (part: keyof StepParts): keyof LawFactors =>
  part === 'perPrefillTokenNs' || part === 'perPrefillPairNs' ? 'prompts' : 'steps';

/** Knowledge of an engine before its law is fitted: rough figures of the lightest measured load. */
export interface RoughFigures {
  readonly tpotNs: number;
  readonly ttftNs: number;
  /** Mean computed tokens of a prompt, and mean tokens of a sequence in the middle of its answer. */
  readonly promptTokens: number;
  readonly contextTokens: number;
}

/**
 * Returns the prior of the parameters. At the lightest load a decoding step is mostly overhead and the reading of weights, and a prompt's time
 * depends mostly on its tokens. The deviations allow for ten times as much and a tenth.
 */
export function lawPriors({ tpotNs, ttftNs, promptTokens, contextTokens }: RoughFigures): readonly Normal[] {
  const promptNs = Math.max(ttftNs - tpotNs / 2, ttftNs / 10) / promptTokens;
  const priors: Record<(typeof lawFigures)[number], readonly [usual: number, sd: number]> = {
    baseNs: [0.4 * tpotNs, 1.2],
    floorNs: [0.4 * tpotNs, 1.2],
    perPrefillTokenNs: [0.7 * promptNs, 1.2],
    perDecodingNs: [Math.min(0.7 * promptNs, 0.3 * tpotNs), 1.5],
    perContextTokenNs: [(0.05 * tpotNs) / contextTokens, 1.5],
    perPrefillPairNs: [(0.1 * promptNs) / (promptTokens / 2), 1.5],
    roundTripNs: [0.05 * ttftNs, 1.5],
    cv: [0.05, 0.7],
  };
  return lawFigures.map((name) => ({ mean: Math.log(priors[name][0]), sd: priors[name][1] }));
}
