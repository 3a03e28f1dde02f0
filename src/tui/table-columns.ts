import { foreign } from './rows.ts';
import type { VariedParameter } from './settings-table.ts';

/** A column of the table for one varied parameter. */
export interface ParameterColumn extends VariedParameter {
  readonly header: string;
  /** Columns of the terminal, with the space before it. */
  readonly width: number;
}

/** The columns that fit, in the order of the search space, and the number of those that do not. */
export interface ParameterColumns {
  readonly columns: readonly ParameterColumn[];
  readonly hidden: number;
}

/** How much of a parameter's name a header shows, from most to least. */
const densities: readonly ((name: string, among: readonly string[]) => string)[] = [
  (name) => name,
  (name, among) => firstWord(name, among),
  (name, among) => beginning(name, among),
];

/** The columns for `+9`, the number of hidden ones. */
const HIDDEN_COLUMNS = 3;

/**
 * Returns a column for each varied parameter. Shortens headers as far as needed for all of them; if
 * even the shortest need more than `room`, leaves out those of the least weight, the widest first.
 */
export function columnsFor(varied: readonly VariedParameter[], room: number): ParameterColumns {
  const parameters = [...new Set(varied.map(({ parameter }) => parameter))];
  const layouts = densities.map((formatHeader) =>
    varied.map((each) => toColumn(each, formatHeader(each.parameter, parameters))),
  );
  const fitting = layouts.find((columns) => widthOfColumns(columns) <= room);
  if (fitting) return { columns: lengthened(fitting, room), hidden: 0 };
  let columns = layouts.at(-1) as readonly ParameterColumn[];
  while (columns.length > 0 && widthOfColumns(columns) > room - HIDDEN_COLUMNS) {
    const least = columns.reduce((lightest, each) => (isBefore(each, lightest) ? each : lightest));
    columns = columns.filter((each) => each !== least);
  }
  return { columns: lengthened(columns, room - HIDDEN_COLUMNS), hidden: varied.length - columns.length };
}

/** True for the column that is left out before the other. */
const isBefore = (one: ParameterColumn, other: ParameterColumn): boolean =>
  one.weight === other.weight ? one.width > other.width : one.weight < other.weight;

/** Gives the room that is left to headers that are cut, a letter each in turn. */
function lengthened(columns: readonly ParameterColumn[], room: number): readonly ParameterColumn[] {
  let [result, isDone] = [columns, false];
  while (!isDone) {
    isDone = true;
    for (const [index, column] of result.entries()) {
      const longer = toColumn(column, column.parameter.slice(0, column.header.length + 1));
      const next = result.with(index, longer);
      if (longer.header === column.header || widthOfColumns(next) > room) continue;
      [result, isDone] = [next, false];
    }
  }
  return result.map((column) => ({ ...column, header: column.header.replace(/_+$/, '') }));
}

const toColumn = (varied: VariedParameter, name: string): ParameterColumn => {
  const header = foreign(name);
  return { ...varied, header, width: 1 + Math.max(header.length, varied.longest) };
};

/** A space more before each model but the first. */
const isNextModel = (columns: readonly ParameterColumn[], index: number): boolean =>
  index > 0 && columns[index]?.model !== columns[index - 1]?.model;

/** Returns the columns of the terminal before the column's text and its own space. */
export const gapBefore = (columns: readonly ParameterColumn[], index: number): number =>
  isNextModel(columns, index) ? 1 : 0;

const widthOfColumns = (columns: readonly ParameterColumn[]): number =>
  columns.reduce((sum, { width }, index) => sum + width + gapBefore(columns, index), 0);

function firstWord(name: string, among: readonly string[]): string {
  const word = (text: string): string => text.split('_')[0] as string;
  return among.filter((other) => word(other) === word(name)).length > 1 ? name : word(name);
}

const MIN_LETTERS = 3;

/** Returns the shortest beginning that no other name has. */
function beginning(name: string, among: readonly string[]): string {
  const others = among.filter((other) => other !== name);
  for (let letters = MIN_LETTERS; letters < name.length; letters++) {
    const start = name.slice(0, letters);
    if (!others.some((other) => other.startsWith(start))) return start;
  }
  return name;
}
