import { fitSpread } from '#perfmodel/fit-spread.ts';
import { type Observation, type ServicePoint, servicePoints } from '#perfmodel/observation.ts';
import { executionNs, type LawPoint, type ServiceLaw } from '#queueing/service-law.ts';

type Interference = ServiceLaw['interference'];

/** The weight of the fitted law relative to the observations of a batch size. */
const SHRINKAGE = 0.3;
/** The weight of the fitted interference relative to the observations; weak. */
const PRIOR_WEIGHT = 1e-3;
const STEPS = 60;
const LARGEST = 2.5;
const EXPONENTS = [0, 0.1, 0.2, 0.3, 0.4];

/**
 * Returns a service law that reproduces the observations. A fit for prediction is smooth in the
 * batch size, but a server may not be, and a twin reproduces what was seen. So every observed batch
 * size has its own time, and the interference is the one for which the times of each size agree
 * best, whatever instances were busy.
 */
export function measuredLaw(law: ServiceLaw, observations: readonly Observation[]): ServiceLaw {
  const bySize = Map.groupBy(observations.flatMap(servicePoints), ({ batchSize }) => batchSize);
  if (bySize.size === 0) return law;
  const groups = [...bySize.values()];
  const interference = candidates(law.interference).reduce((best, next) =>
    disagreement(next, law, groups) < disagreement(best, law, groups) ? next : best,
  );
  const steady = { ...law, interference, points: pointsThrough({ ...law, interference }, groups), cv: 0 };
  return { ...steady, cv: fitSpread(observations.map((observation) => ({ law: steady, observation }))) };
}

const candidates = (fitted: Interference): Interference[] => [
  fitted,
  ...EXPONENTS.flatMap((batchExponent) =>
    // Finer steps where the interference is small.
    Array.from({ length: STEPS + 1 }, (_, step) => ({ perInstance: LARGEST * (step / STEPS) ** 2, batchExponent })),
  ),
];

/**
 * Returns the weighted squared disagreement, in logarithms, of the times of one batch size without
 * their interference.
 */
function disagreement(
  interference: Interference,
  law: ServiceLaw,
  groups: readonly (readonly ServicePoint[])[],
): number {
  const surprise = Math.log((interference.perInstance + 0.05) / (law.interference.perInstance + 0.05)) ** 2;
  const apart = groups.map((points) => {
    const alone = points.map((point) => ({
      log: Math.log(point.executionNs / factor(interference, law, point)),
      ...point,
    }));
    const mean = weighted(alone, ({ log }) => log);
    return weighted(alone, ({ log }) => (log - mean) ** 2) * alone.reduce((sum, { weight }) => sum + weight, 0);
  });
  return apart.reduce(
    (sum, each) => sum + each,
    PRIOR_WEIGHT * (surprise + (interference.batchExponent - law.interference.batchExponent) ** 2),
  );
}

function factor(interference: Interference, law: ServiceLaw, { batchSize, busyInstances }: ServicePoint): number {
  const disturbed = { ...law, interference };
  return executionNs(disturbed, batchSize, busyInstances) / executionNs(disturbed, batchSize, 1);
}

/**
 * Returns the points of the law: observed batch sizes, shrunk towards the fitted law where they
 * have little weight, and the law's own points around them.
 */
function pointsThrough(law: ServiceLaw, groups: readonly (readonly ServicePoint[])[]): readonly LawPoint[] {
  const met = groups
    .map((points): LawPoint => {
      const { batchSize } = points[0] as ServicePoint;
      const misses = points.map((point) => ({
        ...point,
        log: Math.log(point.executionNs / executionNs(law, batchSize, point.busyInstances)),
      }));
      const seen = misses.reduce((sum, { weight }) => sum + weight, 0);
      const miss = (weighted(misses, ({ log }) => log) * seen) / (seen + SHRINKAGE);
      return { batchSize, executionNs: executionNs(law, batchSize, 1) * Math.exp(miss) };
    })
    .sort((a, b) => a.batchSize - b.batchSize);
  const [first, last] = [met[0], met.at(-1)] as [LawPoint, LawPoint];
  return [
    ...law.points.filter(({ batchSize }) => batchSize < first.batchSize),
    ...met,
    ...law.points.filter(({ batchSize }) => batchSize > last.batchSize),
  ];
}

function weighted<T extends { readonly weight: number }>(items: readonly T[], of: (item: T) => number): number {
  const total = items.reduce((sum, { weight }) => sum + weight, 0);
  return items.reduce((sum, item) => sum + item.weight * of(item), 0) / total;
}
