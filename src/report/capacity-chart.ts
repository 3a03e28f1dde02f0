import type { CapacityDocument } from '#capacity/document-schema.ts';
import { axisStyle, type Chart, renderSvg, toGrid } from './charts/svg.ts';

const MET = '#2ca05a';
const MISSED = '#d0505a';
const BEYOND = '#e08a1e';
const BAND = '#2f7ed833';
const MIDDLE = '#2f7ed8';
const BUDGET = '#b05cc8';

type Point = Pick<CapacityDocument['probes'][number], 'perSecond' | 'percentileMs'>;

/**
 * Returns the chart of latency over the request rate: every measurement with its interval, the
 * budget as a line, and the capacity as a band.
 */
export function capacityChart({ limit, probes, cliff, capacity }: CapacityDocument): Chart {
  const met = probes.filter(({ isKept }) => isKept);
  const missed = probes.filter(({ isKept }) => !isKept);
  const all = [...probes, ...cliff].flatMap(({ percentileMs }) => (percentileMs ? [percentileMs.value] : []));
  const least = Math.min(...all, limit.budgetMs ?? Number.POSITIVE_INFINITY);
  const sets = [
    { name: 'met', symbol: 'circle', color: MET, points: met },
    { name: 'missed', symbol: 'diamond', color: MISSED, points: missed },
    { name: 'beyond the capacity', symbol: 'triangle', color: BEYOND, points: cliff },
  ].filter(({ points }) => points.length > 0);
  return (paper) =>
    renderSvg(
      {
        grid: toGrid(paper, paper.isNarrow ? 44 : 46),
        legend: { top: 0, textStyle: { color: paper.ink }, itemGap: 22, data: sets.map(({ name }) => name) },
        xAxis: {
          ...axisStyle(paper),
          type: 'value',
          scale: true,
          name: 'requests per second',
          nameGap: 30,
          splitNumber: paper.isNarrow ? 3 : 6,
        },
        yAxis: {
          ...axisStyle(paper),
          type: 'log',
          min: 2 ** Math.floor(Math.log2(Math.max(least, 0.01))),
          logBase: 2,
          name: `p${limit.percentile} latency, ms`,
          nameGap: paper.isNarrow ? 42 : 58,
        },
        series: [
          ...sets.map(({ name, symbol, color, points }, index) => ({
            type: 'scatter',
            name,
            symbol,
            symbolSize: 10,
            itemStyle: { color },
            data: points.flatMap(({ perSecond, percentileMs }) =>
              percentileMs ? [[perSecond, percentileMs.value]] : [],
            ),
            ...(index === 0 && drawMarks(limit.budgetMs, capacity, paper.ink)),
          })),
          ...sets.flatMap(({ color, points }) => points.flatMap((point) => drawWhiskers(point, color))),
        ],
      },
      paper,
    );
}

function drawMarks(budgetMs: number | null, capacity: CapacityDocument['capacity'], ink: string) {
  const label = { color: ink, position: 'insideEndTop' as const };
  return {
    markLine: {
      symbol: 'none',
      silent: true,
      data: [
        ...(budgetMs === null
          ? []
          : [{ yAxis: budgetMs, lineStyle: { color: BUDGET }, label: { ...label, formatter: 'budget' } }]),
        ...(capacity
          ? [{ xAxis: capacity.value, lineStyle: { color: MIDDLE }, label: { ...label, formatter: 'capacity' } }]
          : []),
      ],
    },
    ...(capacity && {
      markArea: {
        silent: true,
        itemStyle: { color: BAND },
        data: [[{ xAxis: capacity.low }, { xAxis: capacity.high }]],
      },
    }),
  };
}

/** Returns the interval of a measurement as a line through its mark. */
function drawWhiskers({ perSecond, percentileMs }: Point, color: string): object[] {
  if (!percentileMs || !(percentileMs.low > 0)) return [];
  const { low, high } = percentileMs;
  return [
    {
      type: 'line',
      silent: true,
      symbol: 'none',
      lineStyle: { color, width: 1.5, opacity: 0.6 },
      data: [
        [perSecond, low],
        [perSecond, high],
      ],
    },
  ];
}
