import { TrituneError } from '#base/errors.ts';
import type { RecordedWorkload } from './log-tally.ts';
import type { Phase, WorkloadClass } from './workload.ts';

/** A counter that was read repeatedly. */
export interface CounterSeries {
  /** The class of the counted requests. */
  readonly name: string;
  /** In rising order of time. */
  readonly readings: readonly { readonly second: number; readonly count: number }[];
}

/** A cell of the time between readings, with the rate of each class in it. */
interface Cell {
  readonly durationS: number;
  readonly perSecond: readonly number[];
}

/** A series that decreases this often is not a counter. */
const MAX_RESETS_SHARE = 0.1;
/** Rates that differ by less are one phase, */
const SAME_SHARE = 0.1;
/** and such as chance makes of one rate: three standard deviations of a Poisson count. */
const SAME_DEVIATIONS = 3;

/**
 * Makes a workload from request counters, with one class per name: phases of Poisson arrivals at
 * the rates between readings; similar rates become one phase. The arrivals between two readings are
 * unknown. A counter that decreases has restarted. Errors: INPUT_INVALID for too few readings, or
 * for a series that is not a counter.
 */
export function workloadOfCounters(series: readonly CounterSeries[]): RecordedWorkload {
  const increases = series.map((each) => ({ name: each.name, spans: listSpans(each) }));
  const names = [...new Set(increases.map(({ name }) => name))];
  const seconds = [...new Set(series.flatMap(({ readings }) => readings.map(({ second }) => second)))].sort(
    (a, b) => a - b,
  );
  if (seconds.length < 2) {
    throw invalid('there are fewer than two readings of the counters', 'give at least two scrapes, or a range query');
  }
  const cells = listCells(seconds, names, increases);
  const totals = names.map((_, index) =>
    cells.reduce((sum, cell) => sum + (cell.perSecond[index] as number) * cell.durationS, 0),
  );
  const total = totals.reduce((sum, each) => sum + each, 0);
  if (total === 0)
    throw invalid('the counters do not change: there were no requests', 'give readings from a time with traffic');
  const merged = mergedCells(cells);
  return {
    classes: names.map(
      (name, index): WorkloadClass => ({
        name,
        model: name,
        limits: {},
        weight: Number(((totals[index] as number) / total).toPrecision(4)),
      }),
    ),
    phases: merged.map(summarizePhase),
    notes: [
      `counters: ${Math.round(total)} requests in ${seconds.length} readings, phases: ${merged.length}`,
      'how requests came between readings is not known: Poisson arrivals are assumed',
    ],
  };
}

interface Span {
  readonly fromS: number;
  readonly toS: number;
  readonly perSecond: number;
}

function listSpans({ name, readings }: CounterSeries): readonly Span[] {
  let resets = 0;
  const spans = readings.slice(1).map(({ second, count }, index): Span => {
    const before = readings[index] as CounterSeries['readings'][number];
    if (count < before.count) resets++;
    const increase = count < before.count ? count : count - before.count;
    return { fromS: before.second, toS: second, perSecond: increase / (second - before.second) };
  });
  if (resets > 1 + spans.length * MAX_RESETS_SHARE) {
    throw invalid(
      `the series of ${name} goes up and down, so it is not a counter`,
      'query the counter itself, such as sum by (model) (nv_inference_request_success), not its rate',
    );
  }
  return spans;
}

function listCells(
  seconds: readonly number[],
  names: readonly string[],
  increases: readonly { readonly name: string; readonly spans: readonly Span[] }[],
): readonly Cell[] {
  const cellBySecond = new Map(seconds.map((second, index) => [second, index]));
  const rates = seconds.slice(1).map(() => names.map(() => 0));
  for (const { name, spans } of increases) {
    const column = names.indexOf(name);
    for (const { fromS, toS, perSecond } of spans) {
      for (let cell = cellBySecond.get(fromS) as number; cell < (cellBySecond.get(toS) as number); cell++) {
        const row = rates[cell] as number[];
        row[column] = (row[column] as number) + perSecond;
      }
    }
  }
  return rates.map((perSecond, cell) => ({
    perSecond,
    durationS: (seconds[cell + 1] as number) - (seconds[cell] as number),
  }));
}

/**
 * Merges a cell with the previous ones while the rates of all classes differ only slightly or by
 * chance.
 */
function mergedCells(cells: readonly Cell[]): readonly Cell[] {
  const merged: Cell[] = [];
  for (const cell of cells) {
    const last = merged.at(-1);
    if (!last || !isAlike(last, cell)) {
      merged.push(cell);
      continue;
    }
    const durationS = last.durationS + cell.durationS;
    const perSecond = last.perSecond.map(
      (rate, index) => (rate * last.durationS + (cell.perSecond[index] as number) * cell.durationS) / durationS,
    );
    merged[merged.length - 1] = { durationS, perSecond };
  }
  return merged;
}

const isAlike = (phase: Cell, { durationS, perSecond }: Cell): boolean =>
  perSecond.every((rate, index) => {
    const usual = phase.perSecond[index] as number;
    const byChance = SAME_DEVIATIONS * Math.sqrt(usual / durationS + usual / phase.durationS);
    return Math.abs(rate - usual) <= Math.max(SAME_SHARE * usual, byChance);
  });

function summarizePhase({ durationS, perSecond }: Cell): Phase {
  const rounded = (value: number): number => Number(value.toPrecision(4));
  const rates = perSecond.map(rounded);
  const total = rates.reduce((sum, rate) => sum + rate, 0);
  const weights = total > 0 ? rates : rates.map(() => 1);
  return {
    name: null,
    durationS: Number(durationS.toFixed(3)),
    mix: { from: weights, to: weights },
    arrivals: { process: 'poisson', perSecond: rounded(total), cv: 1 },
  };
}

const invalid = (message: string, hint: string): TrituneError => new TrituneError('INPUT_INVALID', message, hint);
