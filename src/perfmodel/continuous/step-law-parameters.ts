import type { StepLaw } from '#queueing/continuous/step-law.ts';
import type { Normal } from '#stats/gaussian-process.ts';
import type { RoughFigures } from './rough-figures.ts';

/** The law of an engine's steps, and its behaviour around them. */
export interface EngineLaw extends StepLaw {
  /** A request's additional time before its first token. */
  readonly roundTripNs: number;
  /** True if the engine admits nothing while any sequence runs, whatever its settings say. */
  readonly isStatic: boolean;
}

/** The figures of a law, in the order of its parameters; each parameter is the logarithm of one. */
export const lawFigures = [
  'baseNs',
  'floorNs',
  'prefillBaseNs',
  'perPrefillTokenNs',
  'perDecodingNs',
  'perContextTokenNs',
  'perPrefillPairNs',
  'roundTripNs',
  'cv',
] as const satisfies readonly (keyof Omit<EngineLaw, 'isStatic'>)[];

type LawFigure = (typeof lawFigures)[number];

/** The parts that a setting changes separately: the work on prompts, and all other work. */
export const settingParts = ['prompts', 'steps'] as const;

type SettingPart = (typeof settingParts)[number];

const parts: Readonly<Record<LawFigure, SettingPart | null>> = {
  baseNs: 'steps',
  floorNs: 'steps',
  prefillBaseNs: 'prompts',
  perPrefillTokenNs: 'prompts',
  perDecodingNs: 'steps',
  perContextTokenNs: 'steps',
  perPrefillPairNs: 'prompts',
  roundTripNs: null,
  cv: null,
};

/** Returns the part to which a figure belongs; null if no setting changes it. */
export const partOfFigure = (name: LawFigure): SettingPart | null => parts[name];

/** Returns the law with these logarithms of its figures. */
export function toLaw(logs: readonly number[], isStatic: boolean): EngineLaw {
  const figures = Object.fromEntries(
    lawFigures.map((name, index) => [name, Math.exp(logs[index] as number)]),
  ) as Record<LawFigure, number>;
  return { ...figures, cv: Math.min(MAX_CV, figures.cv), isStatic };
}

const MAX_CV = 0.6;

/**
 * Returns the prior of the parameters. At the lightest load a decoding step is mostly overhead and
 * the reading of weights, and a prompt's time depends mostly on its tokens. The deviations allow
 * for ten times as much and a tenth.
 */
export function lawPriors({ tpotNs, ttftNs, promptTokens, contextTokens }: RoughFigures): readonly Normal[] {
  const prefillNs = Math.max(ttftNs - tpotNs / 2, ttftNs / 10);
  const promptNs = prefillNs / promptTokens;
  const priors: Record<LawFigure, readonly [usual: number, sd: number]> = {
    baseNs: [0.4 * tpotNs, 1.2],
    floorNs: [0.4 * tpotNs, 1.2],
    prefillBaseNs: [0.2 * prefillNs, 1.5],
    perPrefillTokenNs: [0.6 * promptNs, 1.2],
    perDecodingNs: [Math.min(0.7 * promptNs, 0.3 * tpotNs), 1.5],
    perContextTokenNs: [(0.05 * tpotNs) / contextTokens, 1.5],
    perPrefillPairNs: [(0.1 * promptNs) / (promptTokens / 2), 1.5],
    roundTripNs: [0.05 * ttftNs, 1.5],
    cv: [0.05, 0.7],
  };
  return lawFigures.map((name) => ({ mean: Math.log(priors[name][0]), sd: priors[name][1] }));
}
