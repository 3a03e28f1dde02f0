import { formatFigure, formatRate, type RateUnit } from '#base/format.ts';
import { replicasFor } from '#stats/replicas.ts';
import { type CostRow, listCostRows } from '#study/analysis/cost-table.ts';
import { costPerMillion } from '#study/goal/cost-per-million.ts';
import type { StudyState } from '#study/records/state.ts';
import { describeAmount } from '#study/summary/cost-point.ts';
import { describeAssignment } from '#study/summary/describe.ts';
import type { CostPoint } from '#study/summary/point-schema.ts';
import { rateUnitOfStudy } from '#study/summary/rate-unit.ts';
import { type Html, html, jsonBlock, none } from '../html.ts';
import { instanceTypesTable } from './instance-types-table.ts';

/**
 * Returns the costs of each config at a rate: replicas, and the price per hour, with the cheapest
 * marked. Without a script, shows the study's own rate; with one, a slider changes the rate.
 * `best`: the cost of the best config, whose costs on other types of instances follow. Empty
 * without prices.
 */
export function costSection(state: StudyState, best: CostPoint | undefined): Html {
  const { cost } = state.goal;
  const rows = listCostRows(state);
  if (!cost || rows.length === 0) return none;
  const rate = typeof cost.forRate === 'number' ? cost.forRate : Math.max(...rows.map(({ usable }) => usable));
  const unit = rateUnitOfStudy(state);
  const table = rows
    .map((row) => ({ row, ...atRate(row, rate) }))
    .toSorted((a, b) => a.cost - b.cost || a.load - b.load);
  const block = jsonBlock('cost-rows', {
    rate,
    unit,
    currency: cost.currency,
    rows: rows.map(({ trial, predicted, usable, perHour, gpus }) => ({
      trial: trial?.number ?? null,
      isPredicted: predicted !== null,
      name: formatName({ trial, predicted }),
      usable: fourDigits(usable),
      perHour,
      gpus,
    })),
  });
  const paid = cost.per === 'gpu' ? `each ${cost.name} that a server uses` : `each server as a whole, ${cost.name}`;
  return html`<h2 id="cost">Cost at a rate</h2>
<p>The servers that a rate needs. Each serves its highest throughput within the goal, with ${Math.round(100 * cost.headroom)} % headroom, ${Math.round(100 * cost.chance)} % likely by its interval. The price is for ${paid}: ${describeAmount(cost.perHour, cost.currency)} an hour.</p>
${block}
<div id="cost-controls" class="controls" hidden></div>
<p id="cost-words" class="words" aria-live="polite">${cheapestWords(table[0], formatRate(rate, unit), cost.currency)}</p>
<div class="scroll"><table id="cost-table"><thead><tr><th>config</th><th>${unit} per replica</th><th>${unit} per GPU</th><th>replicas</th><th>utilisation</th><th>hourly cost, ${cost.currency}</th><th>per million, ${cost.currency}</th></tr></thead>
<tbody>${table.map(
    ({ row, replicas, load, cost: hourly }, index) =>
      html`<tr${index === 0 ? html` class="here"` : none}><td>${formatName(row)}</td><td>${formatFigure(row.usable)}</td><td>${perGpuText(row)}</td><td>${formatFigure(replicas)}</td><td>${Math.round(100 * load)} %</td><td>${formatFigure(hourly)}</td><td>${formatFigure(costPerMillion(hourly, rate))}</td></tr>\n`,
  )}</tbody></table></div>
<p class="soft">The cost per million ${countedBy(unit)} is at this rate, headroom and idle replicas included. Predicted configs were not measured: their throughput is the queueing model's, at the levels of <a href="#what-if">What if</a>, without its interval.</p>
${best?.instanceTypes ? html`<h3>The best config on other instances</h3>${instanceTypesTable(best.instanceTypes, cost.currency)}` : none}`;
}

const countedBy = (unit: RateUnit): string => (unit === 'infer/s' ? 'inferences' : 'requests');

const perGpuText = ({ usable, gpus }: CostRow): string => (gpus ? formatFigure(usable / gpus) : '–');

interface AtRate {
  readonly replicas: number;
  /** The share of a replica's capacity that the rate uses, 0 to 1. */
  readonly load: number;
  readonly cost: number;
}

function atRate({ usable, perHour }: CostRow, rate: number): AtRate {
  const replicas = replicasFor(rate, usable);
  return { replicas, load: rate / (replicas * usable), cost: replicas * perHour };
}

function cheapestWords(
  cheapest: (AtRate & { readonly row: CostRow }) | undefined,
  rate: string,
  currency: string,
): string {
  if (!cheapest) return '';
  const { row, replicas, cost } = cheapest;
  return `${rate} cost at least ${describeAmount(cost, currency)} an hour: ${formatFigure(replicas)} × ${formatName(row)}.`;
}

const formatName = ({ trial, predicted }: Pick<CostRow, 'trial' | 'predicted'>): string =>
  trial ? `trial ${trial.number}: ${describeAssignment(trial.candidate.assignment)}` : `predicted: ${predicted ?? ''}`;

const fourDigits = (value: number): number => Number(value.toPrecision(4));
