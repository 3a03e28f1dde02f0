import { BarChart, LineChart, ScatterChart } from 'echarts/charts';
import { GridComponent, LegendComponent, MarkAreaComponent, MarkLineComponent } from 'echarts/components';
import { type EChartsCoreOption, init, use } from 'echarts/core';
import { SVGRenderer } from 'echarts/renderers';
import { inertText } from '#base/format.ts';
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

/** The size and colours of a chart's paper. */
export interface Paper {
  readonly width: number;
  readonly height: number;
  readonly isNarrow: boolean;
  /** The colour of text and axes. A page's style overrides it to suit light and dark. */
  readonly ink: string;
  /** null for transparent. */
  readonly background: string | null;
  /** True if its points link to their details on the page. */
  readonly isLinked: boolean;
}

/** The target and the description of a chart's point, for readers who cannot see it. */
export interface Link {
  readonly href: string;
  readonly label: string;
}

/** A chart that can be drawn on any paper. The same paper always gives the same text. */
export type Chart = (paper: Paper) => string;

const common = { isNarrow: false, ink: '#777', background: null, isLinked: true } as const;

/** The paper of a page. A narrow page has its own chart, because letters would become too small. */
export const widePaper: Paper = { ...common, width: 900, height: 420 };
export const narrowPaper: Paper = { ...common, width: 380, height: 340, isNarrow: true };
/** The paper of a file, which suits any background. */
export const filePaper: Paper = { ...widePaper, ink: '#333', background: '#fff', isLinked: false };

/**
 * Draws the option as the text of an SVG file. `findLink` returns each data point's link by series
 * and index; null for none.
 */
export function renderSvg(
  option: EChartsCoreOption,
  { width, height, ink, background, isLinked }: Paper,
  findLink: (series: number, index: number) => Link | null = () => null,
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
  return linked(plain(inertText(svg)), isLinked ? findLink : () => null);
}

/**
 * Removes the chart library's styles, which only react to a pointer, and its clips, which are not
 * needed because nothing of ours lies outside the axes. Without both, names in different charts
 * never clash.
 */
const plain = (svg: string): string =>
  svg
    .replace(/<style >[\s\S]*?<\/style>\n?/g, '')
    .replace(/<defs >[\s\S]*?<\/defs>\n?/g, '')
    .replace(/ (?:class="zr\d+-cls-\d+"|clip-path="url\(#zr\d+-c\d+\)")/g, '');

const mark = / ecmeta_series_index="(\d+)" ecmeta_data_index="(\d+)" ecmeta_ssr_type="(\w+)"( ecmeta_silent="true")?/;
const shape = new RegExp(`<path [^>]*?${mark.source}[^>]*></path>`, 'g');

/** Turns data points into links, and removes the chart library's notes for its own client. */
function linked(svg: string, findLink: (series: number, index: number) => Link | null): string {
  return svg
    .replace(shape, (path, series: string, index: string, type: string, silent?: string) => {
      const link = type === 'chart' && !silent ? findLink(Number(series), Number(index)) : null;
      if (!link) return path;
      return `<a href="${escapeHtml(link.href)}" aria-label="${escapeHtml(link.label)}">${path}</a>`;
    })
    .replace(/ ecmeta_\w+="[^"]*"/g, '');
}

/** The common style of all axes. */
export const axisStyle = ({ ink }: Paper) => ({
  nameLocation: 'middle' as const,
  nameTextStyle: { color: ink },
  axisLabel: { color: ink },
  axisLine: { lineStyle: { color: '#888' } },
  splitLine: { lineStyle: { color: '#8883' } },
});

/** The margins between the paper's edge and the axes. */
export const toGrid = ({ isNarrow }: Paper, top = 46) => ({
  left: isNarrow ? 58 : 78,
  right: isNarrow ? 14 : 30,
  top: isNarrow ? top + 34 : top,
  bottom: 52,
});

/**
 * Returns an axis in powers of two, from the power below the smallest value to the one above the
 * largest.
 */
export function powersOfTwo(values: readonly number[]) {
  const positive = values.filter((value) => value > 0);
  const least = positive.length === 0 ? 1 : Math.min(...positive);
  const most = Math.max(least, ...positive);
  const [low, high] = [Math.floor(Math.log2(least)), Math.ceil(Math.log2(most))];
  return { type: 'log' as const, logBase: 2, min: 2 ** low, max: 2 ** Math.max(high, low + 1) };
}
