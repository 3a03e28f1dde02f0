import { summarizeLatencies } from '#profiler/latency-summary.ts';
import type { Measurement } from '#profiler/measurement.ts';
import { type StageSplit, stageSplits } from '#study/analysis/stages.ts';
import { representative } from '#study/final/final.ts';
import type { StudyState } from '#study/records/state.ts';
import { shortLevel } from '#study/summary/describe.ts';
import type { Trial } from '#study/types.ts';
import type { StagesBar } from '../charts/stages-chart.ts';
import { listLines, trialName } from './points.ts';

/**
 * Returns the split of each stage in the measurement that represents a trial; empty for a single
 * model.
 */
export function listSplits(state: StudyState, trial: Trial, measurement: Measurement): readonly StageSplit[] {
  const { topology } = state.started;
  return topology ? stageSplits(measurement, topology, trial.candidate.shape) : [];
}

/**
 * Returns bars for up to this many trials of a pipeline: the time of a client's request at each
 * stage, over all calls. Parallel stages are added up, so a bar may be longer than the latency;
 * then nothing is left for elsewhere.
 */
export function stageBars(state: StudyState, most: number): readonly StagesBar[] {
  return listLines(state, most).flatMap((trial): StagesBar[] => {
    const measurement = representative(state, trial)?.measurement;
    const splits = measurement ? listSplits(state, trial, measurement) : [];
    if (!measurement || splits.length === 0) return [];
    const stages = splits.map(({ model, timesPerRequest, queueMs, computeMs }) => ({
      model,
      queueMs: queueMs * timesPerRequest,
      computeMs: computeMs * timesPerRequest,
    }));
    const inside = stages.reduce((sum, { queueMs, computeMs }) => sum + queueMs + computeMs, 0);
    return [
      {
        name: `${trialName(state, trial)} @ ${shortLevel(measurement.level)}`,
        stages,
        outsideMs: Math.max(0, summarizeLatencies(measurement).avg - inside),
      },
    ];
  });
}
