import { gpuMemoryNeed } from '#perfmodel/gpu-memory-need.ts';
import { type Choice, toChoice } from '#perfmodel/modelled-config.ts';
import type { MeasuredChoice } from '#perfmodel/service-model.ts';
import type { Trial } from '../../types.ts';
import { loadChance } from '../load-chance.ts';
import { NOTHING, type Without } from './mechanisms.ts';
import type { PosteriorModel } from './posterior-model.ts';

/**
 * Returns the model with feasibility and expected improvement multiplied by the chance that the
 * choice loads at all.
 */
export function withLoadFeasibility(
  posterior: PosteriorModel,
  measured: readonly MeasuredChoice[],
  trials: readonly Trial[],
  without: Without = NOTHING,
): PosteriorModel {
  const load = without.has('load-feasibility') ? null : loadModel(measured, trials);
  if (load === null) return posterior;
  const known = new Map<Choice, number>();
  const computeChance = (choice: Choice): number => {
    const chance = known.get(choice) ?? load(choice);
    known.set(choice, chance);
    return chance;
  };
  return {
    ...posterior,
    predict(choice, level) {
      const prediction = posterior.predict(choice, level);
      const chance = computeChance(choice);
      if (!prediction || chance === 1) return prediction;
      return {
        ...prediction,
        feasibleChance: (inflation) => chance * prediction.feasibleChance(inflation),
        expectedImprovement: (best, inflation) => chance * prediction.expectedImprovement(best, inflation),
        cheaperChance: (most, inflation) => chance * prediction.cheaperChance(most, inflation),
      };
    },
  };
}

/**
 * Returns the chance that a choice loads; null while no load has failed and the server reports no
 * GPU memory. If it reports memory, memory decides; otherwise the loads that succeeded and failed
 * do (`loadChance`).
 */
function loadModel(measured: readonly MeasuredChoice[], trials: readonly Trial[]): ((choice: Choice) => number) | null {
  const ranOut = trials.filter(({ failure }) => failure?.kind === 'out-of-memory');
  const needs = gpuMemoryNeed(
    measured,
    ranOut.map(({ candidate }) => toChoice(candidate)),
  );
  const fits = needs?.chanceToFit;
  if (!fits) {
    if (trials.every(({ failure }) => failure === null)) return null;
    return (choice) => loadChance(choice.candidate, trials);
  }
  const others = trials.filter((trial) => !ranOut.includes(trial));
  return (choice) => fits(choice) * loadChance(choice.candidate, others);
}
