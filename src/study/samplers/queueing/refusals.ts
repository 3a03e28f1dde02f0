import { loadChance } from '../../load-chance.ts';
import type { Trial } from '../../types.ts';
import type { Choice } from './choices.ts';
import type { Forecast } from './outlook.ts';

/** The forecast, with every constraint the less likely to be met the less likely the choice loads at all. */
export function withRefusals(forecast: Forecast, trials: readonly Trial[]): Forecast {
  if (trials.every(({ failure }) => failure === null)) return forecast;
  const known = new Map<Choice, number>();
  const chanceOf = (choice: Choice): number => {
    const chance = known.get(choice) ?? loadChance(choice.candidate, trials);
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
