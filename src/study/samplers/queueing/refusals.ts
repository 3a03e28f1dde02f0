import { gpuMemoryNeed } from '../../../perfmodel/gpu-memory-need.ts';
import { type Choice, choiceOf } from '../../../perfmodel/modelled-config.ts';
import { batchOf, sameKind } from '../../../perfmodel/same-kind.ts';
import type { Measured } from '../../../perfmodel/simulator.ts';
import { instancesOf } from '../../../triton/instances.ts';
import type { ModelConfig } from '../../../triton/model-config.ts';
import { loadChance } from '../../load-chance.ts';
import type { Trial } from '../../types.ts';
import { NOTHING, type Without } from './mechanisms.ts';
import type { Forecast } from './outlook.ts';

/** The forecast, with every constraint the less likely to be met the less likely the choice loads at all. */
export function withRefusals(
  forecast: Forecast,
  measured: readonly Measured[],
  trials: readonly Trial[],
  without: Without = NOTHING,
): Forecast {
  const load = without.has('refusals') ? null : loadModel(measured, trials, without);
  if (load === null) return forecast;
  const known = new Map<Choice, number>();
  const chanceOf = (choice: Choice): number => {
    const chance = known.get(choice) ?? load(choice);
    known.set(choice, chance);
    return chance;
  };
  return {
    ...forecast,
    outlook(choice, level) {
      const outlook = forecast.outlook(choice, level);
      const chance = chanceOf(choice);
      if (!outlook || chance === 1) return outlook;
      return {
        ...outlook,
        met: (inflation) => chance * outlook.met(inflation),
        gain: (best, inflation) => chance * outlook.gain(best, inflation),
      };
    },
  };
}

/** How likely a choice loads; null where nothing speaks against any. Where memory is reported it tells more than which loads ran out of it. */
function loadModel(
  measured: readonly Measured[],
  trials: readonly Trial[],
  without: Without,
): ((choice: Choice) => number) | null {
  const ranOut = trials.filter(({ failure }) => failure?.kind === 'out-of-memory');
  const needs = gpuMemoryNeed(
    measured,
    ranOut.map(({ candidate }) => choiceOf(candidate)),
  );
  const fits = without.has('memory') ? null : needs?.chanceToFit;
  if (!fits && trials.every(({ failure }) => failure === null)) return null;
  const loaded = measured.map(({ choice }) => choice.candidate.config);
  const refused = without.has('bisection') ? [] : ranOut.map(({ candidate }) => candidate.config);
  const isAbove = ({ candidate: { config } }: Choice): boolean =>
    refused.some((each) => isBeyond(config, each, loaded));
  if (!fits) return (choice) => (isAbove(choice) ? 0 : loadChance(choice.candidate, trials));
  const others = trials.filter((trial) => !ranOut.includes(trial));
  return (choice) => {
    const fit = fits(choice);
    return fit < PROBABLE && isAbove(choice) ? 0 : fit * loadChance(choice.candidate, others);
  };
}

/** By the memory that the server reports, a choice that fits with this chance is known to need less than what was refused. */
const PROBABLE = 0.5;

/**
 * It has more instances than a config that ran out of memory, with other settings that are not known to need less: none of their kind has
 * loaded with as many. The number of instances that fit is looked for below the refused one.
 */
function isBeyond(asked: ModelConfig, refused: ModelConfig, loaded: readonly ModelConfig[]): boolean {
  if (instancesOf(asked) <= instancesOf(refused) || batchOf(asked) < batchOf(refused)) return false;
  return !loaded.some(
    (each) => sameKind(each, asked) && instancesOf(each) >= instancesOf(refused) && batchOf(each) >= batchOf(refused),
  );
}
