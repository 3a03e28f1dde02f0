import fc from 'fast-check';
import { type ErrorCode, isTrituneError } from '#base/errors.ts';

/** The long form of what repeats itself: fuzzing, faults and soaks (`npm run test:nightly`). */
export const isNightly = process.env.TRITUNE_NIGHTLY === '1';

/** Cases of each parser. */
const CASES = isNightly ? 100_000 : 250;
/** No property hangs: its cases are small, and one that takes seconds is a defect. */
export const FUZZ_TIMEOUT_MS = isNightly ? 14_400_000 : 60_000;
/**
 * The same cases in every usual run; the nightly ones are new each night, and a failure says the
 * seed.
 */
const seed = isNightly ? undefined : { seed: 1 };

const prototypes = [Object, Array, Function, String, Number, Map, Set].map(({ prototype }) => prototype as object);
const sizeOf = (prototype: object): number => Reflect.ownKeys(prototype).length;
const untouched = prototypes.map(sizeOf);

/** Fails when something has written into what every object has. */
export function checkPrototypes(): void {
  for (const [index, prototype] of prototypes.entries()) {
    if (sizeOf(prototype) === untouched[index]) continue;
    throw new Error(`a prototype was written to: ${Reflect.ownKeys(prototype).map(String).join()}`);
  }
}

/** Of the cases in the usual run, for a second look; at night every look has them all. */
const casesOf = (share: number): number => (isNightly ? CASES : Math.ceil(CASES * share));

/**
 * The property for each of the cases, and no prototype changed by any; `share`: of the cases of the
 * usual run.
 */
export function fuzz<T>(input: fc.Arbitrary<T>, property: (input: T) => void, share = 1): void {
  fc.assert(
    fc.property(input, (value) => {
      property(value);
      checkPrototypes();
    }),
    { numRuns: casesOf(share), ...seed },
  );
}

/** `fuzz` for what is not done at once. */
export async function fuzzAsync<T>(
  input: fc.Arbitrary<T>,
  property: (input: T) => Promise<void>,
  share = 1,
): Promise<void> {
  const asynchronous = fc.asyncProperty(input, async (value) => {
    await property(value);
    checkPrototypes();
  });
  await fc.assert(asynchronous, { numRuns: casesOf(share), ...seed });
}

/**
 * What the work gives; undefined when it refuses with one of the codes. Any other error goes on,
 * and fails the property.
 */
export function refusedOr<T>(work: () => T, ...codes: ErrorCode[]): T | undefined {
  try {
    return work();
  } catch (error) {
    if (!isTrituneError(error, ...codes)) throw error;
    return undefined;
  }
}

/** The same of a promise. */
export async function refusedOrAsync<T>(work: () => Promise<T>, ...codes: ErrorCode[]): Promise<T | undefined> {
  try {
    return await work();
  } catch (error) {
    if (!isTrituneError(error, ...codes)) throw error;
    return undefined;
  }
}

/** Names that every object has, that lead out of a directory, or that are no text. */
export const hostileNames: readonly string[] = [
  ...['__proto__', 'constructor', 'prototype', 'toString', 'valueOf', 'hasOwnProperty', '__defineGetter__'],
  ...['', ' ', '.', '..', '../../x', '/etc/x', 'a\0b', 'CON', 'nul.txt', 'x'.repeat(300), '\\\\host\\share', '~', '-x'],
  ...['\ud800', '\u202e', '\r\n', '\x1b[2J', '<script>', '=1+1', '%00', '%2e%2e%2f', '$(x)', 'é', '👍'],
];

/** Spellings of numbers and of what is none. */
export const hostileNumbers: readonly string[] = [
  ...['0', '-0', '-1', '1e999', '-1e999', '1e-999', '9007199254740993', '99999999999999999999', '-9223372036854775809'],
  ...['0x7fffffff', '2147483648', '4294967296', '.5', '5.', '1_000', '١', 'NaN', 'Infinity', '-.inf', 'null', 'true'],
];

type Change = readonly [
  kind: 'delete' | 'double' | 'insert' | 'swap' | 'cut' | 'flip',
  at: number,
  to: number,
  word: string,
];

