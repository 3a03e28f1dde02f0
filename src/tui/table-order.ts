import { isInDoubt } from '#study/final/final.ts';
import type { StudyState } from '#study/records/state.ts';
import type { Trial } from '#study/types.ts';
import type { SortColumn } from './commands.ts';
import { findDecidingFigures, frontTrials, meetsGoal } from './figures.ts';
import { createSettingsTable } from './settings-table.ts';

export interface SortOrder {
  readonly column: SortColumn;
  readonly isDescending: boolean;
}

/** How the rows of the table are chosen and ordered. */
export interface RowChoice {
  readonly order: SortOrder;
  readonly onlyFront: boolean;
  /** The text that rows must match; '' for all. */
  readonly filter: string;
}

export const byNumber: SortOrder = { column: { kind: 'number' }, isDescending: false };

const isSame = (a: SortColumn, b: SortColumn): boolean =>
  a.kind === b.kind && (a.kind !== 'parameter' || (b.kind === 'parameter' && a.name === b.name));

export const isSortedBy = ({ column }: SortOrder, other: SortColumn): boolean => isSame(column, other);

/**
 * Returns the order by this column, the best first; the other way round if the table is in its
 * order already.
 */
export const sortedBy = (now: SortOrder, column: SortColumn): SortOrder =>
  isSame(now.column, column)
    ? { column, isDescending: !now.isDescending }
    : { column, isDescending: column.kind === 'throughput' };

/** Returns the order by the next column to the right, or to the left for a negative step. */
export function sortedByNext(now: SortOrder, study: StudyState, step: number): SortOrder {
  const parameters = createSettingsTable(study).varied.map(({ name }): SortColumn => ({ kind: 'parameter', name }));
  const builtIn = ['number', 'throughput', 'latency', 'level'] as const;
  const columns: readonly SortColumn[] = [...builtIn.map((kind) => ({ kind })), ...parameters];
  const at = columns.findIndex((each) => isSame(each, now.column));
  return sortedBy(now, columns[(at + step + columns.length) % columns.length] as SortColumn);
}

/**
 * Returns the trials in the order of the table. Those without a value for it come last in either
 * direction.
 */
export function orderedTrials(study: StudyState, { order, onlyFront, filter }: RowChoice): readonly Trial[] {
  const front = frontTrials(study);
  const terms = filter
    .toLowerCase()
    .split(/\s+/)
    .filter((term) => term !== '');
  const trials = study.trials.filter(
    (trial) => (!onlyFront || front.has(trial.number)) && terms.every((term) => matches(study, trial, front, term)),
  );
  const { column, isDescending } = order;
  const keys = new Map(trials.map((trial) => [trial, findKey(study, trial, column)]));
  return trials.sort((a, b) => {
    const [left, right] = [keys.get(a) ?? null, keys.get(b) ?? null];
    if (left === null || right === null) return Number(left === null) - Number(right === null) || a.number - b.number;
    return (isDescending ? -1 : 1) * compared(left, right) || a.number - b.number;
  });
}

type SortKey = number | string;

function compared(a: SortKey, b: SortKey): number {
  if (typeof a === 'number' && typeof b === 'number') return a - b;
  return String(a).localeCompare(String(b), 'en', { numeric: true });
}

function findKey(study: StudyState, trial: Trial, column: SortColumn): SortKey | null {
  if (column.kind === 'number') return trial.number;
  if (column.kind === 'parameter') {
    const text = createSettingsTable(study).cell(trial.candidate, column.name);
    return text === '–' ? null : Number.isFinite(Number(text)) ? Number(text) : text;
  }
  const measurement = findDecidingFigures(study, trial);
  if (!measurement) return null;
  const { throughput, budgetLatencyMs, level } = measurement;
  return { throughput: throughput.value, latency: budgetLatencyMs.value, level: level.value }[column.kind];
}

/**
 * True if the row matches a term: `name=value` by a parameter whose name contains `name` and whose
 * value is exactly `value`, or any value while there is none yet; another term by being part of the
 * row's words.
 */
function matches(study: StudyState, trial: Trial, front: ReadonlySet<number>, term: string): boolean {
  const table = createSettingsTable(study);
  const [name = '', value] = term.split('=');
  if (value === undefined) return formatWords(study, trial, front).includes(term);
  const values = table.names
    .filter((each) => each.toLowerCase().includes(name))
    .map((each) => table.cell(trial.candidate, each).toLowerCase());
  return values.some((cell) => value === '' || cell === value);
}

/** Returns what a row says, in words: its trial, outcome and settings. */
function formatWords(study: StudyState, trial: Trial, front: ReadonlySet<number>): string {
  const { cell, names } = createSettingsTable(study);
  const outcome = trial.failure
    ? `failed ${trial.failure.kind} ${trial.failure.reason}`
    : meetsGoal(study, trial)
      ? 'within budget'
      : 'over budget';
  const others = [
    ...(trial.number === study.best?.number ? ['best'] : []),
    ...(front.has(trial.number) ? ['front'] : []),
    ...(isInDoubt(study, trial) ? ['doubtful'] : []),
    ...(trial.role === 'baseline' ? ['original'] : []),
  ];
  const settings = names.map((name) => `${name}=${cell(trial.candidate, name)}`);
  return [`trial ${trial.number}`, outcome, ...others, ...settings].join(' ').toLowerCase();
}
