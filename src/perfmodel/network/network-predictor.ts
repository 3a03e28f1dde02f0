import { stageBreakdowns } from '#profiler/stage-breakdowns.ts';
import type { Topology } from '#space/topology.ts';
import type { Candidate, CandidateShape } from '#space/types.ts';
import { atClientBatch, type Choice, toChoice } from '../modelled-config.ts';
import { isModelled, isUsable, type MeasuredCandidate } from '../observations.ts';
import { correctedFigures, type Draw, figuresAt, type Predicted, type Predictor } from '../predictor.ts';
import { type MeasuredChoice, measuredChoices } from '../simulator.ts';
import { createNetworkSimulator } from './network-simulator.ts';

/**
 * True if the network simulator models all members of a joint candidate, unlike sequence batching
 * and decoupled models.
 */
export const isNetworkModelled = ({ members }: CandidateShape): boolean =>
  members !== undefined && Object.values(members).every(isModelled);

/**
 * Returns the undisturbed measurements of a joint candidate that have statistics of every stage.
 */
export function networkObservations({ measurements }: MeasuredCandidate, topology: Topology) {
  return measurements.filter(
    (each) => isUsable(each) && stageBreakdowns(each, topology).size === topology.stages.length,
  );
}

/**
 * Fits the network simulator to measured joint candidates and corrects it by their residuals, as
 * `createPredictor` does for one model. `requestedCandidates`: the candidates to predict later.
 * null when no measurement has statistics of every stage.
 */
export function createNetworkPredictor(
  candidates: readonly MeasuredCandidate[],
  topology: Topology,
  { percentile, seed, requests }: Draw,
  requestedCandidates: readonly Candidate[] = [],
): Predictor | null {
  const measured = candidates.flatMap((each) => measuredChoices(each.candidate, networkObservations(each, topology)));
  if (measured.length === 0) return null;
  const simulator = createNetworkSimulator(measured, topology, { mode: 'concurrency', percentile, seed, requests });
  const delays = [...measured.map(({ choice }) => choice), ...requestedCandidates.map(toChoice)].map(
    ({ delayUs }) => delayUs,
  );
  const figure = correctedFigures(simulator, measured, Math.max(...delays));
  return {
    from: measured.reduce((sum, { measurements }) => sum + measurements.length, 0),
    predict(candidate, level) {
      if (level.mode !== 'concurrency' || !isNetworkModelled(candidate.shape)) return null;
      const choice = atClientBatch(toChoice(candidate), level.batch);
      const figures = figuresAt(figure, percentile, choice, level.value);
      return figures && { ...figures, extrapolates: beyond(measured, choice) };
    },
  };
}

/** Returns the properties of one of the members that no measured candidate had. */
function beyond(measured: readonly MeasuredChoice[], { members = new Map() }: Choice): Predicted['extrapolates'] {
  const seen = (model: string): readonly Choice[] => measured.flatMap(({ choice }) => choice.members?.get(model) ?? []);
  const isBeyond = (of: (choice: Choice, others: readonly Choice[]) => boolean): boolean =>
    [...members].some(([model, choice]) => of(choice, seen(model)));
  const most = (others: readonly Choice[], of: (choice: Choice) => number): number => Math.max(...others.map(of));
  return [
    ...(isBeyond((choice, others) => choice.policy.instances > most(others, ({ policy }) => policy.instances))
      ? (['instances'] as const)
      : []),
    ...(isBeyond((choice, others) => choice.largestBatch > most(others, ({ largestBatch }) => largestBatch))
      ? (['batch size'] as const)
      : []),
    ...(isBeyond((choice, others) => others.every(({ settingsKey }) => settingsKey !== choice.settingsKey))
      ? (['variant'] as const)
      : []),
  ];
}
