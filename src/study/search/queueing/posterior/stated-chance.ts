/**
 * The calibration of proposals' chances by Platt (1999), and the share of proposals of which the
 * model is right at all. A proposal is the best of many, so its chance is one of those that the
 * model puts too high. Fitted to 2,312 proposals of searches on made-up models, recorded grids and
 * grids of real GPUs' laws, each set with the same weight, and judged on 1,085 of grids that were
 * kept back (docs/benchmarks/search.md).
 */
const CALIBRATION = { offset: -0.35, slope: 0.9, share: 0.9 };

/**
 * Returns the chance of a proposal as it is stated: how often proposals of that chance by the model
 * met the goal. `modelled`: 0 to 1.
 */
export function statedChance(modelled: number): number {
  const { offset, slope, share } = CALIBRATION;
  // The odds to a power, times a factor.
  const odds = Math.exp(offset) * (modelled / (1 - modelled)) ** slope;
  return share * (odds === Number.POSITIVE_INFINITY ? 1 : odds / (1 + odds));
}
