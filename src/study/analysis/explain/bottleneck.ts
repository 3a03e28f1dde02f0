import { atClientBatch, choiceOf } from '../../../perfmodel/modelled-config.ts';
import { networkSimulatorOf } from '../../../perfmodel/network/network-simulator.ts';
import { measuredChoices, type StageBottleneck } from '../../../perfmodel/simulator.ts';
import type { Measurement } from '../../../profiler/measurement.ts';
import type { StudyState } from '../../records/state.ts';
import type { Trial } from '../../types.ts';

const SEED = 1;
/** Requests per simulation. More than a search takes, because this is a single simulation. */
const REQUESTS = 1200;

/**
 * Returns the model that holds the best back and the effect of one more instance of it, by laws fitted to all measurements. null for a single model,
 * and if no measurement has statistics of the models.
 */
export function bottleneckOfBest(
  { started, trials, goal }: StudyState,
  best: Trial,
  { level }: Measurement,
): StageBottleneck | null {
  const { topology } = started;
  if (!topology || !best.candidate.shape.members) return null;
  const measured = trials.flatMap(({ candidate, measurements }) => measuredChoices(candidate, measurements));
  const percentile = goal.budget?.percentile ?? 99;
  const simulator = networkSimulatorOf(measured, topology, {
    mode: level.mode,
    percentile,
    seed: SEED,
    requests: REQUESTS,
  });
  if (!simulator.stageShares) return null;
  return simulator.bottleneck?.(atClientBatch(choiceOf(best.candidate), level.batch), level.value) ?? null;
}
