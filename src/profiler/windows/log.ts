import { NS_PER_S, nsToMs } from '#base/units.ts';
import type { Batch, BatchRule } from '#loadgen/recorder.ts';
import { coldSizes } from '../cold-sizes.ts';
import type { LevelOptions } from '../level-options.ts';
import type { SingleWindowFigures } from '../progress.ts';
import { readAtBoundary, type StatisticsReading } from '../server-side.ts';
import type { MeasuredTraffic } from '../traffic.ts';
import { addSums, type CountedBatch, LatencySums, summarizeFigures, type WindowedFigures } from './figures.ts';

/** The server's statistics at the start or end of windows, requested at that moment. */
export interface Boundary {
  readonly reading: Promise<StatisticsReading>;
  /** Statistics of the models that this one consists of or calls. */
  readonly composing: Promise<readonly StatisticsReading[]>;
}

/** Batches, and the latencies of all of them. */
export interface CountedWindow {
  readonly batches: readonly CountedBatch[];
  readonly sums: LatencySums;
}

interface Window extends CountedWindow {
  /** Requests sent in it. */
  readonly sent: number;
  /** The state at its end; undefined if the server was not read then. */
  end?: Boundary;
}

/** Figures of counted windows, with the state at both ends. */
export interface CountedWindows extends WindowedFigures {
  readonly start: Boundary;
  readonly end: Boundary;
  readonly batches: readonly CountedBatch[];
  readonly sums: LatencySums;
  /**
   * The counted share of the requests that were answered between both ends: less than 1 if windows
   * were dropped.
   */
  readonly countedShare: number;
  /** Requests sent in them. */
  readonly sent: number;
  /** The latencies of each window. */
  readonly ofEach: readonly LatencySums[];
}

/** Options of a log. */
export interface LogPlan {
  readonly rule: BatchRule;
  /** True if these batches make a window. */
  readonly isWhole: (batches: readonly Batch[]) => boolean;
  /** The next completion if absent. */
  readonly startNs?: number;
  /**
   * The number of the first window, from 1, whose end triggers a reading of the server; 1 if
   * absent.
   */
  readonly asksFrom?: number;
}

/**
 * Sorts the batches of the traffic into windows as they end. At the end of each window that may be
 * the last, requests the server's statistics at once while the traffic continues. The server's and
 * the client's figures then cover the same requests, except those that end within half a round
 * trip.
 */
export class WindowLog {
  readonly #traffic: MeasuredTraffic;
  readonly #options: LevelOptions;
  readonly #plan: LogPlan;
  #windows: Window[] = [];
  #sums = new LatencySums();
  #start: Boundary;
  #open: CountedBatch[] = [];
  /** Answered requests in the windows that were dropped since the start. */
  #dropped = 0;
  /** State at the end of the last window. */
  #sent: number;
  /** State at the end of the last batch; null before the first. */
  #due: number | null = null;

