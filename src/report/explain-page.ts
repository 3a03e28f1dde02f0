import { capital, formatDuration, formatFigure, formatMs } from '#base/format.ts';
import { causeCodes, type ModelExplanation, type ServiceExplanation } from '#explain/explanation.ts';
import { describeBudget, describeBusy } from '#explain/words.ts';
import type { Interval } from '#stats/interval.ts';
import { lineChart } from './charts/line-chart.ts';
import { stackedBars } from './charts/stacked-bars.ts';
import { type Chart, narrowPaper, widePaper } from './charts/svg.ts';
import { type Html, html, none } from './html.ts';
import { headAssets } from './page/assets.ts';
import { autoscalersSection } from './page/autoscalers-section.ts';
import { figure } from './page/figure.ts';
import { type Card, cardsHtml } from './page/first-cards.ts';
import { table } from './page/table.ts';

type Budget = ServiceExplanation['budget'];

/**
 * Returns what a live service does, and why, as one self-contained page, which loads nothing and
 * suits light, dark, paper and narrow screens.
 */
export function explanationHtml(explanation: ServiceExplanation): string {
  const { server, models, idle, budget, at } = explanation;
  const limit = describeBudget(budget);
  return html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>tritune explain: ${server.name}</title>
${headAssets()}
</head>
<body>
<h1>${server.name} ${server.version} <small>at ${server.url}</small></h1>
<p class="soft">Observed until ${at}, without a request to a model.${limit === null ? '' : ` The budget is ${limit} in the server.`}</p>
${models.length > 1 ? overview(models) : none}
${models.length === 0 ? html`<p class="verdict unsure">No model had a request.</p>` : models.map((model, index) => modelSection(model, index, budget))}
${idle.length === 0 ? none : html`<p class="soft">Without requests: ${idle.join(', ')}</p>`}
${autoscalersSection(explanation.autoscalers)}
</body>
</html>
`.text;
}

const overview = (models: readonly ModelExplanation[]): Html =>
  table({
    className: 'numbers',
    heads: ['model', 'requests/s', 'in the server', 'queue', 'instances busy', 'ceiling', 'first cause'],
    rows: models.map(({ model, traffic, timesMs, instances, present, causes }) => [
      model,
      formatFigure(traffic.requestsPerSecond.value),
      formatMs(timesMs.request),
      formatMs(timesMs.queue),
      `${formatFigure(instances.busy)} of ${instances.count}`,
      present ? formatFigure(present.ceiling.value) : '–',
      causes[0]?.code ?? '–',
    ]),
  });

function modelSection(model: ModelExplanation, index: number, budget: Budget): Html {
  const { causes, unknown, settle, seconds } = model;
  return html`<h2>${model.model}</h2>
${causes.map(
  ({
    code,
    sure,
    evidence,
  }) => html`<p class="verdict ${code === 'nothing' ? 'good' : sure === 'sure' ? 'bad' : 'unsure'}">${capital(causeCodes[code])} <small>(${code}, ${sure})</small></p>
<p>${capital(evidence)}.</p>`,
)}
${cardsHtml(listCards(model, budget))}
${figure(timesChart(model), `times-${index}`, timesTitle(model), html`Mean time of a request in the server over ${formatDuration(seconds)}${model.proposal?.latencyMs ? ', and predicted for the proposed config' : ''}. Network and client come on top.`)}
${batchesFigure(model, index)}
${forecastTable(model, budget)}
${changesTable(model)}
${unknown.length === 0 ? none : html`<p class="soft">These readings cannot tell ${unknown.join('; ')}.</p>`}
${settle === null ? none : html`<p>To settle it: ${settle}.</p>`}`;
}

const describeRange = ({ low, high }: Interval): string => `95 %: ${formatFigure(low)} to ${formatFigure(high)}`;

function listCards({ traffic, timesMs, present, instances }: ModelExplanation, budget: Budget): readonly Card[] {
  const limit = describeBudget(budget);
  const rate = traffic.requestsPerSecond;
  return [
    {
      name: 'traffic',
      value: `${formatFigure(rate.value)} requests/s`,
      notes: [describeRange(rate), ...(traffic.arrivals === 'unknown' ? [] : [`arrivals: ${traffic.arrivals}`])],
      tone: 'plain',
    },
    {
      name: 'a request in the server',
      value: formatMs(timesMs.request),
      notes: [`${formatMs(timesMs.queue)} of it in the queue`, describeBusy(instances)],
      tone: 'plain',
    },
    ...(present
      ? [
          {
            name: limit === null ? 'ceiling' : `ceiling with ${limit}`,
            value: `${formatFigure(present.ceiling.value)} requests/s`,
            notes: [describeRange(present.ceiling), `${formatFigure(present.headroom)} times today's`],
            tone: present.headroom < 1 ? ('bad' as const) : ('plain' as const),
          },
        ]
      : []),
  ];
}

