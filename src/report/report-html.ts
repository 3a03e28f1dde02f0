import type { StudyState } from '#study/records/state.ts';
import type { Summary } from '#study/summary/summary-schema.ts';
import type { Chart } from './charts/svg.ts';
import { type Html, html, none } from './html.ts';
import { headAssets, pageScript } from './page/assets.ts';
import { type ChartName, MAX_LINES, studyCharts } from './page/charts.ts';
import { classesSection } from './page/classes-section.ts';
import { comparison } from './page/comparison.ts';
import { costSection } from './page/cost-section.ts';
import { figure } from './page/figure.ts';
import { firstScreen } from './page/first-screen.ts';
import { importanceSection } from './page/importance-section.ts';
import { methodSection } from './page/method-section.ts';
import { phasesSection } from './page/phases-section.ts';
import { pagePoints } from './page/points.ts';
import { repeatedReadings } from './page/repeated-readings.ts';
import { speedSection } from './page/speed-section.ts';
import { stagesSection } from './page/stages-section.ts';
import { chartTitle } from './page/titles.ts';
import { tokensSection } from './page/tokens-section.ts';
import { failuresSection, trialsSection } from './page/trials-section.ts';
import { notices } from './page/verdict.ts';
import { whatIfSection } from './page/what-if-section.ts';
import { workloadsSection } from './page/workloads-section.ts';

/**
 * Returns the study as one self-contained page, finished or not. The page loads nothing, suits
 * light, dark and paper, and is readable without its script. The same journal always gives the same
 * page.
 */
export function reportHtml(state: StudyState, summary: Summary, bestConfigText: string | null): string {
  const { started, server } = state;
  const charts = studyCharts(state);
  const formatTitle = (name: ChartName): string => chartTitle(name, state, summary.explanation);
  return html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>tritune: ${started.model}</title>
${headAssets()}
</head>
<body>
<h1>${started.model} <small>on ${server.name} ${server.version}</small></h1>
${notices(state, summary)}
${firstScreen(state, summary)}
${comparison(state, summary)}
${workloadsSection(state)}
${stagesSection(state)}
${chartsSection(state, charts, formatTitle)}
${tokensSection(state, charts, formatTitle)}
${classesSection(state)}
${speedSection(state, summary.speed)}
${importanceSection(state)}
${costSection(state, summary.best?.cost)}
${whatIfSection(state)}
${trialsSection(state)}
${failuresSection(state)}
${phasesSection(state)}
${bestConfigText === null ? none : html`<h2>Best config.pbtxt</h2><pre>${bestConfigText}</pre>`}
${methodSection(state)}
${pageScript()}
</body>
</html>
`.text;
}

function chartsSection(
  state: StudyState,
  charts: ReadonlyMap<ChartName, Chart>,
  title: (name: ChartName) => string,
): Html {
  if (charts.size === 0) return none;
  const measured = state.trials.filter(({ measurements }) => measurements.length > 0).length;
  const shown =
    measured > MAX_LINES
      ? `The ${MAX_LINES} best of ${measured} trials; the others are below.`
      : 'Each line is a trial.';
  return html`<h2>Throughput and latency</h2>
${figure(charts.get('front'), 'front', title('front'), html`Each mark is a trial at one load level. The line is the Pareto front: nothing beats these points in both metrics. Point at a mark, or reach it with the Tab key, to see its config and figures.`)}
<div id="point" class="point" data-start="#${formatStart(state)}" aria-live="polite" hidden></div>
${repeatedReadings(state)}
${figure(charts.get('throughput-vs-latency'), 'throughput-vs-latency', title('throughput-vs-latency'), html`Throughput over latency as the load rises. ${shown}`)}
${figure(charts.get('latency-vs-load'), 'latency-vs-load', title('latency-vs-load'), html`Latency over load. ${shown}`)}
${figure(charts.get('latency-breakdown'), 'latency-breakdown', title('latency-breakdown'), html`${breakdownWords(state)}, from the server's own statistics, at the level after the @.`)}`;
}

function breakdownWords({ started: { topology } }: StudyState): string {
  if (!topology) return 'Breakdown of the mean request time';
  return topology.fronts.length === 1
    ? 'Breakdown of the mean request time by stage; parallel stages are added'
    : 'Breakdown of the mean request time by model';
}

/** The point shown first: the best's. */
const formatStart = (state: StudyState): string =>
  pagePoints(state).find(({ standing }) => standing === 'best')?.id ?? '';
