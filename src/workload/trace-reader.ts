import { csvCells } from '#base/csv.ts';
import { isJsonObject } from '#base/json.ts';
import { lookUp } from '#base/look-up.ts';
import { didYouMean } from '#base/nearest.ts';
import { BadRecord } from '#base/records.ts';
import { timeNs } from './trace-times.ts';
import type { TimeUnit } from './workload-schema.ts';

/** Which parts of a record say when a request came and what it was. */
export interface TraceColumns {
  readonly column?: string | undefined;
  readonly classColumn?: string | undefined;
  readonly unit?: TimeUnit | undefined;
}

export interface TraceRecord {
  readonly timeNs: number;
  /** null if no column has it. */
  readonly className: string | null;
}

/** Reads one record. Throws BadRecord. */
type RecordReader = (text: string) => TraceRecord;

/** How the records of a file are read. */
export interface TraceReader {
  readonly read: RecordReader;
  /** The first record is one of them; false for a header. */
  readonly takesFirst: boolean;
}

/**
 * Names of the time in logs and published traces, in the order in which they are looked for; in any
 * case of letters.
 */
const TIME_NAMES = [
  ...['timestamp', 'time', 'ts', '@timestamp', 'arrival_time', 'arrived_at', 'arrival', 'arrival_timestamp'],
  ...['start_time', 'start', 'time_local', 'time_iso8601', 'datetime', 'date', 'asctime', 't'],
];

/**
 * Returns how to read the records of a file by its first: numbers, one a line; CSV, with a header;
 * JSON, a number or an object each. The columns of Azure's traces of functions (`end_timestamp`,
 * `duration`) and Mooncake's milliseconds are known. Throws BadRecord.
 */
export function createTraceReader(first: string, columns: TraceColumns): TraceReader {
  if (first.startsWith('{')) return jsonReader(first, columns);
  if (isNumber(first)) return numberReader(first, columns);
  const names = csvCells(first);
  if (names.some(isNumber)) {
    throw new BadRecord(
      `'${first.slice(0, 60)}' is neither a number nor the header of columns`,
      'write one number a line, or name the columns in the first line',
    );
  }
  return csvReader(names, columns);
}

const isNumber = (text: string): boolean => text !== '' && Number.isFinite(Number(text));

function numberReader(first: string, { column, classColumn, unit: unitName }: TraceColumns): TraceReader {
  if ((column ?? classColumn) !== undefined) {
    throw new BadRecord('the file has one number a line and no columns', 'leave out column and classColumn');
  }
  const unit = unitName ?? usualUnit(Number(first));
  return { read: (text) => ({ timeNs: timeNs(text, unit), className: null }), takesFirst: true };
}

function csvReader(names: readonly string[], { column, classColumn, unit: unitName }: TraceColumns): TraceReader {
  const findColumn = (name: string): number => names.findIndex((each) => each.toLowerCase() === name.toLowerCase());
  const toPlace = (name: string): number => {
    const index = findColumn(name);
    if (index >= 0) return index;
    throw new BadRecord(`there is no column '${name}'${didYouMean(name, names)}`, `write one of ${formatNames(names)}`);
  };
  const classPlace = classColumn === undefined ? null : toPlace(classColumn);
  const isOfFunctions = column === undefined && findColumn('end_timestamp') >= 0 && findColumn('duration') >= 0;
  const timePlace = isOfFunctions ? findColumn('end_timestamp') : toPlace(column ?? timeNameIn(names));
  const durationPlace = isOfFunctions ? findColumn('duration') : null;
  let unit = unitName;
  const read = (text: string): TraceRecord => {
    const cells = csvCells(text);
    if (cells.length < names.length) {
      throw new BadRecord(`it has ${cells.length} of ${names.length} columns`, 'check that the file is complete');
    }
    const time = cells[timePlace] as string;
    unit ??= usualUnit(Number(time));
    const tookNs = durationPlace === null ? 0 : timeNs(cells[durationPlace], unit);
    return {
      timeNs: timeNs(time, unit) - tookNs,
      className: classPlace === null ? null : (cells[classPlace] as string),
    };
  };
  return { read, takesFirst: false };
}

function jsonReader(first: string, { column, classColumn, unit: unitName }: TraceColumns): TraceReader {
  const sample = parseObject(first);
  const name = column ?? timeNameIn(Object.keys(sample));
  const unit = unitName ?? ('input_length' in sample ? 'ms' : usualUnit(Number(toField(sample, name))));
  const read = (text: string): TraceRecord => {
    const record = parseObject(text);
    const time = toField(record, name);
    if (time === undefined)
      throw new BadRecord(`it has no field '${name}'`, `write one of ${formatNames(Object.keys(record))}`);
    const label = classColumn === undefined ? null : toField(record, classColumn);
    if (label === undefined) throw new BadRecord(`it has no field '${classColumn}'`, 'name a field that all have');
    return { timeNs: timeNs(time, unit), className: label === null ? null : String(label) };
  };
  return { read, takesFirst: true };
}

function parseObject(text: string): Readonly<Record<string, unknown>> {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw new BadRecord('it is not JSON', 'write one JSON object on each line, or all of them in one JSON list');
  }
  if (isJsonObject(value)) return value;
  throw new BadRecord('it is not a JSON object', 'write for example {"timestamp": 0.5, "model": "resnet"}');
}

/** The field with this name, or the one that a path such as `request.time` leads to. */
function toField(record: Readonly<Record<string, unknown>>, name: string): unknown {
  if (Object.hasOwn(record, name)) return record[name];
  return name
    .split('.')
    .reduce<unknown>((value, part) => (isJsonObject(value) ? lookUp(value, part) : undefined), record);
}

function timeNameIn(names: readonly string[]): string {
  const foundName = TIME_NAMES.map((name) => names.find((each) => each.toLowerCase() === name)).find(
    (name) => name !== undefined,
  );
  if (foundName !== undefined) return foundName;
  throw new BadRecord('no column has the name of a time', `write column: and one of ${formatNames(names)}`);
}

/**
 * Numbers as large as the Unix time of our days in a finer unit are in that unit; others are
 * seconds.
 */
function usualUnit(first: number): TimeUnit {
  if (first >= 1e17) return 'ns';
  if (first >= 1e14) return 'us';
  return first >= 1e11 ? 'ms' : 's';
}

const MAX_NAMED = 12;
const formatNames = (names: readonly string[]): string =>
  `${names.slice(0, MAX_NAMED).join(', ')}${names.length > MAX_NAMED ? ', …' : ''}`;
