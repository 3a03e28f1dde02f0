import { TrituneError } from '#base/errors.ts';
import type { StudyRecord, StudyStarted } from '#study/records/records.ts';
import type { TunePlan } from '#tuner/run.ts';
import { Conductor, type ConductorParts } from '../study/conductor.ts';
import type { KeeperActivities, RecordsPart, StudyOrder } from '../workflow/seams.ts';
import { asMeasured } from './as-measured.ts';

/** Opens studies and keeps their journals. Implemented in `app`. */
export interface StudyHost {
  /**
   * Opens a new study, or continues an existing one. With null for the order, the study must exist.
   * Errors: as for opening one on a server.
   */
  open(study: string, order: StudyOrder | null): Promise<HostedStudy>;
  /** Returns the journal of a study that is not open; null if it does not exist. */
  read(study: string): Promise<readonly StudyRecord[] | null>;
}

/** A study whose journal this process has locked. */
export interface HostedStudy {
  readonly plan: TunePlan;
  readonly parts: ConductorParts;
  writeDocuments(): Promise<void>;
  close(): Promise<void>;
}

interface Open {
  readonly hosted: HostedStudy;
  /** Runs one piece of work at a time, because a retried activity may overlap with itself. */
  readonly inTurn: <T>(work: () => Promise<T>) => Promise<T>;
  readonly conductor: Conductor;
  readonly records: StudyRecord[];
}

/**
 * The maximum number of journal characters in one answer, far below Temporal's payload limit of 2
 * MiB.
 */
const MAX_CHARACTERS = 400_000;
/** Milliseconds that a reader waits for a record. */
const WAIT_MS = 20_000;

/**
 * Keeps the journals of studies. `servers`: returns the servers of a group whose workers are
 * present.
 */
export class Keeper implements KeeperActivities {
  readonly #host: StudyHost;
  readonly #servers: () => Promise<readonly string[]>;
  readonly #open = new Map<string, Promise<Open>>();
  readonly #waiting = new Set<() => void>();

  constructor(host: StudyHost, servers: () => Promise<readonly string[]>) {
    this.#host = host;
    this.#servers = servers;
  }

  openStudy: KeeperActivities['openStudy'] = async (order) => {
    const { conductor } = await this.#opened(order.study, order);
    return conductor.state.started as StudyStarted;
  };

  advance: KeeperActivities['advance'] = async (study, report) => {
    const { conductor, inTurn } = await this.#opened(study, null);
    const outcomes = report.outcomes.map(asMeasured);
    const directive = await inTurn(() => conductor.advance({ ...report, outcomes }));
    return { ...directive, servers: await this.#servers() };
  };

  concludeStudy: KeeperActivities['concludeStudy'] = async (study, { end, restored, interrupted }) => {
    const { conductor, hosted, inTurn } = await this.#opened(study, null);
    await inTurn(() => conductor.conclude(end, restored, interrupted));
    this.#open.delete(study);
    try {
      await hosted.writeDocuments();
    } finally {
      await hosted.close();
    }
  };

  readRecords: KeeperActivities['readRecords'] = async (study, from) => {
    const open = await this.#open.get(study);
    if (!open) return part((await this.#host.read(study)) ?? [], from);
    const { records } = open;
    if (records.length <= from) await this.#nextRecord();
    return part(records, from);
  };

  /** Releases all journals. */
  async close(): Promise<void> {
    for (const [study, open] of this.#open) {
      this.#open.delete(study);
      await open.then(({ hosted }) => hosted.close()).catch(() => undefined);
    }
  }

  #opened(study: string, order: StudyOrder | null): Promise<Open> {
    const known = this.#open.get(study) ?? this.#openAnew(study, order);
    this.#open.set(study, known);
    // Lets a later call retry after a failure.
    known.catch(() => this.#open.delete(study));
    return known;
  }

  async #openAnew(study: string, order: StudyOrder | null): Promise<Open> {
    const hosted = await this.#host.open(study, order);
    const records = [...hosted.plan.earlier];
    const journal: ConductorParts['journal'] = {
      append: async (record) => {
        await hosted.parts.journal.append(record);
        records.push(record);
        for (const wake of this.#waiting) wake();
      },
    };
    const conductor = new Conductor(hosted.plan, { ...hosted.parts, journal });
    try {
      await conductor.open();
    } catch (error) {
      await hosted.close();
      throw error;
    }
    return { hosted, conductor, records, inTurn: turns() };
  }

  #nextRecord(): Promise<void> {
    return new Promise((resolve) => {
      const wake = (): void => {
        clearTimeout(timer);
        this.#waiting.delete(wake);
        resolve();
      };
      const timer = setTimeout(wake, WAIT_MS);
      this.#waiting.add(wake);
    });
  }
}

function turns(): Open['inTurn'] {
  let last: Promise<unknown> = Promise.resolve();
  return (work) => {
    const turn = last.then(work);
    last = turn.catch(() => undefined);
    return turn;
  };
}

function part(all: readonly StudyRecord[], from: number): RecordsPart {
  const records: StudyRecord[] = [];
  let characters = 0;
  for (const record of all.slice(from)) {
    characters += JSON.stringify(record).length;
    if (records.length > 0 && characters > MAX_CHARACTERS) break;
    records.push(record);
  }
  const isEnd = from + records.length === all.length && all.at(-1)?.type === 'study-finished';
  return { records, isEnd };
}

/** The error for a study that a keeper should have but does not. */
export const noStudy = (study: string): TrituneError =>
  new TrituneError('JOURNAL_INVALID', `there is no study '${study}' on this machine`, 'check --state of the worker');
