import { createHash } from 'node:crypto';
import { TrituneError } from '#base/errors.ts';
import { canonicalJson, isJsonObject, type Json, nestsDeeperThan } from '#base/json.ts';
import { builtInMetrics, type Metrics } from '../goal/metrics/registry.ts';
import { checkStart, computeCheck, formatMark, holdsWholeLine, parseSeal, type Seal } from './line-seal.ts';
import { checkRecord } from './record-schema.ts';
import type { StudyRecord } from './records.ts';
import { SCHEMA_VERSION } from './study-started-schema.ts';

/** The key that changes an object's prototype in code that copies fields one by one. */
const KEY = '__proto__';
/** The fields of records that hold a candidate. */
const CANDIDATES = ['candidate', 'original'];

/**
 * Returns a line of a journal without the keys that could reach a prototype. They stay in the value
 * of a candidate, as its own fields: a model, and the names in its config, may have any name.
 * `JSON.parse`, `Object.fromEntries` and spreading make such fields (ECMA-262, CreateDataProperty);
 * an assignment would not. `line`: shallow enough for a recursive function.
 */
function withoutPrototypeKeys(line: unknown): unknown {
  const left = withoutPrototype(line);
  if (!isJsonObject(line) || !isJsonObject(left)) return left;
  const candidates = CANDIDATES.flatMap((field) => {
    const [value, kept] = [line[field], left[field]];
    return isJsonObject(value) && isJsonObject(kept) && kept.value !== undefined
      ? [[field, { ...kept, value: value.value }]]
      : [];
  });
  return { ...left, ...Object.fromEntries(candidates) };
}

function withoutPrototype(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutPrototype);
  if (!isJsonObject(value)) return value;
  const entries = Object.entries(value).filter(([key]) => key !== KEY);
  return Object.fromEntries(entries.map(([key, inner]) => [key, withoutPrototype(inner)]));
}

/** The content of a journal file. */
export interface JournalText {
  readonly records: readonly StudyRecord[];
  /** Its bytes up to the end of the last whole line; the rest is torn. */
  readonly length: number;
  /** Where the last check value begins; 0 without any. */
  readonly lastCheck: number;
  readonly origin: Origin;
}

/**
 * Who wrote a journal: the user with the key, somebody else, or tritune 0.2.0 or before, which left
 * no mark.
 */
export type Origin = 'own' | 'foreign' | 'unmarked';

/**
 * Caps against hostile or broken files; a config of a few thousand tensors stays far below the
 * first.
 */
const MAX_LINE_BYTES = 8 * 2 ** 20;
/** A model config is nested up to 100 deep, and lies within a record. */
const MAX_DEPTH = 128;
const NEWLINE = 0x0a;
/** More than a seal takes. */
const SEAL_BYTES = 256;
const DIGEST_DIGITS = 32;
/** Of a first record. */
const BEGINNING = '{"at":"';

/** Returns the JSON of a record as a journal has it, before its seal. */
export function formatJson(record: StudyRecord): string {
  if (record.type !== 'study-started') return JSON.stringify(record);
  const originalDigest = computeDigest(JSON.parse(JSON.stringify(record.original.value)));
  return JSON.stringify({ ...record, originalDigest });
}

/** Returns what keeps a record's JSON from being read again; null if nothing does. */
export function faultOfJson(json: string, metrics: Metrics): string | null {
  if (Buffer.byteLength(json) > MAX_LINE_BYTES - SEAL_BYTES) return ' is longer than 8 MiB';
  const read = recordIn(json, metrics);
  return 'fault' in read ? read.fault : null;
}

/**
 * Returns the records of a journal up to its torn last line. `key`: that of the user. Errors:
 * JOURNAL_INVALID with the line's number, for anything but a torn last line.
 */
