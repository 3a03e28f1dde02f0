import { isModelled, observationsOf } from '../perfmodel/observations.ts';
import type { Measurement } from '../profiler/measurement.ts';
import type { Candidate } from '../space/types.ts';
import { representative } from './final.ts';
import { forecaster } from './fitted-prediction.ts';
import { settingsOf, spaceOf } from './settings.ts';
import type { StudyState } from './state.ts';
import type { Trial } from './types.ts';
import { drawOf } from './what-if/draw.ts';
import { foretoldMisses, type Misses } from './what-if/misses.ts';
import { nearby } from './what-if/nearby.ts';

/** What the queueing model expects of the configs around the best, level by level, and how far it was off so far. */
export interface WhatIf {
  readonly percentile: number;
  readonly knobs: readonly { readonly name: string; readonly values: readonly string[] }[];
  /** Concurrencies, rising. */
  readonly levels: readonly number[];
  /** The best's first. */
  readonly configs: readonly WhatIfConfig[];
  /** null when nothing could be foretold that was measured. */
  readonly misses: Misses | null;
  /** Measurements behind the model. */
  readonly from: number;
}

export interface WhatIfConfig {
  /** For each knob the index of its value. */
  readonly settings: readonly number[];
  /** The trial that measured this config; null when none did. */
  readonly trial: number | null;
  /** For each level; null where the model cannot say. */
  readonly cells: readonly (WhatIfCell | null)[];
}

export interface WhatIfCell {
  /** infer/s. */
  readonly throughput: number;
  readonly p50Ms: number;
  /** At the percentile of the budget. */
  readonly latencyMs: number;
  /** Nothing measured had so many instances, batches so large, or the same other settings. */
  readonly isGuess: boolean;
}

/** Why there is nothing to move. */
export interface NoWhatIf {
  readonly reason: string;
}

/** Simulations in all: less than a second. */
const MOST_SIMULATIONS = 600;
const MOST_LEVELS = 10;

/** Pure and repeatable: the same state gives the same figures. They are fitted to, and held against, the trials at the machine's usual speed. */
export function whatIf(state: StudyState): WhatIf | NoWhatIf {
  const { started, best, compared } = state;
  const stands = best && representative(state, best)?.measurement;
  if (!best || !stands) return { reason: 'nothing was measured' };
  if (started.levels.mode !== 'concurrency') {
    return { reason: 'the queueing model foretells closed loops (--concurrency), not request rates' };
  }
  if (!isModelled(best.candidate.config)) {
    return { reason: 'the queueing model knows no sequences, ensembles or decoupled models' };
  }
  const from = compared.trials.flatMap(observationsOf).length;
  if (from === 0) return { reason: "no measurement came with the server's statistics by batch size" };
  return foretold(state, best, stands, from);
}

function foretold(state: StudyState, best: Trial, stands: Measurement, from: number): WhatIf | NoWhatIf {
  const { started, compared } = state;
  const { trials } = compared;
  const { percentile } = stands.budgetLatencyMs;
  const space = spaceOf(started);
  const levels = levelsOf(state, stands);
  const most = Math.floor(MOST_SIMULATIONS / levels.length);
  const candidates = nearby(space, started.originalConfig, best.candidate, trials, most);
  const forecast = forecaster(trials);
  const draw = drawOf(percentile);
  const configs = candidates.map((candidate) => ({
    candidate,
    cells: levels.map((value): WhatIfCell | null => {
      const told = forecast(candidate.config, { mode: 'concurrency', value }, draw);
      if (!told || told.extrapolates.includes('variant')) return null;
      const { throughput, latencyMs, budgetLatencyMs, extrapolates } = told;
      return { throughput, p50Ms: latencyMs.p50, latencyMs: budgetLatencyMs.value, isGuess: extrapolates.length > 0 };
    }),
  }));
  const known = configs.filter(({ cells }) => cells.some((cell) => cell !== null));
  if (known.length === 0) return { reason: 'the queueing model cannot say anything about these configs' };
  return { percentile, levels, from, misses: foretoldMisses(trials, percentile), ...asKnobs(state, known) };
}

function asKnobs(
  { started, trials }: StudyState,
  configs: readonly { readonly candidate: Candidate; readonly cells: WhatIfConfig['cells'] }[],
): Pick<WhatIf, 'knobs' | 'configs'> {
  const settings = settingsOf(spaceOf(started), trials);
  const texts = configs.map(({ candidate }) => settings.of(candidate));
  const values = settings.names.map((_, knob) =>
    [...new Set(texts.map((row) => row[knob] as string))].sort((a, b) => a.localeCompare(b, 'en', { numeric: true })),
  );
  const measuredBy = new Map(
    trials.filter((trial) => trial.measurements.length > 0).map((each) => [each.candidate.fingerprint, each.number]),
  );
  const moves = values.map((each) => each.length > 1);
  return {
    knobs: settings.names.map((name, knob) => ({ name, values: values[knob] as string[] })).filter((_, i) => moves[i]),
    configs: configs.map(({ candidate, cells }, row) => ({
      settings: values.map((each, i) => each.indexOf(texts[row]?.[i] as string)).filter((_, i) => moves[i]),
      trial: measuredBy.get(candidate.fingerprint) ?? null,
      cells,
    })),
  };
}

/** Doublings over what was measured and one beyond, the best's own level among them. */
function levelsOf({ started, trials }: StudyState, stands: Measurement): number[] {
  const { low, high } = started.levels;
  const measured = trials.flatMap(({ measurements }) => measurements.map(({ level }) => level.value));
  const top = Math.min(high, 2 * Math.max(...measured));
  const doublings = Array.from({ length: MOST_LEVELS - 2 }, (_, power) => low * 2 ** power).filter(
    (each) => each < top,
  );
  return [...new Set([...doublings, stands.level.value, top])].sort((a, b) => a - b);
}
