import { capital, formatDuration, formatFigure, formatMs } from '#base/format.ts';
import type { CapacityDocument } from '#capacity/document-schema.ts';
import {
  burstText,
  chanceText,
  costText,
  gpusText,
  limitName,
  metText,
  overText,
  rangeText,
  rateCostText,
  rateText,
  replicasText,
  shareText,
  verdictText,
} from '#capacity/words.ts';
import { capacityCards } from './capacity-cards.ts';
import { capacityChart } from './capacity-chart.ts';
import { narrowPaper, type Paper, widePaper } from './charts/svg.ts';
import { type Html, html, none } from './html.ts';
import { headAssets } from './page/assets.ts';
import { autoscalersSection } from './page/autoscalers-section.ts';
import { figure } from './page/figure.ts';
import { instanceTypesTable } from './page/instance-types-table.ts';
import { table } from './page/table.ts';

/** Low enough that the chart is on the first screen. */
const lowPaper: Paper = { ...widePaper, height: 350 };

/**
 * Returns a server's capacity as one self-contained page, which loads nothing and suits light,
 * dark, paper and narrow screens.
 */
export function capacityHtml(document: CapacityDocument): string {
  const { model, server, notes, probes, assumptions = [] } = document;
  return html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>tritune capacity: ${model}</title>
${headAssets()}
</head>
<body>
<h1>${model} <small>on ${server.name} ${server.version}</small></h1>
${server.emulated === null ? none : html`<p class="notice">The server was emulated, with the profile ${server.emulated}.</p>`}
${notes.map((note) => html`<p class="notice">${note}</p>`)}
${assumptions.map((line) => html`<p class="soft">Assumed, and so measured: ${line}.</p>`)}
<p class="verdict ${chooseTone(document)}">${sentence(verdictText(document))}</p>
${capacityCards(document)}
${factsSection(document)}
${probes.length === 0 ? none : figure(capacityChart(document), 'latency-over-rate', chartTitle(document), html`Latency over the request rate, counted from the time at which each request was due. Bars are 95 % intervals of single measurements; the band is that of the capacity.`, [lowPaper, narrowPaper])}
${beyondSection(document)}
${burstSection(document)}
${replicasSection(document)}
${costSection(document)}
${autoscalersSection(document.autoscalers)}
${probesSection(document)}
${methodSection(document)}
</body>
</html>
`.text;
}

/** Returns the message of the chart: where the server exceeds the limit. */
function chartTitle({ limit, capacity, probes }: CapacityDocument): string {
  const met =
    limit.budgetMs === null ? 'the limits are met' : `p${limit.percentile} stays within ${formatMs(limit.budgetMs)}`;
  if (capacity) return `${capital(met)} up to ${rateText(capacity.value)}`;
  return probes.every(({ isKept }) => isKept)
    ? `${capital(met)} at every rate that was tried`
    : `At no rate is it certain that ${met}`;
}

const chooseTone = ({ outcome }: CapacityDocument): string =>
  outcome === 'infeasible' ? 'bad' : outcome === 'found' ? 'good' : 'unsure';

function factsSection({ saturation, speed, gpus, tokens }: CapacityDocument): Html {
  const rows: [string, string][] = [];
  if (tokens)
    rows.push([
      'output tokens',
      `${formatFigure(tokens.outputPerSecond.value)} a second at the capacity (${rangeText(tokens.outputPerSecond)}), ${formatFigure(tokens.outputPerRequest)} a reply`,
    ]);
  if (gpus && gpus.count > 1) rows.push(['GPUs', gpusText(gpus)]);
  if (saturation)
    rows.push([
      'saturation',
      `${saturation.isReached ? '' : 'at least '}${rateText(saturation.perSecond)}, ignoring latency`,
    ]);
  if (speed) {
    const corrected = speed.isCorrected ? '; figures are normalised to its usual speed' : '';
    rows.push([
      'host speed',
      `${speed.lowest.toFixed(2)} to ${speed.highest.toFixed(2)} times its usual speed${corrected}`,
    ]);
  }
  return rows.length === 0
    ? none
    : html`<div class="scroll"><table class="facts"><tbody>${rows.map(
        ([name, text]) => html`<tr><th scope="row">${name}</th><td>${text}</td></tr>`,
      )}</tbody></table></div>`;
}

function beyondSection({ cliff, limit }: CapacityDocument): Html {
  if (cliff.length === 0) return none;
  return html`<h2>Beyond the capacity</h2>
${table({
  className: 'numbers',
  heads: [
    ...['rate', 'requests/s', 'p50', `p${limit.percentile}`, overText(limit), 'failed or not sent'],
    ...['served/s', 'mean latency grows'],
  ],
  rows: cliff.map((each) => [
    `${each.factor.toFixed(2)}×`,
    formatFigure(each.perSecond),
    formatMs(each.p50Ms),
    each.percentileMs ? formatMs(each.percentileMs.value) : '–',
    shareText(each.badShare),
    shareText(each.errorRate),
    formatFigure(each.servedPerSecond),
    each.growthMsPerSecond === null ? '–' : `${formatMs(Math.max(0, each.growthMsPerSecond))} a second`,
  ]),
})}
<p class="soft">Each load lasted ${formatDuration(Math.max(...cliff.map(({ seconds }) => seconds)))}. Where a queue grows, latency rises for as long as the load lasts.</p>`;
}

function burstSection({ burst, limit }: CapacityDocument): Html {
  if (!burst) return none;
  return html`<h2>Burst</h2>
<p>${sentence(burstText(burst))}</p>
${table({
  className: 'numbers',
  heads: [
    ...['base rate', 'in the burst', `p${limit.percentile} overall`, 'worst moment'],
    ...['within the budget again', 'verdict'],
  ],
  rows: burst.plays.map((play) => [
    formatFigure(play.perSecond),
    formatFigure(play.perSecond * burst.factor),
    play.percentileMs ? formatMs(play.percentileMs.value) : '–',
    formatMs(play.worstMs),
    play.recoveredAfterSeconds === null
      ? 'not during the measurement'
      : `${formatDuration(play.recoveredAfterSeconds)} after it`,
    metText(play.isKept),
  ]),
})}`;
}

function replicasSection({ replicas, limit }: CapacityDocument): Html {
  if (!replicas) return none;
  return html`<h2>Replicas</h2>
<p>${sentence(replicasText(replicas))}</p>
${table({
  className: 'numbers',
  heads: [
    'replicas',
    `requests/s each${replicas.headroom > 0 ? ', headroom included' : ''}`,
    `probability that all meet the ${limitName(limit)}`,
  ],
  rows: replicas.table.map((row) => [`${row.replicas}`, formatFigure(row.perReplica), chanceText(row.chance)]),
})}
<p class="soft">Randomly routed Poisson traffic is Poisson at every replica, so one replica's measured capacity applies to all. Replicas are assumed to ${replicas.spread > 0 ? `differ by ${shareText(replicas.spread)}` : 'be identical'}.</p>`;
}

