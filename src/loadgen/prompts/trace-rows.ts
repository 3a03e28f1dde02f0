import { BadRecord } from '#base/records.ts';
import { NS_PER_MS, NS_PER_S } from '#base/units.ts';
import { dayTimeNs } from '#workload/trace-times.ts';
import type { JsonRecord } from './recorded-prompts.ts';

/** A request of a trace: its arrival and its lengths. */
export interface TraceRow {
  /** On the trace's own clock; null without one. */
  readonly arrivalNs: number | null;
  readonly inputTokens: number;
  readonly outputTokens: number;
  /** Names of the blocks that its prompt begins with; equal names mean equal text. */
  readonly blocks: readonly number[];
}

/** A kind of CSV trace, recognised by its header. */
export interface CsvTrace {
  readonly name: string;
  /**
   * Returns the row of a line; null if it is not a request: a failed one has no output, or no
   * input. Throws BadRecord.
   */
  toRow(line: string): TraceRow | null;
}

/**
 * Mooncake's traces: `timestamp` in milliseconds, `hash_ids` of blocks of 512 tokens (FAST 2025,
 * section 4). Throws BadRecord.
 */
export function mooncakeRow(record: JsonRecord): TraceRow {
  const { timestamp, hash_ids: blocks = [] } = record;
  if (!Array.isArray(blocks) || !blocks.every((block) => Number.isSafeInteger(block))) {
    throw new BadRecord(
      'its "hash_ids" is not a list of whole numbers',
      'leave it out, or give a number for each 512 tokens',
    );
  }
  if (timestamp !== undefined && !(typeof timestamp === 'number' && timestamp >= 0 && Number.isFinite(timestamp))) {
    throw new BadRecord('its "timestamp" is not a time', 'give milliseconds of 0 or more');
  }
  return {
    arrivalNs: timestamp === undefined ? null : timestamp * NS_PER_MS,
    inputTokens: parseWhole(record.input_length, '"input_length"'),
    outputTokens: parseWhole(record.output_length ?? 1, '"output_length"'),
    blocks: blocks as readonly number[],
  };
}

/** Recognised by the names of their columns, in upper or lower case. */
const csvTraces = [
  {
    name: 'a BurstGPT trace',
    columns: ['timestamp', 'request tokens', 'response tokens'],
    parseTime: (text: string) => parseNumber(text, 'Timestamp') * NS_PER_S,
  },
  {
    name: 'an Azure LLM trace',
    columns: ['timestamp', 'contexttokens', 'generatedtokens'],
    parseTime: dayTimeNs,
  },
] as const;

/** Returns the kind of trace with this header; null if unknown. */
export function findCsvTrace(header: string): CsvTrace | null {
  const names = splitCells(header).map((name) => name.toLowerCase());
  const kind = csvTraces.find(({ columns }) => columns.every((column) => names.includes(column)));
  if (!kind) return null;
  const [time, input, output] = kind.columns.map((column) => names.indexOf(column)) as [number, number, number];
  return {
    name: kind.name,
    toRow: (line) => {
      const cells = splitCells(line);
      if (cells.length < names.length)
        throw new BadRecord(`it has ${cells.length} of ${names.length} columns`, 'check that the file is complete');
      const inputTokens = parseWhole(cells[input], kind.columns[1]);
      const outputTokens = parseWhole(cells[output], kind.columns[2]);
      if (inputTokens === 0 || outputTokens === 0) return null;
      return { arrivalNs: kind.parseTime(cells[time] as string), inputTokens, outputTokens, blocks: [] };
    },
  };
}

const splitCells = (line: string): readonly string[] =>
  line.split(',').map((cell) => cell.trim().replace(/^"(.*)"$/, '$1'));

function parseWhole(value: unknown, name: string): number {
  const tokens = typeof value === 'string' && value !== '' ? Number(value) : value;
  if (Number.isSafeInteger(tokens) && (tokens as number) >= 0) return tokens as number;
  throw new BadRecord(`its ${name} is not a number of tokens`, 'give a whole number of 0 or more');
}

function parseNumber(text: string, name: string): number {
  const value = Number(text);
  if (text !== '' && value >= 0 && Number.isFinite(value)) return value;
  throw new BadRecord(`its ${name} is not a time`, 'give seconds of 0 or more');
}
