import { gpuMemoryNeed } from '#perfmodel/gpu-memory-need.ts';
import { type Choice, listParts, toChoice } from '#perfmodel/modelled-config.ts';
import type { MeasuredChoice } from '#perfmodel/service-model.ts';
import { instancesPerDevice } from '#queueing/batcher-policy.ts';
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
  const load = without.has('load-feasibility') ? null : loadModel(measured, trials, without);
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
function loadModel(
  measured: readonly MeasuredChoice[],
  trials: readonly Trial[],
  without: Without,
): ((choice: Choice) => number) | null {
  const ranOut = trials.filter(({ failure }) => failure?.kind === 'out-of-memory');
  const needs = gpuMemoryNeed(
    measured,
    ranOut.map(({ candidate }) => toChoice(candidate)),
  );
  const fits = without.has('gpu-memory') ? null : needs?.chanceToFit;
  if (!fits && trials.every(({ failure }) => failure === null)) return null;
  const loaded = measured.map(({ choice }) => choice);
  const refused = without.has('bisection') ? [] : ranOut.map(({ candidate }) => toChoice(candidate));
  const isAbove = (choice: Choice): boolean => refused.some((each) => isBeyond(choice, each, loaded));
  if (!fits) return (choice) => (isAbove(choice) ? 0 : loadChance(choice.candidate, trials));
  const others = trials.filter((trial) => !ranOut.includes(trial));
  return (choice) => {
    const fit = fits(choice);
    return fit < PROBABLE && isAbove(choice) ? 0 : fit * loadChance(choice.candidate, others);
  };
}

/**
 * The chance of fitting into the reported memory from which on a choice is known to need less than
 * the config that ran out of it.
 */
const PROBABLE = 0.5;

/**
 * True if a config has more instances than one that ran out of memory, while no config of its own
 * kind has loaded with as many. The search looks for the number of instances that fits below the
 * refused one first.
 */
function isBeyond(choice: Choice, refused: Choice, loaded: readonly Choice[]): boolean {
  if (choice.members) return isBeyondInNetwork(choice, refused, loaded);
  const { instances, maxBatchSize } = refused.policy;
  if (choice.policy.instances <= instances || choice.policy.maxBatchSize < maxBatchSize) return false;
  return !loaded.some(
    ({ settingsKey, policy }) =>
      settingsKey === choice.settingsKey && policy.instances >= instances && policy.maxBatchSize >= maxBatchSize,
  );
}

/**
 * The same for models that are tuned together: each has as many instances and as large a batch as
 * the refused config, while no config with as much of everything has loaded.
 */
function isBeyondInNetwork(choice: Choice, refused: Choice, loaded: readonly Choice[]): boolean {
  const hasAsMuch = (one: Choice, other: Choice): boolean =>
    listParts(other).every(({ policy }, index) => {
      const batcherPolicy = listParts(one)[index]?.policy;
      return (
        batcherPolicy &&
        instancesPerDevice(batcherPolicy) >= instancesPerDevice(policy) &&
        batcherPolicy.maxBatchSize >= policy.maxBatchSize
      );
    });
  return hasAsMuch(choice, refused) && !loaded.some((each) => hasAsMuch(each, refused));
}
