import { createHash } from 'node:crypto';
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pick, type Random, randomFor } from '#base/random.ts';
import type { BlockCoverage } from './block-coverage.ts';
import { checkPrototypes, hostileNames, hostileNumbers } from './fuzz.ts';

/** A reader of what is not ours. */
export interface Subject {
  readonly name: string;
  /** Sound inputs, from which the others are made. */
  readonly seeds: readonly (string | Uint8Array)[];
  /** What means something to it. */
  readonly words?: readonly string[];
  /** Reads what comes of it; undefined where it refuses as it should. Any error is a defect. */
  read(bytes: Buffer): unknown;
  /** Costs more than to compute, such as a file: by day a tenth of the cases. */
  readonly isSlow?: boolean;
}

export interface FuzzPlan {
  readonly cases: number;
  /** Ends it before it has had all cases. */
  readonly limitMs?: number;
  /** The same seed makes the same cases, as long as nothing guides them. */
  readonly seed: string;
  /** Inputs that reach new code are damaged further. */
  readonly guide?: BlockCoverage;
  /** Keeps these inputs for other runs. */
  readonly corpusFolder?: string;
  /** Hears of each input before it is read. */
  readonly onCase?: (bytes: Buffer) => void;
}

export interface FuzzResult {
  readonly cases: number;
  /** Inputs that were worth damaging, of which most reached code that those before had not. */
  readonly inputs: number;
  readonly blocks: number;
  readonly longestMs: number;
}

/**
 * Coverage is read after so many cases. Batches grow to where a batch takes so long that reading it
 * does not matter: those of slow parsers stay small, because an input that reached new code is
 * found by running its batch again.
 */
const BATCHES = { first: 50, largest: 2_000, shortestMs: 150 };
const LONGEST_INPUT = 16_384;
/**
 * Far above what any of these short inputs takes, on any machine: one that takes longer would hang
 * with a longer one.
 */
export const HANG_MS = 20_000;
const SHRINKS = 400;
/** Of the time for cases, for finding out which of a batch reached new code. */
const GUIDED_SHARE = 1 / 4;
/** Those that follow damage what these found, because code whose blocks are counted runs slowly. */
const GUIDED_CASES = 30_000;

const examples = join(import.meta.dirname, '../fuzz/examples');
const slug = (name: string): string => name.replace(/[^a-z0-9]+/gi, '-').toLowerCase();

/** The inputs with which the subject once failed, by file. */
export function examplesOf({ name }: Subject): ReadonlyMap<string, Buffer> {
  const folder = join(examples, slug(name));
  try {
    return new Map(readdirSync(folder).map((file) => [file, readFileSync(join(folder, file))]));
  } catch {
    return new Map();
  }
}

/**
 * Keeps an input that fails, and says where, and what it is: nothing else of a run in CI may be
 * left.
 */
export function keepExample({ name }: Subject, bytes: Buffer): string {
  const folder = join(examples, slug(name));
  mkdirSync(folder, { recursive: true });
  return `what is now the example ${keepIn(folder, bytes)}: ${JSON.stringify(bytes.toString('latin1').slice(0, 500))}`;
}

function keepIn(folder: string, bytes: Buffer): string {
  const file = join(folder, createHash('sha256').update(bytes).digest('hex').slice(0, 12));
  writeFileSync(file, bytes);
  return file;
}

/**
 * Checks the subject with damaged forms of its seeds. A library would be better, but the binary of
 * Jazzer.js 4.0 needs glibc 2.38, and the images of Node on Debian 12 have 2.36. The shortest form
 * found of an input that fails is kept as an example.
 */
export function fuzzSubject(subject: Subject, plan: FuzzPlan): Promise<FuzzResult> {
  return new Run(subject, plan).cases(plan);
}

class Run {
  readonly #subject: Subject;
  readonly #corpus: Corpus;
  readonly #guide: BlockCoverage | undefined;
  readonly #onCase: ((bytes: Buffer) => void) | undefined;
  #longestMs = 0;

  constructor(subject: Subject, { seed, corpusFolder, guide, onCase }: FuzzPlan) {
    this.#subject = subject;
    const folder = corpusFolder === undefined ? null : join(corpusFolder, slug(subject.name));
    this.#corpus = new Corpus(subject, folder, randomFor(`${seed} ${subject.name}`));
    this.#guide = guide;
    this.#onCase = onCase;
  }

