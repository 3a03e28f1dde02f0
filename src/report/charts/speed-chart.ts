import type { Interval } from '#stats/interval.ts';
import { axisStyle, type Chart, renderSvg, toGrid } from './svg.ts';

/** The speed at a moment of the study, relative to its first minute, with its 95 % interval. */
export interface SpeedMoment {
  readonly atSeconds: number;
  readonly speed: Interval;
}

export interface SpeedMarks {
  /** The speed to which all figures are scaled for comparison. */
  readonly usual: number;
  /** Seconds until the final began; null without a final. */
  readonly finalSeconds: number | null;
}

const HEIGHT = 240;
const COLOUR = '#2f7ed8';
/** Pixels next to the chart for the label of the usual speed, which would overlap the line. */
const LABEL_WIDTH = 76;

/** Draws a strip of speed over time: the line in its band, the usual speed, and a shaded final. */
export function speedChart(moments: readonly SpeedMoment[], { usual, finalSeconds }: SpeedMarks): Chart {
  const points = moments.map(({ atSeconds, speed }) => ({ at: atSeconds, ...speed }));
  const end = Math.max(...points.map(({ at }) => at));
  const line = (of: 'value' | 'low', more: object) => ({
    type: 'line',
    silent: true,
    symbol: 'none',
    data: points.map((point) => [point.at, rounded(point[of])]),
    ...more,
  });
  return (paper) =>
    renderSvg(
      {
        grid: { ...toGrid(paper, paper.isNarrow ? -10 : 24), right: LABEL_WIDTH },
        xAxis: {
          ...axisStyle(paper),
          axisLabel: { color: paper.ink, hideOverlap: true },
          type: 'value',
          min: 0,
          max: Math.ceil(end),
          name: 'seconds of the study',
          nameGap: 30,
        },
        yAxis: {
          ...axisStyle(paper),
          type: 'value',
          min: 0,
          name: 'speed',
          nameGap: paper.isNarrow ? 42 : 58,
        },
        series: [
          line('low', { stack: 'band', lineStyle: { opacity: 0 } }),
          {
            ...line('low', { stack: 'band', lineStyle: { opacity: 0 }, areaStyle: { color: COLOUR, opacity: 0.2 } }),
            data: points.map(({ at, low, high }) => [at, rounded(high - low)]),
          },
          {
            ...line('value', { lineStyle: { color: COLOUR, width: 2 }, z: 3 }),
            symbol: 'circle',
            symbolSize: 4,
            itemStyle: { color: COLOUR },
            markLine: {
              symbol: 'none',
              silent: true,
              lineStyle: { color: '#2ca05a', type: 'dashed' },
              label: { formatter: `usual ${usual.toFixed(2)}`, color: '#2ca05a', position: 'end' as const },
              data: [{ yAxis: usual }],
            },
            ...(finalSeconds !== null && { markArea: finalArea(finalSeconds, Math.ceil(end), paper.ink) }),
          },
        ],
      },
      { ...paper, height: HEIGHT },
    );
}

const finalArea = (from: number, to: number, ink: string) => ({
  silent: true,
  itemStyle: { color: '#8883' },
  label: { formatter: 'final', color: ink, position: 'insideBottom' as const },
  data: [[{ xAxis: from }, { xAxis: to }]],
});

const rounded = (value: number): number => Number(value.toPrecision(4));
