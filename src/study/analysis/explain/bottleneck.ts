import { atClientBatch, toChoice } from '#perfmodel/modelled-config.ts';
import { createNetworkSimulator } from '#perfmodel/network/network-simulator.ts';
import { measuredChoices, type StageBottleneck } from '#perfmodel/simulator.ts';
import type { Measurement } from '#profiler/measurement.ts';
import type { StudyState } from '../../records/state.ts';
import type { Trial } from '../../types.ts';

const SEED = 1;
/** Requests per simulation. More than a search takes, because this is a single simulation. */
const REQUESTS = 1200;

/** Returns the bottleneck of a trial at a measured level; null without statistics of the models. */
type BottleneckOf = (trial: Trial, measurement: Measurement) => StageBottleneck | null;

const none: BottleneckOf = () => null;

/**
 * Returns what holds a trial's models back and the effect of one more instance, by laws fitted once
 * to all measurements. Always null for a single model.
 */
export function createBottlenecks({ started, trials, goal }: StudyState): BottleneckOf {
  const { topology } = started;
  if (!topology) return none;
  const measured = trials.flatMap(({ candidate, measurements }) => measuredChoices(candidate, measurements));
  const simulator = createNetworkSimulator(measured, topology, {
    mode: started.levels.mode,
    percentile: goal.budget?.percentile ?? 99,
    seed: SEED,
    requests: REQUESTS,
  });
  if (!simulator.stageShares) return none;
  return ({ candidate }, { level }) =>
    candidate.shape.members
      ? (simulator.bottleneck?.(atClientBatch(toChoice(candidate), level.batch), level.value) ?? null)
      : null;
}
