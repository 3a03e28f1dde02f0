import type { StepParts } from '#queueing/continuous/step-law.ts';
import type { Normal } from '#stats/gaussian-process.ts';
import type { Summand } from '#stats/least-squares.ts';
import type { Choice } from '../modelled-config.ts';
import { listEffects, type SettingEffect, settingsOfPolicy } from './setting-effects.ts';
import { lawFigures, partOfFigure, settingParts } from './step-law-parameters.ts';

/**
 * The figures of every choice's law as sums of parameters: those of the reference's law, and the
 * effects of settings on its parts.
 */
export interface LawSums {
  /** The sum of each of `lawFigures`, in their order. */
  of(choice: Choice): readonly (readonly Summand[])[];
  /** Priors of the effects; they follow those of the reference's figures. */
  readonly priors: readonly Normal[];
  /**
   * Returns the slope of the logarithm of a time with these shares of the law's parts over each
   * parameter, and its standard deviation by settings that no observed choice has.
   */
  computeSlopes(
    choice: Choice,
    shares: StepParts,
  ): { readonly slopes: ReadonlyMap<number, number>; readonly unknownSd: number };
}

/** `observed`: at least one choice, the reference first; `all`: every choice to predict later. */
export function lawSums(observed: readonly [Choice, ...Choice[]], all: readonly Choice[]): LawSums {
  const ofPolicy = settingsOfPolicy(all);
  const reference = observed[0].settings;
  const effects = (choice: Choice): SettingEffect[] => listEffects(reference, choice, ofPolicy);
  const known = new Map(observed.flatMap(effects).map(({ name, sd }) => [name, sd] as const));
  const indices = new Map(
    [...known.keys()].map((name, index) => [name, lawFigures.length + settingParts.length * index]),
  );
  const of = (choice: Choice): readonly (readonly Summand[])[] => {
    const parts = effects(choice).flatMap(({ name, weight }) => {
      const index = indices.get(name);
      return index === undefined ? [] : [{ index, weight }];
    });
    return lawFigures.map((figure, parameter) => {
      const part = partOfFigure(figure);
      const onPart = part === null ? [] : parts;
      const offset = part === null ? 0 : settingParts.indexOf(part);
      return [{ parameter, weight: 1 }, ...onPart.map(({ index, weight }) => ({ parameter: index + offset, weight }))];
    });
  };
  return {
    of,
    priors: [...known.values()].flatMap((sd) => settingParts.map(() => ({ mean: 0, sd }))),
    computeSlopes(choice, shares) {
      const computeShare = (figure: (typeof lawFigures)[number]): number =>
        figure in shares ? shares[figure as keyof StepParts] : 0;
      const slopes = new Map<number, number>();
      for (const [index, summands] of of(choice).entries()) {
        const share = computeShare(lawFigures[index] as (typeof lawFigures)[number]);
        for (const { parameter, weight } of summands) {
          slopes.set(parameter, (slopes.get(parameter) ?? 0) + weight * share);
        }
      }
      const ofParts = settingParts.map((part) =>
        lawFigures.reduce((sum, figure) => sum + (partOfFigure(figure) === part ? computeShare(figure) : 0), 0),
      );
      const unknown = effects(choice).flatMap(({ name, weight, sd }) => (known.has(name) ? [] : [weight * sd]));
      return { slopes, unknownSd: Math.hypot(...unknown) * Math.hypot(...ofParts) };
    },
  };
}
