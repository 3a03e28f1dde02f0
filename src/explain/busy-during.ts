import type { Choice } from '#perfmodel/modelled-config.ts';
import { loneExecutionNs, type ServiceLaw, slowdownPerInstance } from '#queueing/service-law.ts';
import type { Simulation } from '#queueing/tally.ts';
import type { BusyDuring } from './execution-law.ts';
import { computeCapacity, type ForecastContext, simulateLaw } from './forecast.ts';

/** Shares of the capacity that are simulated. */
const LOADS = [0.1, 0.25, 0.4, 0.55, 0.7, 0.8, 0.9, 0.97] as const;
/** Fewer executions of a size do not tell a mean. */
const MIN_EXECUTIONS = 10;
/** A slowdown that shows in the times of executions, and hardly changes how many are busy. */
const MIN_SLOWDOWN = 0.05;

/**
 * Simulates how many instances are busy during an execution, at several loads. Requests of open
 * traffic come while others wait, so that more are busy then than in the mean of the time.
 */
export function simulateBusyDuring(context: ForecastContext, choice: Choice): BusyDuring {
  const { interference, ...rest } = context.laws.of(choice);
  const perInstance = Math.max(MIN_SLOWDOWN, interference.perInstance);
  // Without a spread, times tell exactly how many were busy.
  const law: ServiceLaw = { ...rest, interference: { ...interference, perInstance }, cv: 0 };
  const { instances } = choice.policy;
  const capacity = computeCapacity(context, choice, 1);
  const runs = LOADS.map((load) => simulateLaw(context, choice, law, load * capacity));
  const readAt = (run: Simulation, batchSize: number): number | null => {
    const busy = readBusy(run, law, batchSize);
    return busy && Math.min(instances, busy);
  };
  return (batchSize, meanBusy) => {
    const next = runs.findIndex(({ busyInstances }) => busyInstances >= meanBusy);
    // Below the first load or above the last one, that of the run at that end.
    if (next <= 0) return readAt(runs.at(next) as Simulation, batchSize);
    const [below, above] = [runs[next - 1] as Simulation, runs[next] as Simulation];
    const [least, most] = [readAt(below, batchSize), readAt(above, batchSize)];
    if (least === null || most === null) return least ?? most;
    const share = (meanBusy - below.busyInstances) / (above.busyInstances - below.busyInstances);
    return least + share * (most - least);
  };
}

/** Returns the busy instances that executions of this size show; null if there are too few. */
function readBusy({ executions, executionNs }: Simulation, law: ServiceLaw, batchSize: number): number | null {
  const count = executions[batchSize] ?? 0;
  if (count < MIN_EXECUTIONS) return null;
  const slowness = (executionNs[batchSize] as number) / count / loneExecutionNs(law, batchSize);
  return 1 + Math.max(0, slowness - 1) / slowdownPerInstance(law, batchSize);
}
