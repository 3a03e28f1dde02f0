import { defaultWindowRule } from '../profiler/level-options.ts';
import type { SamplerName } from './tune-options.ts';

/** Measurements of a search: some before the samplers know where the levels are, and some for each trial. From studies in virtual time. */
const SEARCHES: Readonly<Record<'queueing' | 'walk' | 'sweep', { readonly first: number; readonly perTrial: number }>> =
  {
    queueing: { first: 3, perTrial: 1.15 },
    walk: { first: 10, perTrial: 2.5 },
    sweep: { first: 7, perTrial: 6.8 },
  };
/** The samplers that stop by themselves do so after about as many trials. */
const USUAL_TRIALS: Partial<Record<SamplerName, number>> = { queueing: 12, 'hill-climb': 8 };

/** Sides that meet in a round of the final, the original config among them; those that lose go out. */
const FINALISTS = 2.7;

/** Warm-up, waking the instances, and letting requests in flight end; and windows until it is enough. */
const MEASUREMENT = { besideSeconds: 0.55, windows: 4.5 };
/** A window holds about so many latencies one after the other where that is longer than its least length. */
const LATENCIES_PER_WINDOW = 20;
/** The levels that are worth measuring have a mean latency of about so much of the budget; a sweep has many below. */
const SHARE_OF_BUDGET = { queueing: 0.55, walk: 0.55, sweep: 0.35 };
/** A full load and the calm after it: of small models on a real Triton, and of the emulator's profiles. */
const LOAD_SECONDS = { real: 2, emulated: 0.3 };

/** What is known before a study. */
export interface Prospect {
  readonly sampler: SamplerName;
  /** At most; Infinity where the space has no end. */
  readonly trials: number;
  readonly finalRounds: number;
  /** null where there is none. */
  readonly budgetMs: number | null;
  readonly timeBudgetMs: number;
  readonly isEmulated: boolean;
}

/**
 * What a study is likely to take. Good to about 30 % where the budget is what ends the levels; less where the model's
 * latencies stay far below it, and where loads are slow, which nobody knows before the first.
 */
export function expectedDuration(prospect: Prospect): { readonly seconds: number; readonly measurements: number } {
  const { sampler, finalRounds, budgetMs, timeBudgetMs, isEmulated } = prospect;
  const kind = sampler === 'queueing' ? sampler : sampler === 'grid' ? 'sweep' : 'walk';
  const trials = Math.min(prospect.trials, USUAL_TRIALS[sampler] ?? Number.POSITIVE_INFINITY);
  const { first, perTrial } = SEARCHES[kind];
  const finals = finalRounds * FINALISTS;
  const measurements = first + perTrial * trials + finals;
  const { minWindowMs, maxWindowMs } = defaultWindowRule;
  const wantedMs = LATENCIES_PER_WINDOW * SHARE_OF_BUDGET[kind] * (budgetMs ?? 0);
  const windowMs = Math.min(Math.max(wantedMs, minWindowMs), maxWindowMs);
  const measuring = measurements * (MEASUREMENT.besideSeconds + (MEASUREMENT.windows * windowMs) / 1e3);
  const loading = (trials + finals) * (isEmulated ? LOAD_SECONDS.emulated : LOAD_SECONDS.real);
  return { seconds: Math.min(measuring + loading, timeBudgetMs / 1e3), measurements: Math.ceil(measurements) };
}
