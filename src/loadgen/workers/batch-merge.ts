import { LatencyHistogram } from '#stats/histogram.ts';
import { allClasses, unpackClasses } from '../class-tally.ts';
import { allHeldUp } from '../client/held-up.ts';
import { allClientTimes } from '../client-times.ts';
import { allFailures } from '../failure-tally.ts';
import { allReplies } from '../plain-http-tally.ts';
import type { Batch } from '../recorder.ts';
import { allTokens, unpackTokens } from '../token-tally.ts';
import type { PackedBatch } from './messages.ts';

/** A merged batch, and how many requests had been due at its end; null in a closed loop. */
export interface Merged {
  readonly batch: Batch;
  readonly due: number | null;
}

/** A batch of a thread, and how many of the thread's requests had been due at its end. */
interface Part {
  readonly batch: PackedBatch;
  readonly due: number | null;
}

/**
 * Merges the batches of several recorders that keep in step into one sequence. Each recorder ends a
 * batch with its own completion, so their batches end near the same moments but not exactly at
 * them, and one may skip a moment: a merged batch takes from each recorder the batches up to at
 * least the same moment. Counts and buckets are added. The rate is the sum of each thread's count
 * over its own exact time, and the merged length is the one that yields this rate.
 */
export class BatchMerge {
  readonly #stepNs: number;
  readonly #originNs: number;
  readonly #minRequests: number;
  readonly #onBatch: (merged: Merged) => void;
  readonly #pending: (Part & { readonly step: number })[][];
  /** Number of batches that each thread has sent. */
  readonly #come: number[];
  /** Parts of the merged batch that does not have enough requests yet. */
  #open: Part[][];
  /** As of the last batch of each thread that was merged; undefined before the first. */
  readonly #dues: (number | null | undefined)[];
  /** The number of steps after the origin up to which batches are merged. */
  #passed = 0;
  /**
   * The step that each thread must reach before the next merge; at first any, then the latest of
   * their next ones.
   */
  #goal = 1;
  #isGoalLatest = false;
  /**
   * Threads that have not reached it: with a thousand threads, a look at each for every batch would
   * take longer than the merging.
   */
  #missing: number;
  #endNs: number | null = null;

  /**
   * `stepNs`, `originNs`: those of the recorders; with a `stepNs` of 0 the batches of all threads
   * are matched by number. `minRequests`: of a merged batch.
   */
  constructor(
    threads: number,
    {
      stepNs,
      originNs,
      minRequests,
    }: { readonly stepNs: number; readonly originNs: number; readonly minRequests: number },
    onBatch: (merged: Merged) => void,
  ) {
    this.#stepNs = stepNs;
    this.#originNs = originNs;
    this.#minRequests = minRequests;
    this.#onBatch = onBatch;
    this.#pending = Array.from({ length: threads }, () => []);
    this.#open = this.#pending.map(() => []);
    this.#come = this.#pending.map(() => 0);
    this.#missing = threads;
    this.#dues = Array.from({ length: threads }, () => undefined);
  }