interface TimesBar {
  readonly name: string;
  readonly queueMs: number;
  readonly executionMs: number;
  readonly otherMs: number;
}

/** Draws where the time goes, now and with the proposed config. */
function timesChart({ timesMs, present, proposal }: ModelExplanation): Chart {
  const bars: TimesBar[] = [
    { name: 'now', queueMs: timesMs.queue, executionMs: timesMs.execution, otherMs: timesMs.other },
  ];
  if (present && proposal?.latencyMs) {
    const { mean, queue } = proposal.latencyMs;
    const otherMs = Math.min(timesMs.other, Math.max(0, mean - queue));
    bars.push({ name: 'proposed', queueMs: queue, executionMs: Math.max(0, mean - queue - otherMs), otherMs });
  }
  const parts = [
    { name: 'queue', color: '#e08a1e', ms: (bar: TimesBar) => bar.queueMs },
    { name: 'execution', color: '#2f7ed8', ms: (bar: TimesBar) => bar.executionMs },
    { name: 'rest', color: '#999fa8', ms: (bar: TimesBar) => bar.otherMs },
  ];
  return (paper) => stackedBars(bars, parts, { name: 'mean time in the server, ms', itemGap: 24 }, paper);
}

function timesTitle({ timesMs }: ModelExplanation): string {
  const share = timesMs.request > 0 ? timesMs.queue / timesMs.request : 0;
  return `${Math.round(100 * share)} % of a request's time in the server is in the queue`;
}

/** Draws times of executions over batch sizes, where there is more than one. */
function batchesFigure({ batches }: ModelExplanation, index: number): Html {
  const { sizes } = batches;
  if (sizes.length < 2) return none;
  const points = sizes.map(({ size, meanExecutionMs }) => [size, meanExecutionMs] as const);
  const chart = lineChart([{ name: 'mean execution', points }], { x: 'batch size', y: 'execution, ms', isLogX: true });
  const title = `Batches have ${formatFigure(batches.mean)} of at most ${batches.largest} samples`;
  return figure(chart, `batches-${index}`, title, html`Mean execution time of each batch size that was executed.`, [
    { ...widePaper, height: 280 },
    { ...narrowPaper, height: 260 },
  ]);
}

function forecastTable({ present, proposal }: ModelExplanation, { percentile }: Budget): Html {
  if (!present) return none;
  const rows = [['present config', present] as const, ...(proposal ? [['proposed config', proposal] as const] : [])];
  return table({
    className: 'numbers',
    caption: "Predicted at today's traffic, and the ceiling",
    heads: ['config', 'mean', 'queue', `p${percentile}`, 'ceiling, requests/s', '95 %'],
    rows: rows.map(([name, { latencyMs, ceiling }]) => [
      name,
      latencyMs ? formatMs(latencyMs.mean) : 'cannot keep up',
      latencyMs ? formatMs(latencyMs.queue) : '–',
      latencyMs ? formatMs(latencyMs.tail) : '–',
      formatFigure(ceiling.value),
      `${formatFigure(ceiling.low)} to ${formatFigure(ceiling.high)}`,
    ]),
  });
}

function changesTable({ proposal }: ModelExplanation): Html {
  if (!proposal || proposal.changes.length === 0) return none;
  return table({
    caption: 'The proposed config',
    heads: ['field', 'now', 'proposed'],
    rows: proposal.changes.map(({ path, before, after }) => [path, before ?? 'none', after ?? 'none']),
  });
}
