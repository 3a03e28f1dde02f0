import { closeSync, fstatSync, openSync, readFileSync, readSync, watch } from 'node:fs';
import { join } from 'node:path';
import { realClock } from '#base/clock.ts';
import type { Random } from '#base/random.ts';
import type { RunningCli } from '../../test/support/cli.ts';

/** What a kill is to fall into; `any` is any moment of the run. */
export const aims = ['any', 'load', 'upload', 'restore', 'journal write'] as const;
export type Aim = (typeof aims)[number];

/** What was under way when the process was killed. */
export const phases = ['start', 'load', 'upload', 'restore', 'journal write', 'measurement', 'end'] as const;
export type Phase = (typeof phases)[number];

/** A kill that hit a process, and what it had written by then. */
export interface Kill {
  readonly phase: Phase;
  /** The whole lines of the journal just before. */
  readonly written: string;
}

/** What a kill is aimed at. */
export interface Target {
  readonly running: RunningCli;
  readonly directory: string;
  /** The log of the server. */
  readonly log: LoadLog;
  readonly uploadBytes: number;
  /** The journal when the process was started. */
  readonly before: string;
  /** What the process is started for. */
  readonly does: 'tune' | 'restore' | 'capacity';
}

const LOOK_MS = 3;
/** Runs take no longer. */
const RUN_MS = 8_000;
const RESTORE_MS = 2_500;
const LONGEST_LOAD_MS = 300;
/** Each record takes several. */
const MAX_WRITES = 30;
/** A process whose first megabyte has left it has begun to upload. */
const BEGUN_BYTES = 2 ** 20;

/** Which models a Triton is loading, by its log. */
export class LoadLog {
  readonly #path: string;
  #offset = 0;
  #rest = '';
  #begun = 0;
  readonly #loading = new Set<string>();

  constructor(path: string) {
    this.#path = path;
  }

  /** Loads that have begun since the server was started. */
  get begun(): number {
    this.#read();
    return this.#begun;
  }

  get isLoading(): boolean {
    this.#read();
    return this.#loading.size > 0;
  }

  #read(): void {
    const lines = `${this.#rest}${this.#news()}`.split('\n');
    this.#rest = lines.pop() ?? '';
    for (const line of lines) {
      const [, begun] = /"loading: ([^:"]+):/.exec(line) ?? [];
      if (begun !== undefined) {
        this.#loading.add(begun);
        this.#begun++;
      }
      const [, ended] = /(?:successfully|failed to) load(?:ed)? '([^']+)'/.exec(line) ?? [];
      if (ended !== undefined) this.#loading.delete(ended);
    }
  }

  #news(): string {
    const file = openSync(this.#path, 'r');
    try {
      const bytes = Buffer.alloc(fstatSync(file).size - this.#offset);
      this.#offset += readSync(file, bytes, 0, bytes.length, this.#offset);
      return bytes.toString();
    } finally {
      closeSync(file);
    }
  }
}

/** Kills a run at a moment of this kind. Returns null if it ended before. */
export async function killAt(aim: Aim, target: Target, random: Random): Promise<Kill | null> {
  const { child, ended } = target.running;
  const isEnding = await moment(aim, target, random);
  if (hasEnded(child)) {
    await ended;
    return null;
  }
  const kill = { phase: phaseOf(target, isEnding), written: wholeLines(target.directory) };
  child.kill('SIGKILL');
  return (await ended).signal === 'SIGKILL' ? kill : null;
}

/** Waits for the moment. Returns true if the run was made to end, and so to restore its models. */
async function moment(aim: Aim, target: Target, random: Random): Promise<boolean> {
  const { log, uploadBytes, directory, running } = target;
  const isRestore = target.does === 'restore';
  const { pid } = running.child;
  const isOver = (): boolean => hasEnded(running.child);
  const until = async (holds: () => boolean): Promise<void> => {
    while (!isOver() && !holds()) await realClock.sleep(LOOK_MS);
  };
  const untilLoads = async (count: number): Promise<void> => {
    const before = log.begun;
    await until(() => log.begun >= before + count);
  };
  switch (aim) {
    case 'any':
      await Promise.race([realClock.sleep(random.float() * (isRestore ? RESTORE_MS : RUN_MS)), running.ended]);
      return false;
    case 'load':
      await untilLoads(random.int(1, 2));
      await realClock.sleep(random.float() * LONGEST_LOAD_MS);
      return false;
    case 'upload': {
      const bytes = BEGUN_BYTES + random.float() * (uploadBytes - BEGUN_BYTES);
      let before = 0;
      await until(() => {
        if (typesIn(directory, target.before).at(-1) !== 'trial-started') before = writtenBy(pid);
        return writtenBy(pid) - before > bytes;
      });
      return false;
    }
    case 'restore': {
      if (!isRestore) {
        const applied = random.int(1, 3);
        const typesNow = (): readonly string[] => typesIn(directory, target.before);
        await until(() => typesNow().filter((type) => type === 'trial-applied').length >= applied);
        running.child.kill(random.float() < 0.5 ? 'SIGINT' : 'SIGTERM');
      }
      await untilLoads(1);
      await realClock.sleep(random.float() * LONGEST_LOAD_MS);
      return true;
    }
    case 'journal write':
      await nthWrite(random.int(1, isRestore ? 4 : MAX_WRITES), directory, running);
      return false;
  }
}

/** Resolves at the nth change of the journal, or at the end of the run. */
function nthWrite(nth: number, directory: string, { ended }: RunningCli): Promise<void> {
  let left = nth;
  return new Promise((reached) => {
    const watcher = watch(directory, (_, name) => {
      if (name === 'journal.jsonl' && --left === 0) stop();
    });
    const stop = (): void => {
      watcher.close();
      reached();
    };
    void ended.then(stop);
  });
}

function phaseOf({ directory, before, log, does }: Target, isEnding: boolean): Phase {
  if (does === 'capacity') return 'measurement';
  const written = wholeLines(directory);
  if (written !== textIn(directory)) return 'journal write';
  const types = typesIn(directory, before);
  const last = types.at(-1);
  const isBack = last === 'model-restored' || last === 'study-finished';
  if (does === 'restore' || (isEnding && !isBack)) return 'restore';
  if (last === undefined) return 'start';
  if (isBack) return 'end';
  if (log.isLoading) return last === 'gain-decided' ? 'restore' : 'load';
  const [record = ''] = written.trimEnd().split('\n').slice(-1);
  if (last !== 'trial-started' || record.includes('"role":"baseline"')) return 'measurement';
  return record.includes('"variant":"other"') ? 'upload' : 'load';
}

const hasEnded = ({ exitCode, signalCode }: RunningCli['child']): boolean => exitCode !== null || signalCode !== null;

/** Bytes that a process has written to files and sockets. */
const writtenBy = (pid = 0): number => Number(/^wchar: (\d+)/m.exec(textOf(`/proc/${pid}/io`))?.[1] ?? 0);

const textIn = (directory: string): string => textOf(join(directory, 'journal.jsonl'));

/** The journal of a run up to its last line feed. */
export function wholeLines(directory: string): string {
  const text = textIn(directory);
  return text.slice(0, text.lastIndexOf('\n') + 1);
}

/** The types of the records that follow those. */
const typesIn = (directory: string, before: string): readonly string[] =>
  [
    ...wholeLines(directory)
      .slice(before.length)
      .matchAll(/^\{(?:"at":"[^"]*",)?(?:"runMs":\d+,)?"type":"([a-z-]+)"/gm),
  ].map(([, type = '']) => type);

function textOf(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return '';
  }
}
