import { TrituneError } from '#base/errors.ts';
import { LONGEST_TIMER_S } from '#base/units.ts';
import type { NumberRange } from '#spec/tune-options.ts';

/** Parsers of option texts. Errors: USAGE, with the expected form. */

const usage = (message: string, hint: string): TrituneError => new TrituneError('USAGE', message, hint);

export function positiveNumber(text: string): number {
  const value = Number(text);
  if (text.trim() === '' || !Number.isFinite(value) || value <= 0) {
    throw usage(`'${text}' is not a positive number`, 'give a number such as 8 or 0.5');
  }
  return value;
}

/** Returns the parser of a number from this one on. */
export const numberFrom =
  (low: number) =>
  (text: string): number => {
    const value = Number(text);
    if (text.trim() === '' || !Number.isFinite(value) || value < low)
      throw usage(`'${text}' is not a number from ${low} on`, `give ${low} or more`);
    return value;
  };

export const msPer: Readonly<Record<string, number>> = { us: 1e-3, ms: 1, s: 1e3 };

/** '8', '8ms', '0.5s' or '500us' → milliseconds, as in --goodput. */
export function latencyMs(text: string): number {
  const [, value = '', unit = 'ms'] = /^(.*?) *(us|ms|s)?$/i.exec(text.trim()) ?? [];
  const ms = Number(value) * (msPer[unit.toLowerCase()] as number);
  if (value === '' || !Number.isFinite(ms) || ms <= 0)
    throw usage(`'${text}' is not a latency`, 'give milliseconds, such as 8 or 0.5, or a unit, such as 8ms or 2s');
  return ms;
}

export function wholeNumber(text: string): number {
  if (!/^\d+$/.test(text) || !Number.isSafeInteger(Number(text))) {
    throw usage(`'${text}' is not a whole number`, 'give a number such as 42');
  }
  return Number(text);
}

export function positiveWhole(text: string): number {
  const value = wholeNumber(text);
  if (value === 0) throw usage('0 is too small', 'give 1 or more');
  return value;
}

/** A number from 0 to 1. */
export function share(text: string): number {
  const value = Number(text);
  if (text.trim() === '' || !(value >= 0 && value <= 1))
    throw usage(`'${text}' is not a share from 0 to 1`, 'give a number such as 0.3');
  return value;
}

/** Returns the parser of a percentage within these bounds. */
export const percent =
  (low: number, high: number) =>
  (text: string): number => {
    const value = Number(text.replace(/ *%$/, ''));
    if (text.trim() === '' || !(value >= low && value <= high))
      throw usage(`'${text}' is not a percentage from ${low} to ${high}`, `give a number from ${low} to ${high}`);
    return value;
  };

/** A percentile between 1 and 99.99. */
export function percentile(text: string): number {
  const value = positiveNumber(text.replace(/^p/, ''));
  if (value < 1 || value > 99.99) throw usage(`'${text}' is not a percentile`, 'give 1 to 99.99');
  return value;
}

const LONGEST = '20 days';

const secondsPer: Readonly<Record<string, number>> = { ms: 0.001, s: 1, m: 60, h: 3600 };

/** '90s', '10m', '1.5h', '500ms', or a plain number of seconds → seconds. */
export function durationSeconds(text: string): number {
  const match = /^(\d+(?:\.\d+)?)(ms|s|m|h)?$/.exec(text.trim());
  if (!match || Number(match[1]) === 0)
    throw usage(`'${text}' is not a duration`, 'write for example 90s, 10m or 1.5h');
  const seconds = Number(match[1]) * (secondsPer[match[2] ?? 's'] as number);
  if (seconds > LONGEST_TIMER_S) throw usage(`'${text}' is too long`, `give ${LONGEST} at most`);
  return seconds;
}

/** Whole milliseconds from 1. */
export function milliseconds(text: string): number {
  const value = positiveWhole(text);
  if (value / 1e3 <= LONGEST_TIMER_S) return value;
  throw usage(`${text} ms is too long`, `give ${LONGEST} at most`);
}

/** 'A:B', or 'A' for A:A; whole numbers from 1. */
export const wholeRange = (text: string): NumberRange => toRange(text, positiveWhole, '1:256');

/** 'A:B', or 'A' for A:A; numbers above 0. */
export const positiveRange = (text: string): NumberRange => toRange(text, positiveNumber, '100:2000');

function toRange(text: string, parse: (part: string) => number, example: string): NumberRange {
  const [low, high = low, ...rest] = text.split(':');
  const hint = `write LOW:HIGH, for example ${example}`;
  if (rest.length > 0) throw usage(`'${text}' is not a range`, hint);
  const range = { low: parse(low ?? ''), high: parse(high ?? '') };
  if (range.low > range.high) throw usage(`'${text}' ends before it begins`, hint);
  return range;
}

/** For repeatable options that take a list: the earlier names plus the comma-separated ones. */
export const collectListed = (text: string, previous: readonly string[] | undefined): readonly string[] => [
  ...(previous ?? []),
  ...text.split(',').flatMap((name) => name.trim() || []),
];

/**
 * For repeatable options of NAME=VALUE: numbers, true and false are such values, everything else is
 * a text.
 */
export const collectSettings = (text: string, previous: Settings | undefined): Settings => ({
  ...previous,
  ...Object.fromEntries(text.split(',').map(settingIn)),
});

type Settings = Readonly<Record<string, string | number | boolean>>;

function settingIn(text: string): readonly [string, string | number | boolean] {
  const [, name, value] = /^\s*([\w.-]+)\s*=\s*(.*?)\s*$/s.exec(text) ?? [];
  if (name === undefined || value === undefined)
    throw new TrituneError('USAGE', `'${text}' is not NAME=VALUE`, 'write for example workers=1,batch=8');
  if (value === 'true' || value === 'false') return [name, value === 'true'];
  return [name, /^-?\d+(\.\d+)?$/.test(value) ? Number(value) : value];
}

/** For repeatable options: the earlier values plus this one. */
export const collect = (text: string, previous: readonly string[] | undefined): readonly string[] => [
  ...(previous ?? []),
  text,
];

/** Numbers above 0, separated by commas. */
export const positiveNumbers = (text: string): readonly number[] => text.split(',').map(positiveNumber);
