import { BadRecord } from '#base/records.ts';
import { NS_PER_MS, NS_PER_S, NS_PER_US } from '#base/units.ts';
import type { TimeUnit } from './workload-schema.ts';

export const nsPer: Readonly<Record<TimeUnit, number>> = { s: NS_PER_S, ms: NS_PER_MS, us: NS_PER_US, ns: 1 };

const DAY_TIME = /^(\d{4})-(\d\d)-(\d\d)[ T](\d\d):(\d\d):(\d\d)(?:[.,](\d{1,9}))?(?:Z| ?([+-])(\d\d):?(\d\d))?$/;

/**
 * Reads a date and a time with up to nine decimals, in nanoseconds since the first of 2020: as a
 * number that is good to a microsecond. Throws BadRecord.
 */
export function dayTimeNs(text: string): number {
  const match = DAY_TIME.exec(text);
  if (!match) throw new BadRecord(`'${text.slice(0, 40)}' is not a time`, 'write 2023-11-16 18:15:46.6805900');
  const [, year, month, day, hour, minute, second, fraction, sign, zoneHours, zoneMinutes] = match;
  const minutes = sign === undefined ? 0 : Number(zoneHours) * 60 + Number(zoneMinutes);
  const zoneMs = (sign === '-' ? -1 : 1) * minutes * 60_000;
  const wallMs = Date.UTC(Number(year), Number(month) - 1, Number(day), Number(hour), Number(minute), Number(second));
  const ms = wallMs - zoneMs - EPOCH_MS;
  return ms * NS_PER_MS + (fraction === undefined ? 0 : Number(`0.${fraction}`) * NS_PER_S);
}

const EPOCH_MS = Date.UTC(2020, 0, 1);

const LOG_TIME = /^(\d{2})\/(\w{3})\/(\d{4}):(\d\d:\d\d:\d\d(?:\.\d{1,9})?)(?: ?([+-]\d{4}))?$/;
const MONTHS = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec'];

/**
 * Reads a time as access logs have it, `10/Oct/2000:13:55:36 -0700`; in nanoseconds since the first
 * of 2020. Throws BadRecord.
 */
export function logTimeNs(text: string): number {
  const match = LOG_TIME.exec(text);
  const month = MONTHS.indexOf(match?.[2] ?? '');
  if (!match || month < 0) {
    throw new BadRecord(`'${text.slice(0, 40)}' is not a time of a log`, 'write 10/Oct/2000:13:55:36 -0700');
  }
  const [, day, , year, time, zone = 'Z'] = match;
  return dayTimeNs(`${year}-${String(month + 1).padStart(2, '0')}-${day} ${time}${zone}`);
}

/** Some 3,000 years, from whichever moment. */
const MAX_TIME_NS = 1e20;

/**
 * Reads a time that is a number in this unit, or a date and a time; in nanoseconds from some
 * moment. Throws BadRecord.
 */
export function timeNs(value: unknown, unit: TimeUnit): number {
  const number = typeof value === 'number' ? value : typeof value === 'string' && value !== '' ? Number(value) : NaN;
  if (Math.abs(number * nsPer[unit]) <= MAX_TIME_NS) return number * nsPer[unit];
  if (typeof value === 'string' && /^\d{4}-/.test(value)) return dayTimeNs(value);
  if (typeof value === 'string' && /^\d{2}\/\w{3}\//.test(value)) return logTimeNs(value);
  throw new BadRecord(
    `'${String(value).slice(0, 40)}' is not a time`,
    'write a number, or a date and a time such as 2023-11-16T18:15:46.680Z',
  );
}