  async cases({ cases, limitMs = Number.POSITIVE_INFINITY }: FuzzPlan): Promise<FuzzResult> {
    const startMs = performance.now();
    const corpus = this.#corpus;
    for (const bytes of corpus.inputs) await this.#try(bytes);
    this.#guide?.fresh();
    let done = 0;
    let [triedMs, guidedMs] = [0, 0];
    for (let size = BATCHES.first; done < cases && performance.now() - startMs < limitMs; ) {
      const batch = Array.from({ length: Math.min(size, cases - done) }, () => corpus.damaged());
      const batchMs = performance.now();
      for (const bytes of batch) await this.#try(bytes);
      done += batch.length;
      const triedAtMs = performance.now();
      triedMs += triedAtMs - batchMs;
      if (triedAtMs - batchMs < BATCHES.shortestMs) size = Math.min(2 * size, BATCHES.largest);
      if (!this.#guide?.isCounting || guidedMs > triedMs * GUIDED_SHARE || this.#guide.fresh(false) === 0) continue;
      for (const bytes of await this.#newIn(batch, this.#guide, true)) corpus.keep(bytes);
      guidedMs += performance.now() - triedAtMs;
      if (done >= GUIDED_CASES) this.#guide.stop();
    }
    const { inputs } = corpus;
    return { cases: done, inputs: inputs.length, blocks: this.#guide?.blocks ?? 0, longestMs: this.#longestMs };
  }

  /**
   * Those of the inputs that reach new code: by halves, because coverage is of all that ran since
   * it was last read. `isFresh`: some do.
   */
  async #newIn(batch: readonly Buffer[], guide: BlockCoverage, isFresh: boolean): Promise<readonly Buffer[]> {
    const isOne = batch.length === 1;
    if (isOne || !isFresh) {
      for (const bytes of batch) await this.#try(bytes);
      if (guide.fresh(isOne) === 0) return [];
    }
    if (isOne) return batch;
    const middle = batch.length >> 1;
    const first = await this.#newIn(batch.slice(0, middle), guide, false);
    return [...first, ...(await this.#newIn(batch.slice(middle), guide, first.length === 0))];
  }

  async #try(bytes: Buffer): Promise<void> {
    const fault = await this.#faultOf(bytes);
    if (fault === null) return;
    const shortest = await this.#shrunk(bytes);
    throw new Error(`${this.#subject.name} failed with ${keepExample(this.#subject, shortest)}`, {
      cause: (await this.#faultOf(shortest)) ?? fault,
    });
  }

  async #faultOf(bytes: Buffer): Promise<unknown> {
    this.#onCase?.(bytes);
    const startMs = performance.now();
    try {
      await this.#subject.read(Buffer.from(bytes));
      checkPrototypes();
    } catch (error) {
      return error;
    }
    const ms = performance.now() - startMs;
    this.#longestMs = Math.max(this.#longestMs, ms);
    return ms > HANG_MS ? new Error(`it took ${(ms / 1e3).toFixed(0)} s`) : null;
  }

  /** A shorter input that fails too: without as many of its parts as can be left out. */
  async #shrunk(bytes: Buffer): Promise<Buffer> {
    let best = bytes;
    let tries = 0;
    for (let size = best.length >> 1; size >= 1; size >>= 1) {
      for (let at = 0; at < best.length && tries < SHRINKS; ) {
        const shorter = Buffer.concat([best.subarray(0, at), best.subarray(at + size)]);
        tries++;
        if ((await this.#faultOf(shorter)) !== null) best = shorter;
        else at += size;
      }
    }
    return best;
  }
}

/** Inputs that are worth damaging. */
class Corpus {
  readonly inputs: Buffer[];
  readonly #words: readonly Buffer[];
  readonly #random: Random;
  readonly #folder: string | null;

  constructor({ seeds, words = [] }: Subject, folder: string | null, random: Random) {
    this.#random = random;
    this.#folder = folder;
    this.inputs = [...seeds.map((seed) => Buffer.from(seed)), ...this.#kept()];
    this.#words = ['\n', ...words, ...words, ...hostileNames, ...hostileNumbers].map((word) => Buffer.from(word));
  }

  #kept(): readonly Buffer[] {
    if (this.#folder === null) return [];
    mkdirSync(this.#folder, { recursive: true });
    return readdirSync(this.#folder).map((file) => readFileSync(join(this.#folder as string, file)));
  }

  keep(bytes: Buffer): void {
    this.inputs.push(bytes);
    if (this.#folder !== null) keepIn(this.#folder, bytes);
  }

  /** One of the inputs with some changes. */
  damaged(): Buffer {
    let bytes = pick(this.inputs, this.#random);
    for (let changes = this.#random.int(1, 5); changes > 0; changes--) bytes = this.#changed(bytes);
    return bytes.subarray(0, LONGEST_INPUT);
  }

  #changed(bytes: Buffer): Buffer {
    const { int } = this.#random;
    const at = int(0, bytes.length);
    const end = Math.min(bytes.length, at + int(0, 40));
    const [before, part, after] = [bytes.subarray(0, at), bytes.subarray(at, end), bytes.subarray(end)];
    switch (int(0, 8)) {
      case 0:
        return Buffer.concat([before, after]);
      case 1:
        return Buffer.concat([before, part, part, after]);
      case 2:
      case 3:
        return Buffer.concat([before, pick(this.#words, this.#random), part, after]);
      case 4:
        return Buffer.concat([before, pick(this.#words, this.#random), after]);
      case 5:
        return Buffer.concat([part, before, after]);
      case 6:
        return Buffer.from(before);
      case 7: {
        const flipped = Buffer.from(bytes);
        if (at < flipped.length) flipped[at] = (flipped[at] as number) ^ (1 << int(0, 7));
        return flipped;
      }
      default: {
        const other = pick(this.inputs, this.#random);
        const from = int(0, other.length);
        return Buffer.concat([before, other.subarray(from, from + int(0, 200)), after]);
      }
    }
  }
}
