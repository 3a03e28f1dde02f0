import { lookUp } from '#base/look-up.ts';
import { numericType } from './input-data/data-types.ts';
import { checkInOrder } from './reply-check.ts';
import type { OutputTensor, ReplyCheck } from './types.ts';

/** How outputs differ from the expected ones, over all elements. */
export interface Accuracy {
  readonly elements: number;
  /** The share of elements, 0 to 1, that are outside the tolerance. */
  readonly outsideShare: number;
  /** The largest |a − b|, in the output's unit; Infinity if only one of the two is a number. */
  readonly absolute: number;
  /** The largest |a − b| / |b| over elements whose expected value b is not 0. */
  readonly relative: number;
  /** What the user's command made of the outputs; absent without one. */
  readonly metric?: TaskMetric | undefined;
}

/** A figure of the task, such as top-1 accuracy. */
export interface TaskMetric {
  readonly name: string;
  readonly value: number;
  /** Its limit, in words: `top1>=0.75`. */
  readonly required: string;
  readonly holds: boolean;
}

/** The key of all outputs that have no allowance of their own. */
export const OTHER_OUTPUTS = '*';

/** The same for all outputs, or by the name of an output; `*` is that of all others, else 0. */
export type Allowance = number | { readonly [output: string]: number };

/**
 * An element a is outside the tolerance if |a − b| > absolute + relative × |b|, as in numpy's
 * `isclose`.
 */
export interface Tolerance {
  readonly absolute: Allowance;
  readonly relative: Allowance;
}

const allowanceFor = (allowance: Allowance, output: string): number =>
  typeof allowance === 'number' ? allowance : (lookUp(allowance, output) ?? lookUp(allowance, OTHER_OUTPUTS) ?? 0);

/** Compares replies with the expected outputs of their requests, and adds up the differences. */
export interface OutputComparison {
  /**
   * For a transport: a reply without all outputs in the expected form is a failed request; one with
   * merely inaccurate values is not.
   */
  readonly check: ReplyCheck;
  read(): Accuracy;
}

/**
 * Begins a comparison. Elements that are not numbers must be equal byte for byte, and count as one
 * per output.
 */
export function compareOutputs(tolerance: Tolerance): OutputComparison {
  const tally = { elements: 0, outside: 0, absolute: 0, relative: 0 };
  return {
    check: checkInOrder((expected, actual) => {
      const fault = formFault(expected, actual);
      if (fault === null) addDifferences(tally, expected, actual as OutputTensor, tolerance);
      return fault;
    }),
    read: () => {
      const { elements, outside, absolute, relative } = tally;
      return { elements, outsideShare: elements === 0 ? 0 : outside / elements, absolute, relative };
    },
  };
}

interface Tally {
  elements: number;
  outside: number;
  absolute: number;
  relative: number;
}

function formFault(expected: OutputTensor, actual: OutputTensor | undefined): string | null {
  if (!actual) return 'is not in the reply';
  if (actual.datatype !== expected.datatype) return `is ${actual.datatype} where ${expected.datatype} was expected`;
  if (!numericType(expected.datatype) || actual.raw.length === expected.raw.length) return null;
  return `has ${actual.raw.length} bytes where ${expected.raw.length} were expected`;
}

function addDifferences(tally: Tally, expected: OutputTensor, actual: OutputTensor, tolerance: Tolerance): void {
  const type = numericType(expected.datatype);
  if (!type) {
    tally.elements++;
    if (Buffer.compare(actual.raw, expected.raw) !== 0) tally.outside++;
    return;
  }
  const allowed = allowanceFor(tolerance.absolute, expected.name);
  const allowedShare = allowanceFor(tolerance.relative, expected.name);
  const [of, to] = [toView(actual.raw), toView(expected.raw)];
  for (let at = 0; at < to.byteLength; at += type.bytes) {
    const [a, b] = [Number(type.read(of, at)), Number(type.read(to, at))];
    tally.elements++;
    if (Object.is(a, b) || a === b) continue;
    const isNumber = Number.isFinite(a) && Number.isFinite(b);
    const off = isNumber ? Math.abs(a - b) : Number.POSITIVE_INFINITY;
    tally.absolute = Math.max(tally.absolute, off);
    if (b !== 0) tally.relative = Math.max(tally.relative, isNumber ? off / Math.abs(b) : off);
    if (!isNumber || off > allowed + allowedShare * Math.abs(b)) tally.outside++;
  }
}

const toView = ({ buffer, byteOffset, byteLength }: Uint8Array): DataView =>
  new DataView(buffer, byteOffset, byteLength);
