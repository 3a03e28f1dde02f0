import { capital, formatDuration, formatFigure, formatMs } from '../../base/format.ts';
import type { CapacityDocument } from '../../capacity/document-schema.ts';
import {
  burstText,
  costText,
  gpusText,
  rangeText,
  rateCostText,
  rateText,
  replicasText,
  shareText,
  verdictText,
} from '../../capacity/words.ts';
import { narrowPaper, type Paper, widePaper } from '../charts/svg.ts';
import { type Html, html, none } from '../html.ts';
import { headAssets } from '../page/assets.ts';
import { figure } from '../page/figure.ts';
import { instanceTypesTable } from '../page/instance-types-table.ts';
import { capacityCards } from './cards.ts';
import { capacityChart } from './chart.ts';

/** Low enough that the chart is on the first screen. */
const lowPaper: Paper = { ...widePaper, height: 350 };

/** Returns a server's capacity as one self-contained page, which loads nothing and suits light, dark, paper and narrow screens. */
export function capacityHtml(document: CapacityDocument): string {
  const { model, server, notes, probes } = document;
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
<p class="verdict ${toneOf(document)}">${sentence(verdictText(document))}</p>
${capacityCards(document)}
${factsSection(document)}
${probes.length === 0 ? none : figure(capacityChart(document), 'latency-over-rate', chartTitle(document), html`Latency over the request rate, from the time that each request was due. Bars are 95 % intervals of single measurements; the band is that of the capacity.`, [lowPaper, narrowPaper])}
${beyondSection(document)}
${burstSection(document)}
${replicasSection(document)}
${costSection(document)}
${probesSection(document)}
${methodSection(document)}
</body>
</html>
`.text;
}

/** Returns the message of the chart: where the server exceeds the limit. */
function chartTitle({ limit, capacity, probes }: CapacityDocument): string {
  const kept =
    limit.budgetMs === null ? 'the limits are kept' : `p${limit.percentile} stays within ${formatMs(limit.budgetMs)}`;
  if (capacity) return `${capital(kept)} up to ${rateText(capacity.value)}`;
  return probes.every(({ isKept }) => isKept)
    ? `${capital(kept)} at every rate that was tried`
    : `At no rate is it sure that ${kept}`;
}

const toneOf = ({ outcome }: CapacityDocument): string =>
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
      `${saturation.isReached ? '' : 'at least '}${rateText(saturation.perSecond)}, whatever the latency`,
    ]);
  if (speed) {
    const corrected = speed.isCorrected ? '; figures are at its usual speed' : '';
    rows.push([
      'speed of the host',
      `${speed.lowest.toFixed(2)} to ${speed.highest.toFixed(2)} times its usual one${corrected}`,
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
<div class="scroll"><table class="numbers">
<thead><tr><th>rate</th><th>requests/s</th><th>p50</th><th>p${limit.percentile}</th><th>over the limit</th><th>failed or not sent</th><th>served/s</th><th>mean latency grows</th></tr></thead>
<tbody>${cliff.map(
    (each) =>
      html`<tr><td>${each.factor.toFixed(2)}×</td><td>${formatFigure(each.perSecond)}</td><td>${formatMs(each.p50Ms)}</td><td>${each.percentileMs ? formatMs(each.percentileMs.value) : '–'}</td><td>${shareText(each.badShare)}</td><td>${shareText(each.errorRate)}</td><td>${formatFigure(each.servedPerSecond)}</td><td>${each.growthMsPerSecond === null ? '–' : `${formatMs(Math.max(0, each.growthMsPerSecond))} a second`}</td></tr>`,
  )}</tbody></table></div>
<p class="soft">Each rate was played for ${formatDuration(Math.max(...cliff.map(({ seconds }) => seconds)))}. Where a queue grows, a longer time gives higher latency.</p>`;
}

function burstSection({ burst, limit }: CapacityDocument): Html {
  if (!burst) return none;
  return html`<h2>Burst</h2>
<p>${sentence(burstText(burst))}</p>
<div class="scroll"><table class="numbers">
<thead><tr><th>base rate</th><th>in the burst</th><th>p${limit.percentile} over all</th><th>worst moment</th><th>within the budget again</th><th>verdict</th></tr></thead>
<tbody>${burst.plays.map(
    (play) =>
      html`<tr><td>${formatFigure(play.perSecond)}</td><td>${formatFigure(play.perSecond * burst.factor)}</td><td>${play.percentileMs ? formatMs(play.percentileMs.value) : '–'}</td><td>${formatMs(play.worstMs)}</td><td>${play.recoveredAfterSeconds === null ? 'not while it was played' : `${formatDuration(play.recoveredAfterSeconds)} after it`}</td><td>${play.isKept ? 'kept' : 'missed'}</td></tr>`,
  )}</tbody></table></div>`;
}

function replicasSection({ replicas }: CapacityDocument): Html {
  if (!replicas) return none;
  return html`<h2>Replicas</h2>
<p>${sentence(replicasText(replicas))}</p>
<div class="scroll"><table class="numbers">
<thead><tr><th>replicas</th><th>requests/s each${replicas.headroom > 0 ? ', with what is kept free' : ''}</th><th>chance that all keep the limit</th></tr></thead>
<tbody>${replicas.table.map(
    (row) =>
      html`<tr><td>${row.replicas}</td><td>${formatFigure(row.perReplica)}</td><td>${shareText(row.chance)}</td></tr>`,
  )}</tbody></table></div>
<p class="soft">Requests that arrive at random and are sent to a replica at random arrive at each at random too, so that what was measured of one holds for each.${replicas.spread > 0 ? ` Replicas differ by ${shareText(replicas.spread)}.` : ' Replicas are taken to be alike.'}</p>`;
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
<div class="scroll"><table class="numbers">
<thead><tr><th>requests/s</th><th>p${limit.percentile}</th><th>95 % interval</th><th>over the limit</th><th>time</th><th>verdict</th></tr></thead>
<tbody>${probes.map(
    (probe) =>
      html`<tr><td>${formatFigure(probe.perSecond)}</td><td>${probe.percentileMs ? formatMs(probe.percentileMs.value) : '–'}</td><td>${probe.percentileMs ? rangeText(probe.percentileMs) : ''}</td><td>${shareText(probe.badShare)}</td><td>${formatDuration(probe.seconds)}</td><td>${probe.isKept ? 'kept' : 'missed'}</td></tr>`,
  )}</tbody></table></div>
${
  closedLoops.length === 0
    ? none
    : html`<p class="soft">Before them, closed loops gave a first guess. Requests in flight: ${closedLoops.map(({ concurrency }) => concurrency).join(', ')}.</p>`
}`;
}

function methodSection({ arrivals, precision, trituneVersion, seconds, commandLine }: CapacityDocument): Html {
  return html`<h2>Method</h2>
<p>Requests were sent in an open loop (${arrivals}), each at its time whatever the replies did. Rates were chosen by probabilistic bisection: each where the posterior of the capacity is most uncertain, until its 95 % interval was within ±${shareText(precision)}. A single measurement may be on the wrong side; the capacity is by all of them. tritune ${trituneVersion}, ${formatDuration(seconds)}.</p>
<pre>tritune ${commandLine.join(' ')}</pre>`;
}
const sentence = (text: string): string => `${capital(text)}.`;
