import { formatDuration, formatFigure, formatMs, plainLine } from '../base/format.ts';
import { causeCodes, type ModelExplanation, type ServiceExplanation } from '../explain/explanation.ts';
import { scalingLines } from './scaling-lines.ts';

/** Words for how requests arrive. */
const arrivals: Readonly<Record<ModelExplanation['traffic']['arrivals'], string>> = {
  poisson: 'as of independent clients',
  bursts: 'in bursts',
  steady: 'more evenly than of independent clients',
  unknown: 'it does not show how they arrive',
};

/** Returns what a server does, why, and what would be better, model by model. */
export function explainLines({ models, idle, budget, autoscalers = [] }: ServiceExplanation): readonly string[] {
  const lines = models.flatMap((model, at) => [...(at > 0 ? [''] : []), ...modelLines(model, budget)]);
  if (models.length === 0) lines.push('no model had a request');
  if (idle.length > 0) lines.push('', `without requests: ${plainLine(idle.join(', '))}`);
  if (autoscalers.length > 0) lines.push('', ...scalingLines(autoscalers));
  return lines;
}

function modelLines(model: ModelExplanation, budget: ServiceExplanation['budget']): string[] {
  const { traffic, timesMs, batches, instances, causes, present, proposal, unknown, settle } = model;
  const tail = `p${budget.percentile}`;
  const rate = traffic.requestsPerSecond;
  const failed = traffic.failedPerSecond > 0 ? `, ${formatFigure(traffic.failedPerSecond)}/s failed` : '';
  const limit = budget.latencyMs === null ? '' : ` with ${tail} within ${formatMs(budget.latencyMs)}`;
  const lines = [
    `${plainLine(model.model, 80)}: ${formatFigure(rate.value)} requests/s in ${formatDuration(model.seconds)}, ${arrivals[traffic.arrivals]}${failed}`,
    `  time      ${formatMs(timesMs.request)} in the server: queue ${formatFigure(timesMs.queue)}, execution ${formatFigure(timesMs.execution)}, rest ${formatFigure(roundTiny(timesMs.other))}`,
    `  work      batches of ${formatFigure(batches.mean)}, ${batches.largest} at most; ${formatFigure(instances.busy)} of ${instances.count} ${instances.count === 1 ? 'instance' : 'instances'} busy`,
    ...causes.flatMap(({ code, sure, evidence }) => [
      `  why       ${causeCodes[code]} (${code}, ${sure})`,
      `            ${plainLine(evidence)}`,
    ]),
  ];
  if (present) {
    const { value, low, high } = present.ceiling;
    lines.push(
      `  ceiling   ${formatFigure(value)} requests/s${limit} (${formatFigure(low)} to ${formatFigure(high)}): ${formatFigure(present.headroom)} times today's`,
    );
  }
  if (proposal) {
    const changes = proposal.changes.map(
      ({ path, before, after }) => `${path} ${before ?? 'none'} → ${after ?? 'none'}`,
    );
    lines.push(`  change    ${plainLine(changes.join(', '))}`);
    lines.push(`  predicted ${predictedWords(present, proposal, tail)}`);
  }
  for (const each of unknown) lines.push(`  unknown   ${plainLine(each)}`);
  if (settle !== null) lines.push(`  settle it ${plainLine(settle)}`);
  return lines;
}

/** Sums of many durations leave a rest that is none. */
const roundTiny = (ms: number): number => Math.round(1e6 * ms) / 1e6;

function predictedWords(
  present: ModelExplanation['present'],
  { ceiling, latencyMs }: NonNullable<ModelExplanation['proposal']>,
  tail: string,
): string {
  const { value, low, high } = ceiling;
  const rate = `ceiling ${formatFigure(value)} requests/s (${formatFigure(low)} to ${formatFigure(high)})`;
  if (!latencyMs) return rate;
  const before = present?.latencyMs;
  const times = (name: 'mean' | 'tail'): string =>
    `${before ? `${formatFigure(before[name])} → ` : ''}${formatMs(latencyMs[name])}`;
  return `today's requests: mean ${times('mean')}, ${tail} ${times('tail')}; ${rate}`;
}
