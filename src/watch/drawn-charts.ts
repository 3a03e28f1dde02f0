import { narrowPaper, widePaper } from '../report/charts/svg.ts';
import type { WatchedStudy } from './view/watched-study.ts';

/** The paper that a page has room for. */
export type PaperName = 'wide' | 'narrow';

/** A front as it was drawn. */
export interface DrawnChart {
  /** The text of an SVG. */
  readonly svg: string;
  /** How many records of the study are in it. */
  readonly records: number;
}

/** A chart is drawn again after this many times what it took, at the earliest: one of thousands of trials takes a second. */
const PAUSES = 10;

/** Draws the fronts of studies: once for all viewers, and the less often the longer it takes. */
export class DrawnCharts {
  readonly #nowMs: () => number;
  readonly #drawn = new Map<string, DrawnChart & { readonly untilMs: number }>();

  constructor(nowMs: () => number) {
    this.#nowMs = nowMs;
  }

  /** Returns the chart, which may be of some records ago; null where nothing was measured. */
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
