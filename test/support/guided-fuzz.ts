import { createHash } from 'node:crypto';
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pick, type Random, randomFor } from '../../src/base/random.ts';
import { BlockCoverage } from './block-coverage.ts';
import { checkPrototypes, hostileNames, hostileNumbers, isNightly } from './fuzz.ts';

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

/** Cases of each parser. Every usual run has the same; each night has others. */
const CASES = Number(process.env.TRITUNE_FUZZ_CASES ?? (isNightly ? 1_000_000 : 300));
const NIGHT = isNightly ? new Date().toISOString().slice(0, 10) : 'always';
/** Coverage is read after so many cases: that takes as long as some hundred of them. */
const BATCH = 2_000;
const LONGEST_INPUT = 16_384;
/** Far above what any of these short inputs takes, on any machine: one that takes longer would hang with a longer one. */
const HANG_MS = 20_000;
const SHRINKS = 400;

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
 * Checks the subject with damaged forms of its seeds. At night V8's block coverage guides it: inputs that reach new code of ours are damaged further, and
 * kept for other nights in the folder that TRITUNE_FUZZ_CORPUS names. A library would be better, but the binary of Jazzer.js 4.0 needs glibc 2.38, and the
 * images of Node on Debian 12 have 2.36. The shortest form found of an input that fails is kept as an example.
 */
export async function fuzzSubject(subject: Subject): Promise<void> {
  const random = randomFor(`${NIGHT} ${subject.name}`);
  const corpus = new Corpus(subject, random);
  const guide = isNightly ? new BlockCoverage() : null;
  try {
    for (const bytes of corpus.inputs) await tried(subject, bytes);
    guide?.fresh();
    const cases = subject.isSlow && !isNightly ? CASES / 10 : CASES;
    let [triedMs, guidedMs] = [0, 0];
    for (let done = 0; done < cases; done += BATCH) {
      const batch = Array.from({ length: Math.min(BATCH, cases - done) }, () => corpus.damaged());
      const startMs = performance.now();
      for (const bytes of batch) await tried(subject, bytes);
      const triedAtMs = performance.now();
      triedMs += triedAtMs - startMs;
      // At first almost every input reaches new code, and to find out which takes many runs: half of the time is for that.
      if (!guide || guidedMs > triedMs || guide.fresh(false) === 0) continue;
      for (const bytes of await newIn(subject, batch, guide)) corpus.keep(bytes);
      guidedMs += performance.now() - triedAtMs;
    }
  } finally {
    guide?.close();
  }
}

/** Those of the inputs that reach new code: by halves, because coverage is of all that ran since it was last read. */
async function newIn(subject: Subject, batch: readonly Buffer[], guide: BlockCoverage): Promise<readonly Buffer[]> {
  if (batch.length === 0) return [];
  for (const bytes of batch) await tried(subject, bytes);
  if (guide.fresh(batch.length === 1) === 0) return [];
  if (batch.length === 1) return batch;
  const middle = batch.length >> 1;
  return [
    ...(await newIn(subject, batch.slice(0, middle), guide)),
    ...(await newIn(subject, batch.slice(middle), guide)),
  ];
}

async function tried(subject: Subject, bytes: Buffer): Promise<void> {
  const fault = await faultOf(subject, bytes);
  if (fault === null) return;
  const shortest = await shrunk(subject, bytes);
  const folder = join(examples, slug(subject.name));
  const file = join(folder, createHash('sha256').update(shortest).digest('hex').slice(0, 12));
  mkdirSync(folder, { recursive: true });
  writeFileSync(file, shortest);
  throw new Error(
    `${subject.name} failed with what is now the example ${file}: ${JSON.stringify(shortest.toString('latin1').slice(0, 500))}`,
    {
      cause: (await faultOf(subject, shortest)) ?? fault,
    },
  );
}

async function faultOf(subject: Subject, bytes: Buffer): Promise<unknown> {
  const startMs = performance.now();
  try {
    await subject.read(Buffer.from(bytes));
    checkPrototypes();
  } catch (error) {
    return error;
  }
  const ms = performance.now() - startMs;
  return ms > HANG_MS ? new Error(`it took ${(ms / 1e3).toFixed(0)} s`) : null;
}

/** A shorter input that fails too: without as many of its parts as can be left out. */
async function shrunk(subject: Subject, bytes: Buffer): Promise<Buffer> {
  let best = bytes;
  let tries = 0;
  for (let size = best.length >> 1; size >= 1; size >>= 1) {
    for (let at = 0; at < best.length && tries < SHRINKS; ) {
      const shorter = Buffer.concat([best.subarray(0, at), best.subarray(at + size)]);
      tries++;
      if ((await faultOf(subject, shorter)) !== null) best = shorter;
      else at += size;
    }
  }
  return best;
}

/** Inputs that are worth damaging. */
class Corpus {
  readonly inputs: Buffer[];
  readonly #words: readonly Buffer[];
  readonly #random: Random;
  readonly #folder: string | null;

  constructor({ name, seeds, words = [] }: Subject, random: Random) {
    this.#random = random;
    const root = process.env.TRITUNE_FUZZ_CORPUS;
    this.#folder = root === undefined ? null : join(root, slug(name));
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
    if (this.#folder === null) return;
    writeFileSync(join(this.#folder, createHash('sha256').update(bytes).digest('hex').slice(0, 12)), bytes);
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
