import { NS_PER_S, nsToMs } from '../base/units.ts';
import type { Batch, BatchRule } from '../loadgen/recorder.ts';
import { coldSizes } from './cold-sizes.ts';
import type { LevelOptions } from './level-options.ts';
import type { OwnFigures } from './measurement.ts';
import { type Reading, readAtBoundary } from './server-side.ts';
import type { Traffic } from './traffic.ts';
import { type CountedBatch, figuresOf, LatencySums, sumsOf, type WindowedFigures } from './window-figures.ts';

/** What was so where one window ended and the next began. */
export interface Boundary {
  /** Of the server's statistics, asked for in that moment. */
  readonly reading: Promise<Reading>;
  /** Of the models that this one is made of or calls. */
  readonly composing: Promise<readonly Reading[]>;
  /** Requests sent until then. */
  readonly sent: number;
}

interface Window {
  readonly batches: readonly CountedBatch[];
  readonly end: Boundary;
}

/** Figures of counted windows with what was so at both of their ends. */
export interface CountedWindows extends WindowedFigures {
  readonly start: Boundary;
  readonly end: Boundary;
  /** Requests sent from the one to the other. */
  readonly sent: number;
}

/**
 * Sorts the batches of traffic into windows as they end. Where a window ends the server is asked for its statistics at
 * once, beside the traffic, so that its figures and the client's are about the same requests but for those that
 * end within half a round trip.
 */
export class WindowLog {
  readonly #traffic: Traffic;
  readonly #options: LevelOptions;
  readonly #isWhole: (batches: readonly Batch[]) => boolean;
  #windows: Window[] = [];
  #sums = new LatencySums();
  #start: Boundary;
  #open: CountedBatch[] = [];

  /** Begins to record; `isWhole` tells whether these batches make a window. */
  constructor(
    traffic: Traffic,
    options: LevelOptions,
    rule: BatchRule,
    isWhole: (batches: readonly Batch[]) => boolean,
    startNs: number | null = null,
  ) {
    this.#traffic = traffic;
    this.#options = options;
    this.#isWhole = isWhole;
    this.#start = this.#boundary();
    traffic.record(rule, (batch) => this.#add(batch), startNs);
  }

  get windows(): number {
    return this.#windows.length;
  }

  /** Makes a window of the batches since the last one, if there are any; for the end of a measurement. */
  closeWindow(): void {
    if (this.#open.length === 0) return;
    for (const batch of this.#open) this.#sums.add(batch);
    this.#windows.push({ batches: this.#open, end: this.#boundary() });
    this.#open = [];
  }

  /** Whether the server's readings tell of a cold execution in the windows from number `from` on. */
  async isColdSince(from: number): Promise<boolean> {
    const start = this.#windows[from - 1]?.end ?? this.#start;
    const end = this.#windows.at(-1)?.end ?? start;
    const [before, after] = await Promise.all([start.reading, end.reading]);
    return !('unread' in before || 'unread' in after) && coldSizes(before, after).length > 0;
  }

  /** Forgets the whole windows so far: counting begins anew where the last of them ended. Gives their number. */
  discard(): number {
    const discarded = this.#windows.length;
    this.#start = this.#windows.at(-1)?.end ?? this.#start;
    this.#windows = [];
    this.#sums = new LatencySums();
    return discarded;
  }

  /** Of all windows, or of some that follow each other: `from` the first, up to `to`, which is not one of them. */
  figures(from = 0, to = this.#windows.length): CountedWindows {
    const windows = this.#windows.slice(from, to);
    const batches = windows.flatMap((window) => window.batches);
    const start = this.#windows[from - 1]?.end ?? this.#start;
    const end = windows.at(-1)?.end ?? start;
    const sums = windows.length === this.#windows.length ? this.#sums : sumsOf(batches);
    const figures = figuresOf(batches, sums, windows.length, this.#options);
    return { ...figures, start, end, sent: end.sent - start.sent };
  }

  /** Of one window alone, the last if not said; at the given percentile. */
  own(percentile: number, window = this.#windows.length - 1): OwnFigures {
    const batches = this.#windows[window]?.batches ?? [];
    const { latencies, fromDue } = sumsOf(batches);
    const seen = fromDue.count > 0 ? fromDue : latencies;
    const durationNs = (batches.at(-1)?.endNs ?? 0) - (batches[0]?.startNs ?? 0);
    const perSecond = durationNs > 0 ? (latencies.count / durationNs) * NS_PER_S : 0;
    return {
      throughput: perSecond * this.#options.requests.batch,
      latencyAvgMs: nsToMs(seen.meanNs),
      latencyStdMs: nsToMs(seen.standardDeviationNs),
      latencyPercentileMs: nsToMs(seen.quantileNs(percentile / 100)),
      requests: latencies.count + batches.reduce((total, { failed }) => total + failed, 0),
      durationMs: nsToMs(durationNs),
    };
  }

  #add(batch: Batch): void {
    this.#open.push({ ...batch, dueAtEnd: this.#traffic.due });
    if (this.#isWhole(this.#open)) this.closeWindow();
  }

  #boundary(): Boundary {
    const options = this.#options;
    const composing = Promise.all((options.composing ?? []).map((model) => readAtBoundary(options, model)));
    return { reading: readAtBoundary(options), composing, sent: this.#traffic.sent };
  }
}
