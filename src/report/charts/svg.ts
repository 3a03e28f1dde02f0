import { BarChart, LineChart, ScatterChart } from 'echarts/charts';
import { GridComponent, LegendComponent, MarkAreaComponent, MarkLineComponent } from 'echarts/components';
import { type EChartsCoreOption, init, use } from 'echarts/core';
import { SVGRenderer } from 'echarts/renderers';
import { escapeHtml } from '../html.ts';

use([
  BarChart,
  LineChart,
  ScatterChart,
  GridComponent,
  LegendComponent,
  MarkAreaComponent,
  MarkLineComponent,
  SVGRenderer,
]);

/** The paper that a chart is drawn on: pixels, and colours. */
export interface Paper {
  readonly width: number;
  readonly height: number;
  readonly isNarrow: boolean;
  /** The colour of words and axes. The style of a page overrides it, so that it suits light and dark. */
  readonly ink: string;
  /** null: whatever lies behind it. */
  readonly background: string | null;
  /** Whether its points are links to what the page around it tells of them. */
  readonly isLinked: boolean;
}

/** Where a point of a chart leads, and what it is, for whoever cannot see it. */
export interface Link {
  readonly href: string;
  readonly label: string;
}

/** A chart that can be drawn on any paper; the same paper gives the same text. */
export type Chart = (paper: Paper) => string;

const common = { isNarrow: false, ink: '#777', background: null, isLinked: true } as const;

/** The paper of a page. A narrow page has a chart of its own, as letters would be too small to read. */
export const widePaper: Paper = { ...common, width: 900, height: 420 };
export const narrowPaper: Paper = { ...common, width: 380, height: 340, isNarrow: true };
/** The paper of a file, which may be put on any background. */
export const filePaper: Paper = { ...widePaper, ink: '#333', background: '#fff', isLinked: false };

/**
 * The option drawn as the text of an SVG file. `linkOf` gives each data point its link by series and index, null where it
 * has none.
 */
export function svgOf(
  option: EChartsCoreOption,
  { width, height, ink, background, isLinked }: Paper,
  linkOf: (series: number, index: number) => Link | null = () => null,
): string {
  const chart = init(null, null, { renderer: 'svg', ssr: true, width, height });
  chart.setOption({
    animation: false,
    textStyle: { color: ink },
    ...(background && { backgroundColor: background }),
    ...option,
  });
  const svg = chart.renderToSVGString();
  chart.dispose();
  return linked(plain(svg), isLinked ? linkOf : () => null);
}

/**
 * The chart library's own styles answer to a pointer only, and nothing of ours lies outside its axes, so that no clip is
 * needed: without both, no name in a chart is ever the same as one in another.
 */
const plain = (svg: string): string =>
  svg
    .replace(/<style >[\s\S]*?<\/style>\n?/g, '')
    .replace(/<defs >[\s\S]*?<\/defs>\n?/g, '')
    .replace(/ (?:class="zr\d+-cls-\d+"|clip-path="url\(#zr\d+-c\d+\)")/g, '');

const mark = / ecmeta_series_index="(\d+)" ecmeta_data_index="(\d+)" ecmeta_ssr_type="(\w+)"( ecmeta_silent="true")?/;
const shape = new RegExp(`<path [^>]*?${mark.source}[^>]*></path>`, 'g');

/** Data points become links; what the chart library notes for its own client goes. */
function linked(svg: string, linkOf: (series: number, index: number) => Link | null): string {
  return svg
    .replace(shape, (path, series: string, index: string, type: string, silent?: string) => {
      const link = type === 'chart' && !silent ? linkOf(Number(series), Number(index)) : null;
      if (!link) return path;
      return `<a href="${escapeHtml(link.href)}" aria-label="${escapeHtml(link.label)}">${path}</a>`;
    })
    .replace(/ ecmeta_\w+="[^"]*"/g, '');
}

/** What all axes have in common. */
export const axisStyle = ({ ink }: Paper) => ({
  nameLocation: 'middle' as const,
  nameTextStyle: { color: ink },
  axisLabel: { color: ink },
  axisLine: { lineStyle: { color: '#888' } },
  splitLine: { lineStyle: { color: '#8883' } },
});

/** The margins between the paper's edge and the axes. */
export const gridOf = ({ isNarrow }: Paper, top = 46) => ({
  left: isNarrow ? 58 : 78,
  right: isNarrow ? 14 : 30,
  top: isNarrow ? top + 34 : top,
  bottom: 52,
});

/** An axis in powers of two from the power below the least value to the one above the largest. */
export function powersOfTwo(values: readonly number[]) {
  const positive = values.filter((value) => value > 0);
  const least = positive.length === 0 ? 1 : Math.min(...positive);
  const most = Math.max(least, ...positive);
  const [low, high] = [Math.floor(Math.log2(least)), Math.ceil(Math.log2(most))];
  return { type: 'log' as const, logBase: 2, min: 2 ** low, max: 2 ** Math.max(high, low + 1) };
}
