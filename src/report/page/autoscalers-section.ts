import type { ScalingDocument } from '#autoscale/document.ts';
import { formatDuration, formatFigure } from '#base/format.ts';
import { type Html, html, none } from '../html.ts';
import { table } from './table.ts';

/** Returns the values of autoscalers, and what they give in simulation. */
export function autoscalersSection(autoscalers: readonly ScalingDocument[] = []): Html {
  if (autoscalers.length === 0) return none;
  const isPredicted = autoscalers.some((each) => each.isPredicted);
  return html`<h2>Autoscaler</h2>
${table({
  className: 'numbers',
  heads: [
    ...['autoscaler', 'requests/s for each', 'replicas', 'fewer after', 'traffic', 'limit does not hold'],
    ...['replica-hours', 'of a clairvoyant'],
  ],
  rows: autoscalers.flatMap(({ kind, targetPerSecond, minReplicas, maxReplicas, scaleDownSeconds, traffic }) =>
    traffic.map(({ name, brokenShare, replicaHours, clairvoyantHours }) => [
      kind,
      formatFigure(targetPerSecond),
      `${minReplicas} to ${maxReplicas}`,
      formatDuration(scaleDownSeconds),
      name,
      `${(100 * brokenShare).toFixed(1)} %`,
      formatFigure(replicaHours),
      formatFigure(clairvoyantHours),
    ]),
  ),
})}
<p class="soft">Chosen by simulation over this traffic, ${isPredicted ? 'for a predicted ceiling' : 'for the measured capacity'} of each replica. A clairvoyant knows the traffic in advance.</p>`;
}
