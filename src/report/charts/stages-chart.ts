import { stackedBars } from './stacked-bars.ts';
import type { Chart } from './svg.ts';

/** Where the mean time of a request went in a pipeline: milliseconds at each stage, and elsewhere. */
export interface StagesBar {
  readonly name: string;
  readonly stages: readonly { readonly model: string; readonly queueMs: number; readonly computeMs: number }[];
  /** The rest of what a client waited. */
  readonly outsideMs: number;
}

/** A stage's queue and its computing in one hue, told apart from its neighbours'; after the last the first comes again. */
const hues: readonly (readonly [queue: string, compute: string])[] = [
  ['#8fc1f0', '#2f7ed8'],
  ['#f0c48f', '#e08a1e'],
  ['#8ccf9f', '#2ca05a'],
  ['#cbb0e6', '#8a56c2'],
  ['#f0a3ad', '#cc4458'],
  ['#9fd6d2', '#2a9d94'],
];

/** A stacked bar for each, the first on top, its stages in their order. */
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
  return (paper) => {
    // The legend takes a line for about so many letters.
    const letters = all.reduce((sum, { name }) => sum + name.length + 7, 0);
    const top = 16 + 20 * Math.ceil(letters / (paper.width / 7));
    return stackedBars(bars, all, { name: 'mean time at each stage, ms', top, itemGap: 14 }, paper);
  };
}
