import { narrowPaper, widePaper } from '#report/charts/svg.ts';
import type { WatchedStudy } from './view/watched-study.ts';

/** The paper that fits a page. */
export type PaperName = 'wide' | 'narrow';

/** A drawn front. */
export interface DrawnChart {
  /** The text of an SVG. */
  readonly svg: string;
  /** The number of records in it. */
  readonly records: number;
}

/**
 * The minimum time between drawings of a chart, as a multiple of its drawing time: one of thousands
 * of trials takes a second.
 */
const PAUSES = 10;

/** Draws the fronts of studies: once for all viewers, and less often if drawing takes long. */
export class DrawnCharts {
  readonly #nowMs: () => number;
  readonly #drawn = new Map<string, DrawnChart & { readonly untilMs: number }>();

  constructor(nowMs: () => number) {
    this.#nowMs = nowMs;
  }

  /** Returns the chart, which may lag some records behind; null if nothing was measured. */
  of(name: string, study: WatchedStudy, paper: PaperName): DrawnChart | null {
    const key = `${paper} ${name}`;
    const known = this.#drawn.get(key);
    const beginMs = this.#nowMs();
    if (known && (known.records === study.records || beginMs < known.untilMs)) return known;
    const svg = study.front?.(paper === 'wide' ? widePaper : narrowPaper);
    if (svg === undefined) return null;
    const endMs = this.#nowMs();
    const drawn = { svg, records: study.records, untilMs: endMs + PAUSES * (endMs - beginMs) };
    this.#drawn.set(key, drawn);
    return drawn;
  }

  forget(name: string): void {
    for (const paper of ['wide', 'narrow']) this.#drawn.delete(`${paper} ${name}`);
  }
}
