import { stackedBars } from './stacked-bars.ts';
import type { Chart } from './svg.ts';

/** The parts of a request's mean time in a pipeline: milliseconds at each stage, and elsewhere. */
export interface StagesBar {
  readonly name: string;
  readonly stages: readonly { readonly model: string; readonly queueMs: number; readonly computeMs: number }[];
  /** The rest of the client's waiting time. */
  readonly outsideMs: number;
}

/**
 * A hue for each stage's queue and compute, different from its neighbours'; the list repeats after
 * the last.
 */
const hues: readonly (readonly [queue: string, compute: string])[] = [
  ['#8fc1f0', '#2f7ed8'],
  ['#f0c48f', '#e08a1e'],
  ['#8ccf9f', '#2ca05a'],
  ['#cbb0e6', '#8a56c2'],
  ['#f0a3ad', '#cc4458'],
  ['#9fd6d2', '#2a9d94'],
];

/** Draws a stacked bar for each, the first on top, with its stages in order. */
export function stagesChart(bars: readonly StagesBar[]): Chart {
  const models = [...new Set(bars.flatMap(({ stages }) => stages.map(({ model }) => model)))];
  const parts = models.flatMap((model, index) => {
    const [queue, compute] = hues[index % hues.length] as (typeof hues)[number];
    const ms = (of: 'queueMs' | 'computeMs') => (bar: StagesBar) =>
      bar.stages.find((stage) => stage.model === model)?.[of] ?? 0;
    return [
      { name: `${model}: queue`, color: queue, ms: ms('queueMs') },
      { name: `${model}: compute`, color: compute, ms: ms('computeMs') },
    ];
  });
  const all = [...parts, { name: 'elsewhere', color: '#999fa8', ms: ({ outsideMs }: StagesBar) => outsideMs }];
  return (paper) => stackedBars(bars, all, { name: 'mean time at each stage, ms', itemGap: 14 }, paper);
}