export function parseJournal(
  bytes: Uint8Array,
  path: string,
  metrics: Metrics = builtInMetrics,
  key: Buffer | null = null,
): JournalText {
  const records: StudyRecord[] = [];
  const seals: (Seal | null)[] = [];
  const at = { length: 0, lastCheck: 0 };
  for (const line of linesIn(bytes, metrics)) {
    if ('fault' in line) throw isOfNewer(line) ? newer(path) : journalInvalid(path, `line ${line.number}${line.fault}`);
    records.push(line.record);
    seals.push(line.seal);
    Object.assign(at, { length: line.end, ...(line.seal && { lastCheck: line.checkAt }) });
  }
  if (records.length === 0) throw journalInvalid(path, 'it contains no study');
  const [first = null] = seals;
  return { records, ...at, origin: findOrigin([first, seals.at(-1) ?? null], key) };
}

/**
 * Returns what is sound in a damaged journal, for restoring its model: the first record, and those
 * later ones that are whole. Errors: JOURNAL_INVALID if the first record is not sound.
 */
export function parseForRestoring(bytes: Uint8Array, path: string, key: Buffer | null): JournalText {
  const records: StudyRecord[] = [];
  const at = { length: bytes.length, lastCheck: 0 };
  let origin: Origin | null = null;
  for (const line of linesIn(bytes, builtInMetrics)) {
    if (origin === null) {
      if ('fault' in line) throw isOfNewer(line) ? newer(path) : withoutOriginal(path, line.fault);
      origin = findOrigin([line.seal], key);
    }
    if (line.seal) at.lastCheck = line.checkAt;
    // What somebody else added to one's own journal counts for nothing.
    const counts = origin !== 'own' || findOrigin([line.seal], key) === 'own';
    if ('record' in line && counts) records.push(line.record);
  }
  if (origin === null) throw withoutOriginal(path, ' is missing');
  return { records, ...at, origin };
}

/**
 * True for the text that a run left which was killed, or lost its power, before its first record
 * was whole: it had changed nothing.
 */
export function isUnbegun(bytes: Uint8Array): boolean {
  const start = Buffer.from(bytes.subarray(0, BEGINNING.length)).toString('latin1');
  const isOurs = BEGINNING.startsWith(start) || start.startsWith('\0');
  return isOurs && linesIn(bytes, builtInMetrics).next().done === true;
}

interface LinePlace {
  readonly number: number;
  /** In the bytes, after its line feed. */
  readonly end: number;
  readonly seal: Seal | null;
  /** Where its check value begins in the bytes; 0 without one. */
  readonly checkAt: number;
}
type Read = { readonly record: StudyRecord } | { readonly fault: string };
type Line = LinePlace & Read;

/** Ends before a torn last line. */
function* linesIn(bytes: Uint8Array, metrics: Metrics): Generator<Line> {
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  let start = 0;
  let lastCheck: number | null = null;
  for (let number = 1; start < buffer.length; number++) {
    const feed = buffer.indexOf(NEWLINE, start);
    const end = feed < 0 ? buffer.length : feed + 1;
    const line = buffer.subarray(start, feed < 0 ? end : feed);
    const seal = feed < 0 ? null : parseSeal(line);
    const checkAt = seal ? start + checkStart(seal) : 0;
    const place = { number, end, seal, checkAt };
    if (feed < 0 || (end === buffer.length && isTorn(line, seal))) {
      if (lastCheck !== null && holdsWholeLine(buffer.subarray(lastCheck))) yield { ...place, fault: ' has no end' };
      return;
    }
    const since = buffer.subarray(lastCheck ?? 0, checkAt);
    const isWhole = seal ? computeCheck(since) === seal.check : lastCheck === null && !hadSeal(line);
    const isNewer = number === 1 && hasNewerForm(recordText(line, seal));
    const damage = isWhole ? null : isNewer ? `${NEWER}, or${CHANGED}` : CHANGED;
    const fault = damage ?? (isNewer ? NEWER : null);
    const read = fault === null ? recordIn(recordText(line, seal), metrics) : { fault };
    const isBeginning = number > 1 || 'fault' in read || read.record.type === 'study-started';
    yield { ...place, ...(isBeginning ? read : { fault: ' does not start a study' }) };
    if (seal) lastCheck = checkAt;
    start = end;
  }
}

