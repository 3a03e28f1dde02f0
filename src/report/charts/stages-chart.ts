import { axisStyle, type Chart, svgOf } from './svg.ts';

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
    const left = 12 + 1.5 * Math.max(0, ...bars.map(({ name }) => name.length));
    return svgOf(
      {
        grid: { left, right: 24, top, bottom: 46, outerBoundsMode: 'same', outerBoundsContain: 'axisLabel' },
        legend: { top: 0, textStyle: { color: paper.ink }, itemGap: 14 },
        xAxis: { ...axisStyle(paper), type: 'value', name: 'mean time at each stage, ms', nameGap: 28 },
        yAxis: { ...axisStyle(paper), type: 'category', inverse: true, data: bars.map(({ name }) => name) },
        series: all.map(({ name, color, ms }) => ({
          type: 'bar',
          name,
          stack: 'all',
          barMaxWidth: 26,
          itemStyle: { color },
          data: bars.map((bar) => Number(ms(bar).toPrecision(4))),
        })),
      },
      { ...paper, height: top + 48 + 34 * bars.length },
    );
  };
}
