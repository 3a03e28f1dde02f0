import protobuf from 'protobufjs';
import { serviceMethods } from '#triton/wire/proto.ts';

/** A field of an answer: its method, and the way to it from the top of the message. */
export interface Place {
  readonly method: string;
  readonly steps: readonly Step[];
  /** The protobuf type, `enum` or `message`. */
  readonly type: string;
}

interface Step {
  readonly name: string;
  readonly shape: 'single' | 'repeated' | 'map';
  /** Other fields of its oneof. */
  readonly rivals: readonly string[];
}

/** A value that no sound server gives. Without `make` the field is left out. */
export interface OddValue {
  readonly name: string;
  readonly make?: (earlier: unknown) => unknown;
}

/** Returns every field of every answer, at any depth. */
export function placesOfAnswers(): readonly Place[] {
  return serviceMethods().flatMap(({ name, responseType }) => placesIn(name, responseType, [], []));
}

function placesIn(
  method: string,
  type: protobuf.Type,
  above: readonly Step[],
  types: readonly protobuf.Type[],
): readonly Place[] {
  if (types.includes(type)) return [];
  return type.fieldsArray.flatMap((field) => {
    field.resolve();
    const shape = field instanceof protobuf.MapField ? 'map' : field.repeated ? 'repeated' : 'single';
    const rivals = (field.partOf?.fieldsArray ?? []).map(({ name }) => name).filter((name) => name !== field.name);
    const steps = [...above, { name: field.name, shape, rivals } as const];
    const inner = field.resolvedType;
    if (inner instanceof protobuf.Type)
      return [{ method, steps, type: 'message' }, ...placesIn(method, inner, steps, [...types, type])];
    return [{ method, steps, type: inner instanceof protobuf.Enum ? 'enum' : field.type }];
  });
}

export const nameOfPlace = ({ method, steps }: Place): string => `${method}.${steps.map(({ name }) => name).join('.')}`;

const HUGE_BYTES = 2 ** 20 - 4096;
const MANY = 10_000;
const constant = (name: string, value: unknown): OddValue => ({ name, make: () => value });
const texts: readonly OddValue[] = [
  constant('empty', ''),
  constant('huge', 'x'.repeat(HUGE_BYTES)),
  constant('controls', '\u001b]0;x\u0007\u001b[2J\r\n::error::x\u0000\u202e\u2028'),
  constant('prototype', '__proto__'),
  constant('path', '../../../../tmp/x'),
  constant('shell', '; touch x; $(x) `x` #'),
  constant('number', '1e400'),
];
const whole = (min: string, max: string): readonly OddValue[] => [
  ...['0', '-1', '1', '2', '9007199254740993', min, max].map((value) => constant(value, value)),
];
const fractions: readonly OddValue[] = [0, -1, 1.5, 1e308, -1e308, 5e-324, Number.NaN, Infinity, -Infinity].map(
  (value) => constant(String(value), value),
);

const ofType: Readonly<Record<string, readonly OddValue[]>> = {
  bool: [constant('false', false), constant('true', true)],
  string: texts,
  bytes: [
    constant('empty', Buffer.alloc(0)),
    constant('one', Buffer.of(255)),
    constant('huge', Buffer.alloc(HUGE_BYTES, 1)),
  ],
  enum: [constant('0', 0), constant('-1', -1), constant('999', 999), constant('2147483647', 2 ** 31 - 1)],
  float: fractions,
  double: fractions,
  int32: whole('-2147483648', '2147483647'),
  uint32: whole('3', '4294967295'),
  int64: whole('-9223372036854775808', '9223372036854775807'),
  uint64: whole('3', '18446744073709551615'),
  message: [constant('empty', {})],
};

