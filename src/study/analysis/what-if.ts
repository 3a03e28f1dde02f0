import { findLaw, type Law } from '#perfmodel/laws.ts';
import { createPredictor, type Predicted } from '#perfmodel/predictor.ts';
import type { Measurement } from '#profiler/measurement.ts';
import type { Candidate } from '#space/types.ts';
import { lineIn, representative } from '../final/final.ts';
import { type LevelLine, lineThrough } from '../level-line.ts';
import type { StudyState } from '../records/state.ts';
import { trialsToFit } from '../search/queueing/training-subset.ts';
import { reportDraw } from '../summary/prediction.ts';
import type { Trial } from '../types.ts';
import { settingsOfStudy } from './settings.ts';
import { type Bounds, type Misses, predictionMisses, toRange } from './what-if-misses.ts';
import { nearby } from './what-if-nearby.ts';

/** Predictions for the configs around the best, level by level, with the model's errors so far. */
export interface WhatIf {
  readonly percentile: number;
  readonly parameters: readonly { readonly name: string; readonly values: readonly string[] }[];
  /** What the levels are: concurrencies, or client batches if the study varies only these. */
  readonly varies: LevelLine['varies'];
  /** Rising. */
  readonly levels: readonly number[];
  /** The best's first. */
  readonly configs: readonly WhatIfConfig[];
  /** null when no measurement could be predicted from other trials. */
  readonly misses: Misses | null;
  /** Measurements that the model was fitted to. */
  readonly from: number;
}

/** One config with its predictions. */
export interface WhatIfConfig {
  readonly candidate: Candidate;
  /** The index of the value for each parameter. */
  readonly settings: readonly number[];
  /** The trial that measured this config; null when none did. */
  readonly trial: number | null;
  /** One cell per level; null if the model cannot predict. */
  readonly cells: readonly (WhatIfCell | null)[];
}

/** The prediction for one config at one level. */
export interface WhatIfCell {
  /** infer/s. */
  readonly throughput: number;
  readonly p50Ms: number;
  /** Milliseconds at the budget's percentile. */
  readonly latencyMs: number;
  /**
   * True for an extrapolation: nothing measured had as many instances, batches as large, or the
   * same other settings.
   */
  readonly isGuess: boolean;
  /** The range of 9 of 10 measurements; null when unknown. */
  readonly throughputRange: Bounds | null;
  readonly latencyRange: Bounds | null;
}

/** The reason why there are no predictions. */
export interface NoWhatIf {
  readonly reason: string;
}

const MAX_LEVELS = 10;

const known = new WeakMap<StudyState, WhatIf | NoWhatIf>();

/**
 * Predicts the configs around the best. Pure: the same state gives the same figures, and is
 * computed once. The model is fitted to the trials scaled to the machine's usual speed.
 */
export function whatIf(state: StudyState): WhatIf | NoWhatIf {
  const outlook = known.get(state) ?? predicted(state);
  known.set(state, outlook);
  return outlook;
}

function predicted(state: StudyState): WhatIf | NoWhatIf {
  const { started, best, compared } = state;
  const stands = best && representative(state, best)?.measurement;
  if (!best || !stands) return { reason: 'nothing was measured' };
  if (started.levels.mode !== 'concurrency') {
    return { reason: 'the queueing model predicts closed loops (--concurrency), not request rates' };
  }
  const law = findLaw(started.topology, best.candidate.shape);
  if (!law.models(best.candidate.shape)) return { reason: `the queueing model knows no ${law.lacks}` };
  const fitted = trialsToFit(compared.trials, state.goal);
  const from = fitted.reduce((sum, trial) => sum + law.listTelling(trial).length, 0);
  if (from === 0) return { reason: "no measurement came with the server's statistics by batch size" };
  return predictedAround(state, best, stands, { law, fitted, from });
}

function predictedAround(
  state: StudyState,
  best: Trial,
  stands: Measurement,
  { law, fitted, from }: { readonly law: Law; readonly fitted: readonly Trial[]; readonly from: number },
): WhatIf | NoWhatIf {
  const { started, compared } = state;
  const { percentile } = stands.budgetLatencyMs;
  const line = lineIn(state, best.number) ?? lineThrough(stands.level, started.levels);
  const levels = listLevels(state, line, stands);
  const most = Math.floor(law.maxSimulations / levels.length);
  const candidates = nearby(started, best.candidate, compared.trials, most);
  const predictor = createPredictor(law, fitted, reportDraw(percentile, law.requests.many), candidates);
  const misses = predictionMisses(fitted, percentile, law);
  const configs = candidates.map((candidate) => ({
    candidate,
    cells: levels.map((value): WhatIfCell | null => {
      const predicted = predictor?.predict(candidate, { mode: 'concurrency', ...line.levelAt(value) });
      return predicted && !predicted.extrapolates.includes('variant') ? toCell(predicted, misses) : null;
    }),
  }));
  const known = configs.filter(({ cells }) => cells.some((cell) => cell !== null));
  if (known.length === 0) return { reason: 'the queueing model cannot say anything about these configs' };
  return { percentile, varies: line.varies, levels, from, misses, ...byParameter(state, known) };
}

const toCell = (
  { throughput, budgetLatency, latencyMs, extrapolates }: Predicted,
  misses: Misses | null,
): WhatIfCell => ({
  throughput: throughput.value,
  p50Ms: latencyMs(50),
  latencyMs: budgetLatency.value,
  isGuess: extrapolates.length > 0,
  throughputRange: misses && toRange(throughput, misses.throughput),
  latencyRange: misses && toRange(budgetLatency, misses.latency),
});

function byParameter(
  { started, trials, best }: StudyState,
  configs: readonly { readonly candidate: Candidate; readonly cells: WhatIfConfig['cells'] }[],
): Pick<WhatIf, 'parameters' | 'configs'> {
  const settings = settingsOfStudy(started, trials);
  const texts = configs.map(({ candidate }) => settings.of(candidate));
  const values = settings.names.map((_, parameter) =>
    [...new Set(texts.map((row) => row[parameter] as string))].sort((a, b) =>
      a.localeCompare(b, 'en', { numeric: true }),
    ),
  );
  const measuredBy = new Map(
    // If several trials have one config, the best counts, else the latest.
    [...trials, ...(best ? [best] : [])]
      .filter((trial) => trial.measurements.length > 0)
      .map((each) => [each.candidate.fingerprint, each.number]),
  );
  const moves = values.map((each) => each.length > 1);
  return {
    parameters: settings.names
      .map((name, parameter) => ({ name, values: values[parameter] as string[] }))
      .filter((_, i) => moves[i]),
    configs: configs.map(({ candidate, cells }, row) => ({
      candidate,
      settings: values.map((each, i) => each.indexOf(texts[row]?.[i] as string)).filter((_, i) => moves[i]),
      trial: measuredBy.get(candidate.fingerprint) ?? null,
      cells,
    })),
  };
}

/** Returns levels at doublings over the measured range and one beyond, including the best's own. */
function listLevels({ trials }: StudyState, { range, toPosition }: LevelLine, stands: Measurement): number[] {
  const { low, high } = range;
  const position = toPosition(stands.level) ?? low;
  const measured = trials.flatMap(({ measurements }) => measurements.flatMap(({ level }) => toPosition(level) ?? []));
  const top = Math.min(high, 2 * Math.max(position, ...measured));
  const doublings = Array.from({ length: MAX_LEVELS - 2 }, (_, power) => low * 2 ** power).filter((each) => each < top);
  return [...new Set([...doublings, position, top])].sort((a, b) => a - b);
}
