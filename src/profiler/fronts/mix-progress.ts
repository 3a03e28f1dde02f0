import type { ProfileProgress, SingleWindowFigures, VoidProgress, WindowProgress } from '../progress.ts';

/** Combines the progress of the fronts into that of the measurement. */
export class MixProgress {
  readonly #models: readonly string[];
  readonly #windows: (WindowProgress | undefined)[];
  readonly #voided: number[];

  constructor(models: readonly string[]) {
    this.#models = models;
    this.#windows = models.map(() => undefined);
    this.#voided = models.map(() => 0);
  }

  /**
   * Returns the progress of all fronts after a step of front `index`; null until each has had a
   * window.
   */
  after(index: number, step: WindowProgress | VoidProgress): ProfileProgress | null {
    if (step.phase === 'void') {
      this.#voided[index] = step.voidWindows;
      return { phase: 'void', voidWindows: this.#voided.reduce((sum, each) => sum + each, 0) };
    }
    this.#windows[index] = step;
    const steps = this.#windows.filter((each) => each !== undefined);
    if (steps.length < this.#models.length) return null;
    return {
      phase: 'window',
      window: Math.min(...steps.map(({ window }) => window)),
      throughput: sum(steps, ({ throughput }) => throughput),
      latencyMs: Math.max(...steps.map(({ latencyMs }) => latencyMs)),
      latest: combineFronts(steps.map(({ latest: figures }) => figures)),
      fronts: steps.map(({ throughput, latencyMs }, at) => ({
        model: this.#models[at] as string,
        throughput,
        latencyMs,
      })),
    };
  }
}

/**
 * Combines the latest window of each front: means are weighted by rate; spread and percentile are
 * the highest.
 */
function combineFronts(each: readonly SingleWindowFigures[]): SingleWindowFigures {
  const throughput = sum(each, (figures) => figures.throughput);
  const weighted = sum(each, (figures) => figures.throughput * figures.latencyAvgMs);
  return {
    throughput,
    latencyAvgMs: throughput > 0 ? weighted / throughput : 0,
    latencyStdMs: Math.max(...each.map(({ latencyStdMs }) => latencyStdMs)),
    latencyPercentileMs: Math.max(...each.map(({ latencyPercentileMs }) => latencyPercentileMs)),
    requests: sum(each, ({ requests }) => requests),
    durationMs: Math.max(...each.map(({ durationMs }) => durationMs)),
  };
}

const sum = <T>(each: readonly T[], of: (one: T) => number): number => each.reduce((total, one) => total + of(one), 0);