/**
 * Documents with a few changes: parts taken out, doubled, put elsewhere, cut off, hostile words put
 * in, bits turned over.
 */
export function damagedText(documents: readonly string[], words: readonly string[] = []): fc.Arbitrary<string> {
  const word = fc.oneof(
    { weight: 3, arbitrary: fc.constantFrom('\n', ...words) },
    { weight: 1, arbitrary: fc.constantFrom(...hostileNames) },
    { weight: 1, arbitrary: fc.constantFrom(...hostileNumbers) },
    { weight: 1, arbitrary: fc.string({ unit: 'binary', maxLength: 4 }) },
  );
  const kind = fc.constantFrom<Change[0]>('delete', 'double', 'insert', 'insert', 'swap', 'cut', 'flip');
  const change = fc.tuple(kind, fc.nat(), fc.nat(40), word);
  return fc
    .tuple(fc.constantFrom(...documents), fc.array(change, { minLength: 1, maxLength: 5 }))
    .map(([document, changes]) => changes.reduce(changed, document));
}

function changed(text: string, [kind, place, length, word]: Change): string {
  const at = place % (text.length + 1);
  const end = Math.min(text.length, at + length);
  const [before, part, after] = [text.slice(0, at), text.slice(at, end), text.slice(end)];
  switch (kind) {
    case 'delete':
      return before + after;
    case 'double':
      return before + part + part + after;
    case 'insert':
      return before + word + part + after;
    case 'swap':
      return part + before + after;
    case 'cut':
      return before;
    case 'flip':
      return before + String.fromCharCode(text.charCodeAt(at) ^ (1 << (length % 8))) + text.slice(at + 1);
  }
}

/** The same of bytes. */
export function damagedBytes(documents: readonly Uint8Array[]): fc.Arbitrary<Buffer> {
  return damagedText(documents.map((bytes) => Buffer.from(bytes).toString('latin1'))).map((text) =>
    Buffer.from(text, 'latin1'),
  );
}

/**
 * Any JSON, of objects with these keys and hostile ones; numbers go up to those that JSON text
 * makes infinite.
 */
export function hostileJson(keys: readonly string[]): fc.Arbitrary<string> {
  const key = fc.oneof(
    { weight: 6, arbitrary: fc.constantFrom(...keys) },
    { weight: 1, arbitrary: fc.constantFrom(...hostileNames) },
  );
  const scalar = fc.oneof(
    fc.constantFrom('null', 'true', 'false', '0', '1', '-1', '2', '1e999', '-1e999', '1.5', '1e-9', '9007199254740993'),
    fc.constantFrom('""', '"1"', '"-1"', '"NaN"', '{"toString":1,"valueOf":2}', '[]', '{}'),
    fc
      .oneof(fc.constantFrom(...keys, ...hostileNames), fc.string({ maxLength: 4 }))
      .map((text) => JSON.stringify(text)),
  );
  const { json } = fc.letrec<{ json: string }>((tie) => ({
    json: fc.oneof(
      { maxDepth: 5, depthSize: 'small' },
      scalar,
      fc.array(tie('json'), { maxLength: 4 }).map((items) => `[${items.join(',')}]`),
      fc
        .array(fc.tuple(key, tie('json')), { maxLength: 5 })
        .map((fields) => `{${fields.map(([name, value]) => `${JSON.stringify(name)}:${value}`).join(',')}}`),
    ),
  }));
  return json;
}

/** Brackets inside one another, deeper than any stack. */
export const nested = (open: string, inner: string, close: string, depth = 100_000): string =>
  open.repeat(depth) + inner + close.repeat(depth);

/** Pieces of a length each, in turn, as bytes come from a socket. */
export function* inPieces(bytes: Buffer, sizes: readonly number[]): Generator<Buffer> {
  for (let at = 0, turn = 0; at < bytes.length; turn++) {
    const size = Math.max(1, sizes[turn % sizes.length] ?? bytes.length);
    yield bytes.subarray(at, at + size);
    at += size;
  }
}
