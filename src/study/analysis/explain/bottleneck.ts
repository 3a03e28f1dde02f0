import { atClientBatch, choiceOf } from '../../../perfmodel/modelled-config.ts';
import { networkSimulatorOf } from '../../../perfmodel/network/network-simulator.ts';
import { measuredChoices, type StageBottleneck } from '../../../perfmodel/simulator.ts';
import type { Measurement } from '../../../profiler/measurement.ts';
import type { StudyState } from '../../records/state.ts';
import type { Trial } from '../../types.ts';

const SEED = 1;
/** Requests of a simulation: more than a search takes, as it is one only. */
const REQUESTS = 1200;

/**
 * Returns which model holds the best back and what one more instance of it would do, by laws fitted to all that was measured; null for one model alone,
 * and where no measurement has statistics of the models.
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