function costSection({ cost, gpus, replicas }: CapacityDocument): Html {
  if (!cost) return none;
  const ofRate = rateCostText(cost, replicas);
  return html`<h2>Cost</h2>
<p>${sentence(costText(cost, gpus ?? null))}${ofRate === null ? '' : ` ${sentence(ofRate)}`}</p>
${instanceTypesTable(cost.instanceTypes, cost.currency)}`;
}

function probesSection({ probes, closedLoops, limit }: CapacityDocument): Html {
  if (probes.length === 0) return none;
  return html`<h2>Measurements</h2>
${table({
  className: 'numbers',
  heads: ['requests/s', `p${limit.percentile}`, '95 % interval', overText(limit), 'time', 'verdict'],
  rows: probes.map((probe) => [
    formatFigure(probe.perSecond),
    probe.percentileMs ? formatMs(probe.percentileMs.value) : '–',
    probe.percentileMs ? rangeText(probe.percentileMs) : '',
    shareText(probe.badShare),
    formatDuration(probe.seconds),
    metText(probe.isKept),
  ]),
})}
${
  closedLoops.length === 0
    ? none
    : html`<p class="soft">Closed loops gave a first estimate before these. Requests in flight: ${closedLoops.map(({ concurrency }) => concurrency).join(', ')}.</p>`
}`;
}

function methodSection({ arrivals, precision, trituneVersion, seconds, commandLine }: CapacityDocument): Html {
  return html`<h2>Method</h2>
<p>Requests were sent in an open loop (${arrivals}), each at its scheduled time, regardless of replies. Rates were chosen by probabilistic bisection: each where the posterior of the capacity is most uncertain, until its 95 % interval was within ±${shareText(precision)}. A single measurement may be on the wrong side of the capacity; all of them together determine it. tritune ${trituneVersion}, ${formatDuration(seconds)}.</p>
<pre>tritune ${commandLine.join(' ')}</pre>`;
}
const sentence = (text: string): string => `${capital(text)}.`;
