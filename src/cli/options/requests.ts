import { TrituneError } from '../../base/errors.ts';
import type { RequestParameter } from '../../loadgen/types.ts';
import type { HeaderSpec } from '../../spec/server-spec.ts';
import type { NumberRange } from '../../spec/tune-options.ts';
import type { RequestSpec } from '../../workload/request-spec.ts';
import { headerOptionTable } from './headers.ts';
import type { OptionTable } from './option-table.ts';
import { collect, positiveNumber, positiveWhole, wholeNumber, wholeRange } from './option-values.ts';

/** The options about what is sent. */
export type RequestOptions = RequestSpec & HeaderSpec;

export const requestOptionTable: OptionTable<RequestOptions> = {
  batch: { flags: '-b, --batch <n>', help: 'samples in one request', parse: positiveWhole, default: 1 },
  inputData: {
    flags: '--input-data <what>',
    help: 'what is sent: zero, random, a JSON file, or a directory with a file for each input; repeatable for files (default: random)',
    parse: collect,
  },
  shape: {
    flags: '--shape <input:d1,d2>',
    help: 'shape of an input whose dimensions are open, or that is optional, without the batch; repeatable',
    parse: namedShape,
  },
  integers: {
    flags: '--integers <low:high>',
    help: 'random integers are from here (default: 0:99)',
    parse: integerRange,
  },
  stringData: { flags: '--string-data <text>', help: 'what every string is, instead of random letters' },
  stringLength: {
    flags: '--string-length <n>',
    help: 'letters of a random string (default: 128)',
    parse: positiveWhole,
  },
  outputTolerance: {
    flags: '--output-tolerance <x>',
    help: 'how far, relative to 1 or more, a float of a reply may be from the expected one (default: the same bytes)',
    parse: positiveNumber,
  },
  requestParameter: {
    flags: '--request-parameter <name:value:type>',
    help: 'sent with every request; type is bool, int, double or string; repeatable',
    parse: requestParameter,
  },
  sequenceLength: {
    flags: '--sequence-length <n>',
    help: 'requests in a sequence, for models with sequence batching (default: as long as its stream in the data, 20 for generated data)',
    parse: positiveWhole,
  },
  sequenceLengthVariation: {
    flags: '--sequence-length-variation <percent>',
    help: 'lengths differ by up to so much from --sequence-length (default: 20)',
    parse: percentage,
  },
  sequenceIds: {
    flags: '--sequence-ids <low:high>',
    help: 'range of correlation ids (default: 1:4294967295)',
    parse: wholeRange,
  },
  ...headerOptionTable,
};

const usage = (message: string, hint: string): TrituneError => new TrituneError('USAGE', message, hint);

/** 'NAME:D1,D2' beside the shapes so far. Names may hold colons. */
function namedShape(
  text: string,
  previous: Readonly<Record<string, readonly number[]>> | undefined,
): Readonly<Record<string, readonly number[]>> {
  const match = /^(.+):(\d{1,9}(?:,\d{1,9})*)$/s.exec(text);
  if (!match) throw usage(`'${text}' is no shape of an input`, 'write NAME:D1,D2, for example images:3,224,224');
  const [, name, sizes] = match as unknown as [string, string, string];
  return { ...previous, [name]: sizes.split(',').map(Number) };
}

function percentage(text: string): number {
  const value = wholeNumber(text.replace(/ ?%$/, ''));
  if (value > 100) throw usage(`${value} % is too much`, 'give 0 to 100');
  return value;
}

function integerRange(text: string): NumberRange {
  const match = /^(-?\d{1,15}):(-?\d{1,15})$/.exec(text);
  const range = { low: Number(match?.[1]), high: Number(match?.[2]) };
  if (match && range.low <= range.high) return range;
  throw usage(`'${text}' is no range of integers`, 'write LOW:HIGH, for example 0:30000');
}

/** 'NAME:VALUE:TYPE' behind the parameters so far. Values may hold colons. */
function requestParameter(
  text: string,
  previous: readonly RequestParameter[] | undefined,
): readonly RequestParameter[] {
  const match = /^([^:]+):(.*):(bool|int|double|string)$/s.exec(text);
  const parameter = match && parameterOf(match[1] as string, match[2] as string, match[3] as RequestParameter['type']);
  if (parameter && parameter.name !== 'binary_data_output') return [...(previous ?? []), parameter];
  throw usage(
    `'${text}' is no request parameter`,
    'write NAME:VALUE:TYPE with a type of bool, int, double or string, for example priority:2:int',
  );
}

function parameterOf(name: string, text: string, type: RequestParameter['type']): RequestParameter | null {
  if (type === 'string') return { name, type, value: text };
  if (type === 'bool') return /^(true|false)$/.test(text) ? { name, type, value: text === 'true' } : null;
  const value = Number(text);
  const isGood = type === 'int' ? /^-?\d+$/.test(text) && Number.isSafeInteger(value) : Number.isFinite(value);
  return isGood && text.trim() !== '' ? { name, type, value } : null;
}
