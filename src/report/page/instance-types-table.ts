import { formatFigure } from '../../base/format.ts';
import type { InstanceTypeCost } from '../../study/goal/instance-types.ts';
import { type Html, html, none } from '../html.ts';

/** Returns the costs on types of instances as a table; empty without any. */
export function instanceTypesTable(types: readonly InstanceTypeCost[], currency: string): Html {
  if (types.length === 0) return none;
  const isForRate = types.some(({ forRate }) => forRate !== undefined);
  const isOfTokens = types.some(({ perMillionTokens }) => perMillionTokens !== undefined);
  const rate = ({ forRate }: InstanceTypeCost): Html =>
    isForRate
      ? html`<td>${forRate ? formatFigure(forRate.instances) : '–'}</td><td>${forRate ? formatFigure(forRate.perHour) : '–'}</td>`
      : none;
  const tokens = ({ perMillionTokens }: InstanceTypeCost): Html =>
    isOfTokens ? html`<td>${perMillionTokens ? formatFigure(perMillionTokens.value) : '–'}</td>` : none;
  return html`<div class="scroll"><table class="numbers instance-types">
<thead><tr><th>instance type</th><th>GPUs</th><th>an hour, ${currency}</th><th>replicas on one</th><th>a million inferences, ${currency}</th>${isOfTokens ? html`<th>a million output tokens, ${currency}</th>` : none}${isForRate ? html`<th>instances for the rate</th><th>an hour of them, ${currency}</th>` : none}</tr></thead>
<tbody>${types.map(
    (type) =>
      html`<tr><td>${type.name}</td><td>${formatFigure(type.gpus)}</td><td>${formatFigure(type.perHour)}</td><td>${formatFigure(type.holds)}</td><td>${formatFigure(type.perMillion.value)}</td>${tokens(type)}${rate(type)}</tr>`,
  )}</tbody></table></div>
<p class="soft">An instance holds as many replicas as it has GPUs for. Replicas on one instance are assumed to serve as much as one alone.</p>`;
}
