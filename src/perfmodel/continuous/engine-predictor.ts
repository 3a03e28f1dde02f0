import { fitQuality } from '#queueing/calibration/fit-quality.ts';
import type { Candidate } from '#space/types.ts';
import { type Choice, toChoice } from '../modelled-config.ts';
import type { MeasuredCandidate } from '../observations.ts';
import { correctedFigures, type Draw, figuresAt, type ModelPredictor } from '../predictor.ts';
import { measuredChoices } from '../simulator.ts';
import { createEngineSimulator } from './engine-simulator.ts';
import { tokenObservations } from './observed-traffic.ts';

/**
 * Fits the simulator of an engine to measured candidates and corrects it by their residuals, as
 * `createPredictor` does for tensors. `requestedCandidates`: the candidates to predict later. null
 * when no measurement has figures of tokens.
 */
export function createEnginePredictor(
  candidates: readonly MeasuredCandidate[],
  { percentile, seed, requests }: Draw,
  requestedCandidates: readonly Candidate[] = [],
): ModelPredictor | null {
  const measured = candidates.flatMap(({ candidate, measurements }) => measuredChoices(candidate, measurements));
  const observations = tokenObservations(measured);
  const [first] = observations;
  if (!first) return null;
  const { mode } = first.measurement.level;
  const choices = [...requestedCandidates.map(toChoice), ...measured.map(({ choice }) => choice)];
  const simulator = createEngineSimulator(measured, { mode, percentile, seed, requests, all: choices });
  if (!simulator) return null;
  const figure = correctedFigures(simulator, measured, 0);
  const misses = observations.flatMap(({ choice, measurement: { level, tokens } }) => {
    const simulated = simulator.predict(choice, level.value)?.tokens;
    return simulated && tokens.tpotMs.avg > 0 ? [Math.abs(simulated['tpot-avg'] / tokens.tpotMs.avg - 1)] : [];
  });
  return {
    from: observations.length,
    quality: fitQuality(misses),
    predict(candidate, level) {
      const choice = toChoice(candidate);
      if (level.mode !== mode || !choice.continuous) return null;
      const figures = figuresAt(figure, percentile, choice, level.value);
      return figures && { ...figures, extrapolates: beyond(choice, observations) };
    },
  };
}

/**
 * Returns the extrapolated properties: as many instances, as many sequences at once, or the same
 * other settings.
 */
function beyond(
  { policy, largestBatch, settings }: Choice,
  observations: readonly { readonly choice: Choice }[],
): ('instances' | 'batch size' | 'variant')[] {
  const most = (of: (choice: Choice) => number): number => Math.max(...observations.map(({ choice }) => of(choice)));
  const isSeen = [...settings].every(([name, value]) =>
    observations.some(({ choice }) => choice.settings.get(name) === value),
  );
  return [
    ...(policy.instances > most((choice) => choice.policy.instances) ? (['instances'] as const) : []),
    ...(largestBatch > most((choice) => choice.largestBatch) ? (['batch size'] as const) : []),
    ...(isSeen ? [] : (['variant'] as const)),
  ];
}
