import { TrituneError } from '../base/errors.ts';
import type { RequestHeader, RequestParameter } from '../loadgen/types.ts';
import type { OptionTable } from './option-table.ts';
import { collect, type NumberRange, positiveNumber, positiveWhole, wholeNumber, wholeRange } from './option-values.ts';

/** The options about what is sent. */
export interface RequestOptions {
  readonly batch: number;
  /** zero, random, or paths; random if not given. */
  readonly inputData?: readonly string[];
  readonly shape?: Readonly<Record<string, readonly number[]>>;
  readonly integers?: NumberRange;
  readonly stringData?: string;
  readonly stringLength?: number;
  readonly outputTolerance?: number;
  readonly requestParameter?: readonly RequestParameter[];
  readonly sequenceLength?: number;
  /** Per cent of the length. */
  readonly sequenceLengthVariation?: number;
  readonly sequenceIds?: NumberRange;
  /** As they were given, values included; the journal keeps only their names. */
  readonly header?: readonly string[];
}

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
  header: {
    flags: '-H, --header <name:value>',
    help: 'HTTP header or gRPC metadata of every request; repeatable; its value is neither printed nor kept',
    // Read later: a fault found here would be printed with the value.
    parse: collect,
  },
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

/** More would not fit into one frame of HTTP/2 headers for sure. */
const MAX_HEADER_BYTES = 8192;
const MAX_HEADERS = 32;
/** The transports set these themselves, or they are about one connection. */
const taken = /^(grpc-.*|content-.*|inference-header-content-length|transfer-encoding|connection|host|te|user-agent)$/;

/** The headers of every request; those that match `reserved` are not free. Errors: USAGE, which never says a value. */
export function headersOf({ header = [] }: Pick<RequestOptions, 'header'>, reserved = taken): readonly RequestHeader[] {
  const headers = header.map((text, index) => {
    const match = /^([A-Za-z0-9_.-]+):[ \t]*([\x20-\x7e]*?)[ \t]*$/.exec(text);
    if (!match) throw usage(`header ${index + 1} is not of the form NAME:VALUE in ASCII`, 'write -H "NAME: VALUE"');
    return { name: (match[1] as string).toLowerCase(), value: match[2] as string };
  });
  const own = headers.find(({ name }) => reserved.test(name));
  if (own) throw usage(`the header '${own.name}' is not free to choose`, 'leave it out');
  const bytes = headers.reduce((sum, { name, value }) => sum + name.length + value.length, 0);
  if (bytes <= MAX_HEADER_BYTES && headers.length <= MAX_HEADERS) return headers;
  throw usage(
    `the headers are too many or too long`,
    `give at most ${MAX_HEADERS}, of ${MAX_HEADER_BYTES} bytes in all`,
  );
}

/** The options as they may be written down: of headers only the names. */
export function withoutHeaderValues<O extends Pick<RequestOptions, 'header'>>(options: O): O {
  return options.header ? { ...options, header: headersOf(options).map(({ name }) => name) } : options;
}

/** The command line as it may be written down. */
export function commandLineWithoutValues(
  args: readonly string[],
  { header = [] }: Pick<RequestOptions, 'header'>,
): readonly string[] {
  return args.map((arg) => header.reduce((text, given) => text.replaceAll(given, `${given.split(':', 1)[0]}:…`), arg));
}
