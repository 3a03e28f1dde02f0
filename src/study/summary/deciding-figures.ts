import { formatFigure, formatMs, formatRate, type RateUnit } from '#base/format.ts';
import { LIKELY } from '../level-chances.ts';
import type { LatencyBudget } from '../types.ts';
import { describeChance } from './describe.ts';
import { chooseRateUnit } from './rate-unit.ts';

/** Figures of a measurement, or of a point of the summary. */
interface Figures {
  readonly throughput: Value;
  readonly budgetLatencyMs: Value & { readonly percentile: number };
  readonly tokens?: {
    readonly outputTokensPerSecond: Value;
    readonly budget: { readonly ttftMs: Value; readonly itlMs: Value };
  };
  readonly replies?: { readonly batch?: number | undefined } | undefined;
  readonly rateUnit?: RateUnit | undefined;
}

type Value = { readonly value: number | null };

/** A point of the summary: as measured, and as compared if that is different. */
interface Point extends Figures {
  readonly feasible: boolean;
  readonly compared: Figures | null;
  readonly recommended: { readonly chance: number } | null;
}

/** The figures by which a verdict was made, and the verdict. */
interface Judged {
  readonly feasible: boolean;
  readonly measurement: Figures;
  /** The figures that decided: the same object where they were measured at the usual speed. */
  readonly compared: Figures;
  /** The probability on which the verdict depends; null where the figures alone decide. */
  readonly chance: number | null;
}

/**
 * Returns the point with the figures by which its verdict was made: those at the usual speed, where
 * it was measured at another one.
 */
export const decidingFigures = <P extends Point>(point: P): P => ({
  ...point,
  ...point.compared,
});

/** Returns a point of the summary as `describeBasis` takes it. */
export const judgedPoint = (point: Point): Judged => ({
  feasible: point.feasible,
  measurement: point,
  compared: point.compared ?? point,
  chance: point.recommended?.chance ?? null,
});

/**
 * Returns `basisNotes` to follow the figures:
 * ` (normalised to the usual speed; measured 812 infer/s, p99 131 ms)`. '' without any.
 */
export function describeBasis(judged: Judged, budget: LatencyBudget | null): string {
  const notes = basisNotes(judged, budget);
  return notes.length === 0 ? '' : ` (${notes.join('; ')})`;
}

/**
 * Returns what a reader must know of the figures beside a verdict: what was measured where they are
 * normalised, and the probability that decided where the latency alone says otherwise. Empty where
 * neither is so.
 */
export const basisNotes = (judged: Judged, budget: LatencyBudget | null): readonly string[] => [
  ...normalisedNote(judged),
  ...chanceNote(judged, budget),
];

function normalisedNote({ measurement, compared }: Judged): readonly string[] {
  return measurement === compared ? [] : [`normalised to the usual speed; measured ${describeShort(measurement)}`];
}

function describeShort(figures: Figures): string {
  const {
    throughput,
    budgetLatencyMs: { percentile, value },
    tokens,
  } = figures;
  const ms = (of: Value): string => formatMs(of.value ?? Number.NaN);
  if (!tokens)
    return `${formatRate(throughput.value ?? Number.NaN, chooseRateUnit(figures))}, p${percentile} ${ms({ value })}`;
  const rate = `${formatFigure(tokens.outputTokensPerSecond.value ?? Number.NaN)} output tokens/s`;
  return `${rate}, p${percentile} TTFT ${ms(tokens.budget.ttftMs)}, ITL ${ms(tokens.budget.itlMs)}`;
}

function chanceNote({ feasible, compared, chance }: Judged, budget: LatencyBudget | null): readonly string[] {
  const { percentile, value } = compared.budgetLatencyMs;
  if (!budget || chance === null || value === null || percentile !== budget.percentile) return [];
  const isWithin = value <= budget.latencyMs;
  if (isWithin === feasible || (!feasible && chance >= LIKELY)) return [];
  const here = isWithin ? 'within' : 'over';
  return [
    `this measurement is ${here} the budget; by all of them it is kept with ${describeChance(chance)} probability`,
  ];
}