const missing: OddValue = { name: 'missing' };
/** JSON says what no field of protobuf can hold. */
const otherKinds: readonly OddValue[] = [
  ...[null, 'x', '-4', 1.5, true, [], {}, [[]], [null]].map((value) =>
    constant(`JSON ${JSON.stringify(value)}`, value),
  ),
  ...['1e400', '-1e400', '123456789012345678901234567890'].map((text) => constant(`JSON ${text}`, JSON.rawJSON(text))),
];

/** Returns the odd values of a field, in an answer of this protocol. */
export function oddValuesOf({ type, steps }: Place, protocol: 'grpc' | 'http'): readonly OddValue[] {
  const { shape } = steps.at(-1) as Step;
  const ones = ofType[type] ?? [];
  const other = protocol === 'http' ? otherKinds : [];
  if (shape === 'single') return [missing, ...ones, ...other];
  const asMany = ones.map(({ name, make }) => ({
    name: `one of ${name}`,
    make: (earlier: unknown) => (shape === 'map' ? { x: make?.(earlier) } : [make?.(earlier)]),
  }));
  return [missing, ...asMany, { name: `times ${MANY}`, make: (earlier) => repeated(earlier, shape, ones) }, ...other];
}

function repeated(earlier: unknown, shape: 'repeated' | 'map', ones: readonly OddValue[]): unknown {
  const [first = ones[0]?.make?.(undefined)] =
    typeof earlier === 'object' && earlier !== null ? Object.values(earlier) : [];
  if (shape === 'repeated') return Array.from({ length: MANY }, () => first);
  return Object.fromEntries(Array.from({ length: MANY }, (_, index) => [`x${index}`, first]));
}

type Fields = Record<string, unknown>;
const isFields = (value: unknown): value is Fields =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/**
 * Changes the field in the answer, in every element of the lists on its way; lists without elements
 * get one.
 */
export function alter(answer: unknown, steps: readonly Step[], value: OddValue): void {
  const [step, ...rest] = steps;
  if (!step || !isFields(answer)) return;
  const { name, shape, rivals } = step;
  for (const rival of rivals) delete answer[rival];
  if (rest.length === 0) {
    if (value.make) answer[name] = value.make(answer[name]);
    else delete answer[name];
    return;
  }
  if (shape === 'single') {
    if (!isFields(answer[name])) answer[name] = {};
    alter(answer[name], rest, value);
    return;
  }
  const held = answer[name];
  const elements = typeof held === 'object' && held !== null ? Object.values(held) : [];
  if (elements.length === 0) {
    const fresh = {};
    answer[name] = shape === 'map' ? { x: fresh } : [fresh];
    elements.push(fresh);
  }
  for (const element of elements) alter(element, rest, value);
}

/** The part of an answer over HTTP that stands for the message: some have no wrapping there. */
const unwrapped: Readonly<Record<string, string>> = {
  ModelConfig: 'config',
  RepositoryIndex: 'models',
  SystemSharedMemoryStatus: 'regions',
  CudaSharedMemoryStatus: 'regions',
  TraceSetting: 'settings',
};

/** Returns the JSON of an answer with that field changed. */
export function alteredJson(json: unknown, { method, steps }: Place, value: OddValue): unknown {
  const wrapper = unwrapped[method];
  const whole: Fields = wrapper === undefined ? { whole: json } : { whole: { [wrapper]: json } };
  // The settings of traces have no message around their values.
  const way = method === 'TraceSetting' ? steps.filter(({ name }) => name !== 'value') : steps;
  alter(whole.whole, way, value);
  return wrapper === undefined ? whole.whole : (whole.whole as Fields)[wrapper];
}

/** Returns the bytes of an answer with that field changed. */
export function alteredBytes(bytes: Uint8Array, { method, steps }: Place, value: OddValue): Buffer {
  const { responseType } = serviceMethods().find(({ name }) => name === method) as { responseType: protobuf.Type };
  const message = responseType.toObject(responseType.decode(bytes), { longs: String });
  alter(message, steps, value);
  return Buffer.from(responseType.encode(responseType.fromObject(message)).finish());
}
