import { randomUUID } from 'node:crypto';
import { readFileSync, renameSync, statSync, unlinkSync, writeFileSync } from 'node:fs';
import { hostname } from 'node:os';
import { resolve } from 'node:path';
import { formatMessage, TrituneError } from '#base/errors.ts';
import { fileLimits, readTextSync } from '#base/read-file.ts';

/** The process that holds a lock. Its id alone is not enough, because ids are reused. */
interface Holder {
  readonly pid: number;
  /** Clock ticks from boot to the process's start; null if the system does not say. */
  readonly startTicks: string | null;
  readonly host: string;
  readonly token: string;
  /**
   * Of the machine's current boot, because both numbers above start again with the next; absent if
   * unknown.
   */
  readonly boot?: string;
  /** Absolute path of the run's output directory, if the lock is about what a run changes. */
  readonly directory?: string;
  /** The run ended without undoing its changes. */
  readonly hasEnded?: true;
}

/** Releases a lock. `leave` keeps it as that of a run which ended without undoing its changes. */
export type Unlock = (how?: 'leave') => void;

/**
 * A take-over takes milliseconds; a guard older than this was left by a process that died in one.
 */
const GUARD_LIFE_MS = 10_000;
/** A lock without content is being written, or was left by a crash when it is older than this. */
const BEING_WRITTEN_MS = 1_000;

/**
 * The error for the process that comes second. `holder`: as `process 12 on HOST`, or '' if unknown.
 */
export type LockRefusal = (path: string, holder: string) => TrituneError;

/**
 * Takes the lock file for this process and returns the function that releases it. The lock of a
 * process that no longer runs on this machine is taken over. `directory`: that of the run, for
 * `readHolder`. Errors: that of `refusal`, OUTPUT_LOCKED by default; OUTPUT_UNWRITABLE.
 */
export function takeLock(path: string, refusal: LockRefusal = outputLocked, directory?: string): Unlock {
  const boot = bootId();
  const holder: Holder = {
    pid: process.pid,
    startTicks: readStartTicks(process.pid),
    host: hostname(),
    token: randomUUID(),
    ...(boot !== null && { boot }),
    ...(directory !== undefined && { directory: resolve(directory) }),
  };
  if (!createExclusively(path, holder)) takeOver(path, holder, (present) => refusal(path, wordsFor(present)));
  return (how) => {
    if (readHolder(path)?.token !== holder.token) return;
    if (how === 'leave') replace(path, { ...holder, hasEnded: true });
    else unlinkSync(path);
  };
}

/**
 * Returns who holds the lock file: `process` for a running process, this one included; the
 * directory of a run that ended without releasing it; null for nobody.
 */
export function findHolder(path: string): 'process' | { readonly directory: string } | null {
  const holder = readHolder(path);
  if (holder === null) return null;
  if (isAlive(holder)) return 'process';
  return typeof holder.directory === 'string' ? { directory: holder.directory } : null;
}

/** True if another running process holds the lock file. */
export function isLockedByOther(path: string): boolean {
  const holder = readHolder(path);
  return holder !== null && holder.pid !== process.pid && isAlive(holder);
}

/**
 * One at a time, guarded by a second file: else two processes could each remove the other's new
 * lock.
 */
function takeOver(path: string, holder: Holder, locked: (present: Holder | null) => TrituneError): void {
  const guard = `${path}.takeover`;
  if (!createExclusively(guard, holder)) {
    if (ageMs(guard) < GUARD_LIFE_MS) throw locked(readHolder(path));
    removeIfThere(guard);
    if (!createExclusively(guard, holder)) throw locked(readHolder(path));
  }
  try {
    const present = readHolder(path);
    if (present ? isAlive(present) : ageMs(path) < BEING_WRITTEN_MS) throw locked(present);
    if (!replace(path, holder)) throw locked(present);
  } finally {
    removeIfThere(guard);
  }
}

/** False if another user's file cannot be replaced. */
function replace(path: string, holder: Holder): boolean {
  const lockPath = `${path}.${holder.token}`;
  writeFileSync(lockPath, JSON.stringify(holder));
  try {
    renameSync(lockPath, path);
    return true;
  } catch (error) {
    removeIfThere(lockPath);
    if (readCode(error) === 'EPERM' || readCode(error) === 'EACCES') return false;
    throw error;
  }
}

function createExclusively(path: string, holder: Holder): boolean {
  try {
    writeFileSync(path, JSON.stringify(holder), { flag: 'wx' });
    return true;
  } catch (error) {
    if (readCode(error) === 'EEXIST') return false;
    throw new TrituneError(
      'OUTPUT_UNWRITABLE',
      `cannot write ${path}: ${formatMessage(error)}`,
      'choose another directory with --output',
      {
        cause: error,
      },
    );
  }
}

/** null when the file is gone or holds nothing readable. */
function readHolder(path: string): Holder | null {
  try {
    const holder = JSON.parse(readTextSync(path, fileLimits.document)) as Partial<Holder> | null;
    return typeof holder?.pid === 'number' && typeof holder.host === 'string' ? (holder as Holder) : null;
  } catch {
    return null;
  }
}

/** A holder on another machine cannot be checked, so it counts as alive. */
function isAlive(holder: Holder): boolean {
  if (holder.hasEnded === true) return false;
  if (holder.host !== hostname()) return true;
  if (holder.boot !== undefined && holder.boot !== (bootId() ?? holder.boot)) return false;
  try {
    process.kill(holder.pid, 0);
  } catch (error) {
    if (readCode(error) === 'ESRCH') return false;
  }
  const stat = readStat(holder.pid);
  if (stat === null) return true;
  // It was killed, and its parent has not collected its exit status yet: in a container perhaps it
  // never does.
  if (stat.state === 'Z' || stat.state === 'X') return false;
  return holder.startTicks === null || stat.startTicks === holder.startTicks;
}

/** null if the system does not say. */
function bootId(): string | null {
  try {
    return readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim();
  } catch {
    return null;
  }
}

const readStartTicks = (pid: number): string | null => readStat(pid)?.startTicks ?? null;

/**
 * Fields 3 and 22 of /proc/PID/stat (proc_pid_stat(5)); the command's name before them may hold
 * spaces and brackets.
 */
function readStat(pid: number): { readonly state: string; readonly startTicks: string } | null {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    return { state: fields[0] ?? '', startTicks: fields[19] ?? '' };
  } catch {
    return null;
  }
}

const wordsFor = (holder: Holder | null): string => (holder ? `process ${holder.pid} on ${holder.host}` : '');

function outputLocked(path: string, holder: string): TrituneError {
  return new TrituneError(
    'OUTPUT_LOCKED',
    `another run${holder && ` (${holder})`} is writing to this output directory`,
    `wait until it ends, or choose another --output; if there is no such run, delete ${path}`,
  );
}

function ageMs(path: string): number {
  try {
    // A file from the future dates from before the clock was set back.
    return Math.abs(Date.now() - statSync(path).mtimeMs);
  } catch {
    return Number.POSITIVE_INFINITY;
  }
}

function removeIfThere(path: string): void {
  try {
    unlinkSync(path);
  } catch (error) {
    if (readCode(error) !== 'ENOENT') throw error;
  }
}

const readCode = (error: unknown): unknown => (error as { code?: unknown } | null)?.code;
