import { TrituneError } from '#base/errors.ts';
import type { RequestParameter } from '#loadgen/types.ts';
import type { HeaderSpec } from '#spec/server-spec.ts';
import { type IntegerRanges, OTHERS, type RequestSpec, rangesByInput } from '#workload/request-spec.ts';
import { headerOptionTable } from './headers.ts';
import { type OptionTable, under } from './option-table.ts';
import { positiveWhole, wholeNumber, wholeRange } from './option-values.ts';

/** The options for requests. */
export type RequestFlags = RequestSpec & HeaderSpec;

export const requestOptionTable: OptionTable<RequestFlags> = under<RequestFlags>('Requests', {
  batch: {
    flags: '-b, --batch <n>',
    help: 'Samples in one request',
    parse: oneBatch,
  },
  inputData: {
    flags: '--input-data <what>',
    help: 'Data to send: zero, random, a JSON file, or a directory with a file for each input; repeatable (default: random)',
  },
  shape: {
    flags: '--shape <input:d1,d2>',
    help: 'Shape of an input with variable dimensions, without the batch dimension; repeatable',
    parse: namedShape,
  },
  integers: {
    flags: '--integers <low:high>',
    help: 'Range of random integers; INPUT=LOW:HIGH for one input; repeatable (default: by the name of the input, or 0:99)',
    parse: integerRanges,
  },
  stringData: { flags: '--string-data <text>', help: 'Text of every string (default: random letters)' },
  stringLength: {
    flags: '--string-length <n>',
    help: 'Letters in a random string (default: 128)',
  },
  maxInputSize: {
    flags: '--max-input-size <mib>',
    help: 'Most MiB of made-up values in one request (default: 256)',
  },
  outputTolerance: {
    flags: '--output-tolerance <x>',
    help: 'Allowed relative error of a floating-point output (default: outputs must be identical)',
  },
  requestParameter: {
    flags: '--request-parameter <name:value:type>',
    help: 'Parameter sent with every request; the type is bool, int, double or string; repeatable',
    parse: requestParameter,
  },
  sequenceLength: {
    flags: '--sequence-length <n>',
    heading: 'Sequences',
    help: 'Requests in a sequence, for models with sequence batching (default: all of a stream in the data, or 20)',
  },
  sequenceLengthVariation: {
    flags: '--sequence-length-variation <percent>',
    heading: 'Sequences',
    help: 'Variation of --sequence-length, in percent (default: 20)',
    parse: percentage,
  },
  sequenceIds: {
    flags: '--sequence-ids <low:high>',
    heading: 'Sequences',
    help: 'Range of correlation ids (default: 1:4294967295)',
    parse: wholeRange,
  },
  ...headerOptionTable,
});

const usage = (message: string, hint: string): TrituneError => new TrituneError('USAGE', message, hint);

/** Errors: USAGE, also for several numbers, which Model Analyzer's `-b` takes. */
export function oneBatch(text: string): number {
  if (!/^\d+[,:]/.test(text)) return positiveWhole(text);
  throw usage(
    `'${text}' is more than one number`,
    'give one; several are for tune --batch-size LOW:HIGH and profile --scenario offline --batch-sizes N,N',
  );
}

/** Adds 'NAME:D1,D2' to the earlier shapes. Names may contain colons. */
function namedShape(
  text: string,
  previous: Readonly<Record<string, readonly number[]>> | undefined,
): Readonly<Record<string, readonly number[]>> {
  const match = /^(.+):(\d{1,9}(?:,\d{1,9})*)$/s.exec(text);
  if (!match) throw usage(`'${text}' is not the shape of an input`, 'write NAME:D1,D2, for example images:3,224,224');
  const [, name, sizes] = match as unknown as [string, string, string];
  return { ...previous, [name]: sizes.split(',').map(Number) };
}

function percentage(text: string): number {
  const value = wholeNumber(text.replace(/ ?%$/, ''));
  if (value > 100) throw usage(`${value} % is too much`, 'give 0 to 100');
  return value;
}

/** Adds 'LOW:HIGH' or 'INPUT=LOW:HIGH' to the earlier ranges. Names may contain '='. */
function integerRanges(text: string, previous: IntegerRanges | undefined): IntegerRanges {
  const match = /^(?:(.+)=)?(-?\d{1,15}):(-?\d{1,15})$/s.exec(text);
  const range = { low: Number(match?.[2]), high: Number(match?.[3]) };
  if (!match || range.low > range.high) {
    const hint = 'write LOW:HIGH, for example 0:30000, or INPUT=LOW:HIGH';
    throw usage(`'${text}' is not a range of integers`, hint);
  }
  const [, input] = match;
  if (input === undefined && previous === undefined) return range;
  return { ...rangesByInput(previous), [input ?? OTHERS]: range };
}

/** Adds 'NAME:VALUE:TYPE' to the earlier parameters. Values may contain colons. */
function requestParameter(
  text: string,
  previous: readonly RequestParameter[] | undefined,
): readonly RequestParameter[] {
  const match = /^([^:]+):(.*):(bool|int|double|string)$/s.exec(text);
  const parameter =
    match && parseParameter(match[1] as string, match[2] as string, match[3] as RequestParameter['type']);
  if (parameter && parameter.name !== 'binary_data_output') return [...(previous ?? []), parameter];
  throw usage(
    `'${text}' is not a request parameter`,
    'write NAME:VALUE:TYPE with a type of bool, int, double or string, for example priority:2:int',
  );
}

function parseParameter(name: string, text: string, type: RequestParameter['type']): RequestParameter | null {
  if (type === 'string') return { name, type, value: text };
  if (type === 'bool') return /^(true|false)$/.test(text) ? { name, type, value: text === 'true' } : null;
  const value = Number(text);
  const isGood = type === 'int' ? /^-?\d+$/.test(text) && Number.isSafeInteger(value) : Number.isFinite(value);
  return isGood && text.trim() !== '' ? { name, type, value } : null;
}