  /** Takes the next batch of a thread, at whose end `due` of the thread's requests had been due. */
  add(thread: number, batch: PackedBatch, due: number | null): void {
    const number = (this.#come[thread] ?? 0) + 1;
    this.#come[thread] = number;
    const step = this.#stepNs === 0 ? number : Math.floor((batch.endNs - this.#originNs) / this.#stepNs);
    const row = this.#pending[thread] ?? [];
    if (step >= this.#goal && (row.at(-1)?.step ?? 0) < this.#goal) this.#missing--;
    row.push({ batch, due, step });
    while (this.#takeStep()) if (countRequests(this.#open.flat()) >= this.#minRequests) this.#merge();
  }

  /** Merges everything that has arrived, and waits for more. */
  flush(): void {
    for (const [thread, row] of this.#pending.entries()) {
      this.#open[thread]?.push(...row.splice(0));
    }
    this.#waitFor(this.#passed + 1, false);
    if (this.#open.some((row) => row.length > 0)) this.#merge();
  }

  /**
   * Opens the batches of each thread up to the next step that all have passed; false if there is
   * none yet.
   */
  #takeStep(): boolean {
    if (!this.#isGoalLatest && this.#missing === 0) {
      this.#waitFor(Math.max(...this.#pending.map((row) => stepFrom(row, this.#goal))), true);
    }
    if (this.#missing > 0) return false;
    for (const [thread, row] of this.#pending.entries()) {
      const taken = row.splice(0, row.findIndex(({ step }) => step >= this.#goal) + 1);
      this.#open[thread]?.push(...taken);
      this.#passed = Math.max(this.#passed, taken.at(-1)?.step ?? 0);
    }
    this.#waitFor(this.#passed + 1, false);
    return true;
  }

  #waitFor(goal: number, isLatest: boolean): void {
    this.#goal = goal;
    this.#isGoalLatest = isLatest;
    this.#missing = this.#pending.filter((row) => (row.at(-1)?.step ?? 0) < goal).length;
  }

  #merge(): void {
    for (const [thread, row] of this.#open.entries()) if (row.length > 0) this.#dues[thread] = row.at(-1)?.due;
    const taken = this.#open.filter((row) => row.length > 0).map((row) => row.map(({ batch }) => batch));
    this.#open = this.#open.map(() => []);
    const batches = taken.flat();
    const startNs = this.#endNs ?? computeMean(taken.map((row) => row[0]?.startNs ?? 0));
    this.#endNs = startNs + mergedLengthNs(taken);
    const scheduled = batches.flatMap((batch) => batch.fromDue ?? []);
    const clientTimes = allClientTimes(batches);
    const replies = allReplies(batches);
    const tokens = allTokens(batches.map((each) => (each.tokens ? { tokens: unpackTokens(each.tokens) } : {})));
    const classes = allClasses(batches.map((each) => (each.classes ? { classes: unpackClasses(each.classes) } : {})));
    const good = batches.flatMap((each) => each.good ?? []);
    const heldUp = batches.flatMap((batch) => batch.heldUp ?? []);
    const failures = allFailures(batches.map((each) => each.failures));
    const batch: Batch = {
      startNs,
      endNs: this.#endNs,
      succeeded: computeSum(batches.map((each) => each.succeeded)),
      failed: computeSum(batches.map((each) => each.failed)),
      ...(failures.length > 0 && { failures }),
      latencies: LatencyHistogram.merged(batches.map((each) => each.latencies)),
      responses: computeSum(batches.map((each) => each.responses)),
      sequences: computeSum(batches.map((each) => each.sequences)),
      ...(scheduled.length > 0 && { fromDue: LatencyHistogram.merged(scheduled) }),
      ...(clientTimes && { clientTimes }),
      ...(replies && { replies }),
      ...(tokens && { tokens }),
      ...(good.length > 0 && { good: computeSum(good) }),
      ...(classes && { classes }),
      ...(heldUp.length > 0 && { heldUp: allHeldUp(heldUp, this.#pending.length) }),
    };
    const dues = this.#dues.filter((due) => due !== undefined);
    this.#onBatch({ batch, due: dues.includes(null) ? null : computeSum(dues as number[]) });
  }
}

/** Returns the first step in a row from `goal` on; the row must have one. */
const stepFrom = (row: readonly { readonly step: number }[], goal: number): number =>
  row.find(({ step }) => step >= goal)?.step ?? 0;

/** Returns the length over which the requests of all threads have the sum of the threads' rates. */
function mergedLengthNs(rows: readonly (readonly PackedBatch[])[]): number {
  const counted = rows.map((row) => ({
    succeeded: computeSum(row.map((batch) => batch.succeeded)),
    failed: computeSum(row.map((batch) => batch.failed)),
    lengthNs: (row.at(-1)?.endNs ?? 0) - (row[0]?.startNs ?? 0),
  }));
  const count = counted.some((row) => row.succeeded > 0) ? ('succeeded' as const) : ('failed' as const);
  const rate = computeSum(counted.map((row) => (row[count] === 0 ? 0 : row[count] / row.lengthNs)));
  return computeSum(counted.map((row) => row[count])) / rate;
}

const countRequests = (parts: readonly Part[]): number =>
  computeSum(parts.map(({ batch: { succeeded, failed } }) => succeeded + failed));

const computeSum = (values: readonly number[]): number => values.reduce((total, value) => total + value, 0);
const computeMean = (values: readonly number[]): number => computeSum(values) / values.length;