  /** Starts recording. */
  constructor(traffic: MeasuredTraffic, options: LevelOptions, plan: LogPlan) {
    this.#traffic = traffic;
    this.#options = options;
    this.#plan = plan;
    this.#start = this.#boundary();
    this.#sent = traffic.sent;
    traffic.record(plan.rule, (batch) => this.#add(batch), plan.startNs ?? null);
  }

  get windows(): number {
    return this.#windows.length;
  }

  /**
   * Makes a window of the batches since the last one, if there are any. Used at the end of a
   * measurement.
   */
  closeWindow(): void {
    if (this.#open.length === 0) return;
    const sums = addSums(this.#open);
    // Batches are packed, so adding them costs less than adding a window's sums.
    for (const batch of this.#open) this.#sums.add(batch);
    const sent = this.#traffic.sent - this.#sent;
    this.#sent += sent;
    this.#windows.push({ batches: this.#open, sums, sent });
    if (this.#windows.length >= (this.#plan.asksFrom ?? 1)) this.markEnd();
    this.#open = [];
  }

  /**
   * Requests the server's statistics if the last window has just ended and they have not been
   * requested yet.
   */
  markEnd(): void {
    const last = this.#windows.at(-1);
    if (last) last.end ??= this.#boundary();
  }

  /**
   * True if the server's readings show a cold execution, of the model or of one behind it, in the
   * windows from number `from` on, or since the last reading before them.
   */
  async isColdSince(from: number): Promise<boolean> {
    const end = this.#windows.at(-1)?.end;
    if (end === undefined) return false;
    const start = this.#windows.slice(0, from).findLast((window) => window.end)?.end ?? this.#start;
    const [before, after] = await Promise.all([listReadings(start), listReadings(end)]);
    return after.some((reading, index) => isCold(before[index], reading));
  }

  /**
   * Forgets all whole windows so far and restarts counting at the end of the last one. Returns
   * their number.
   */
  discard(): number {
    const discarded = this.#windows.length;
    this.#start = this.#windows.at(-1)?.end ?? this.#start;
    this.#windows = [];
    this.#sums = new LatencySums();
    this.#dropped = 0;
    return discarded;
  }

  /**
   * Removes the windows that match `isToGo`, at most `most`, which leaves gaps in the counted time.
   * Returns their number.
   */
  drop(most: number, isToGo: (window: CountedWindow) => boolean): number {
    const before = this.#windows.length;
    const answered = this.#sums.latencies.count;
    let left = most;
    this.#windows = this.#windows.filter((window) => left === 0 || !isToGo(window) || !left--);
    const dropped = before - this.#windows.length;
    if (dropped > 0) {
      this.#sums = new LatencySums();
      for (const { sums } of this.#windows) this.#sums.add(sums);
      this.#dropped += answered - this.#sums.latencies.count;
    }
    return dropped;
  }

  /**
   * Returns the figures of consecutive windows from `from` up to but excluding `to`; all windows by
   * default.
   */
  figures(from = 0, to = this.#windows.length): CountedWindows {
    const windows = this.#windows.slice(from, to);
    const batches = windows.flatMap((window) => window.batches);
    const start = this.#windows[from - 1]?.end ?? this.#start;
    const end = windows.at(-1)?.end ?? start;
    const sums = windows.length === this.#windows.length ? this.#sums : addSums(batches);
    const figures = summarizeFigures(batches, sums, windows.length, this.#options);
    const countedShare = this.#dropped === 0 ? 1 : figures.succeeded / Math.max(figures.succeeded + this.#dropped, 1);
    return {
      ...figures,
      start,
      end,
      batches,
      sums,
      countedShare,
      sent: windows.reduce((total, { sent }) => total + sent, 0),
      ofEach: windows.map((window) => window.sums),
    };
  }

  /** Returns the figures of one window at the given percentile; the last window by default. */
  latest(percentile: number, window = this.#windows.length - 1): SingleWindowFigures {
    const { batches = [], sums = new LatencySums() } = this.#windows[window] ?? {};
    const { latencies, fromDue } = sums;
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
    const { due } = this.#traffic;
    this.#open.push({ ...batch, dueAtStart: this.#due, dueAtEnd: due });
    this.#due = due;
    if (this.#plan.isWhole(this.#open)) this.closeWindow();
  }

  #boundary(): Boundary {
    const options = this.#options;
    const composing = Promise.all((options.composing ?? []).map((model) => readAtBoundary(options, model)));
    return { reading: readAtBoundary(options), composing };
  }
}

const listReadings = async ({ reading, composing }: Boundary): Promise<readonly StatisticsReading[]> => [
  await reading,
  ...(await composing),
];

const isCold = (before: StatisticsReading | undefined, after: StatisticsReading): boolean =>
  before !== undefined && !('unread' in before || 'unread' in after) && coldSizes(before, after).length > 0;