const NEWER = ' was written by a newer version of tritune';

/** A later version may seal its lines in another way, too. */
function hasNewerForm(json: string): boolean {
  const value = json.length > MAX_LINE_BYTES ? undefined : parsed(json);
  const version = isJsonObject(value) ? value.schemaVersion : undefined;
  return typeof version === 'number' && version > SCHEMA_VERSION;
}

const CHANGED = ' is not as it was written, or a line before it is missing: the check value differs';

/** True for a first line that was written with a seal. */
const hadSeal = (line: Buffer): boolean => line.includes('"originalDigest":');

/**
 * True for a last line of which the disk has a part only: no JSON, or zeros in the place of what
 * was not written.
 */
const isTorn = (line: Buffer, seal: Seal | null): boolean =>
  line.length <= MAX_LINE_BYTES && (!seal || line.includes(0)) && parsed(recordText(line, seal)) === undefined;

/** Returns the JSON of the record in a line. */
const recordText = (line: Buffer, seal: Seal | null): string =>
  seal ? `${line.toString('utf8', 0, seal.start)}}` : line.toString('utf8');

function recordIn(json: string, metrics: Metrics): Read {
  if (json.length > MAX_LINE_BYTES) return { fault: ' is longer than 8 MiB' };
  const value = parsed(json);
  if (value === undefined) return { fault: ' is not JSON' };
  if (opens(json) > MAX_DEPTH && nestsDeeperThan(MAX_DEPTH, value))
    return { fault: ` is nested more than ${MAX_DEPTH} deep` };
  const bare = withoutDigest(value);
  if (bare === null) return { fault: ': original: its digest differs, so that it is not what the run found' };
  const mayReach = /__proto__|\\u/.test(json);
  const checked = checkRecord(mayReach ? withoutPrototypeKeys(bare) : bare, metrics);
  return 'fault' in checked ? { fault: `: ${checked.fault}` } : checked;
}

/**
 * Returns how deep the JSON is nested at most. Most lines are clear by that, in less time than a
 * walk takes.
 */
const opens = (json: string): number => json.split(/[[{]/, MAX_DEPTH + 2).length - 1;

/** undefined if it is not JSON. */
function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/**
 * Returns a line without the digest of its original; null if that is the digest of something else.
 */
function withoutDigest(line: unknown): unknown {
  if (!isJsonObject(line) || line.type !== 'study-started' || line.originalDigest === undefined) return line;
  const { originalDigest, ...record } = line;
  const value = isJsonObject(record.original) ? record.original.value : undefined;
  return value !== undefined && originalDigest === computeDigest(value) ? record : null;
}

const computeDigest = (value: Json): string =>
  createHash('sha256').update(canonicalJson(value)).digest('hex').slice(0, DIGEST_DIGITS);

/** The first line and the last authenticate all between them. */
function findOrigin(seals: readonly (Seal | null)[], key: Buffer | null): Origin {
  if (!seals[0]?.mark) return 'unmarked';
  return key !== null && seals.every((each) => each !== null && each.mark === formatMark(each.check, key))
    ? 'own'
    : 'foreign';
}

const isOfNewer = ({ fault }: { readonly fault: string }): boolean => fault === NEWER;

const newer = (path: string): TrituneError =>
  new TrituneError(
    'JOURNAL_INVALID',
    `the journal ${path}${NEWER}`,
    'use that version, to continue the study, to report it, or to put its model back',
  );

/** Errors of a journal that cannot be read. */
export function journalInvalid(path: string, fault: string): TrituneError {
  return new TrituneError(
    'JOURNAL_INVALID',
    `the journal ${path} is damaged: ${fault}`,
    'put the model back with tritune restore, and start a new study in another --output directory',
  );
}

const withoutOriginal = (path: string, fault: string): TrituneError =>
  new TrituneError(
    'JOURNAL_INVALID',
    `the journal ${path} is damaged, and does not say for certain what the original config was: line 1${fault}`,
    'load the config in the model repository: tritune config -m MODEL --from REPOSITORY/MODEL/config.pbtxt --load',
  );
