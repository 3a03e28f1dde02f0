import { formatDuration, formatFigure, formatMs, plainLine } from '#base/format.ts';
import { causeCodes, type ModelExplanation, type ServiceExplanation } from './explanation.ts';

/** Words for how requests arrive. */
const arrivals: Readonly<Record<ModelExplanation['traffic']['arrivals'], string>> = {
  poisson: 'as of independent clients',
  bursts: 'in bursts',
  steady: 'more evenly than of independent clients',
  unknown: 'it does not show how they arrive',
};

/** A line about a model: what it is about, and the text; '' continues the line above. */
export interface NamedLine {
  readonly name: 'time' | 'work' | 'why' | 'ceiling' | 'change' | 'predicted' | 'unknown' | 'settle it' | '';
  readonly text: string;
}

/** `p99 within 50 ms`; null without a limit. */
export const describeBudget = ({ percentile, latencyMs }: ServiceExplanation['budget']): string | null =>
  latencyMs === null ? null : `p${percentile} within ${formatMs(latencyMs)}`;

/** `0.116 of 1 instance busy`. */
export const describeBusy = ({ busy, count }: ModelExplanation['instances']): string =>
  `${formatFigure(busy)} of ${count} ${count === 1 ? 'instance' : 'instances'} busy`;

/** Returns what a model does, in one line. */
export function trafficText({ model, seconds, traffic }: ModelExplanation): string {
  const rate = traffic.requestsPerSecond;
  const failed = traffic.failedPerSecond > 0 ? `, ${formatFigure(traffic.failedPerSecond)}/s failed` : '';
  return `${plainLine(model, 80)}: ${formatFigure(rate.value)} requests/s in ${formatDuration(seconds)}, ${arrivals[traffic.arrivals]}${failed}`;
}

/** Returns where the time of a model's requests goes, why, and what would be better. */
export function modelLines(model: ModelExplanation, budget: ServiceExplanation['budget']): readonly NamedLine[] {
  const { timesMs, batches, instances, causes, present, proposal, unknown, settle } = model;
  const limit = describeBudget(budget);
  const lines: NamedLine[] = [
    {
      name: 'time',
      text: `${formatMs(timesMs.request)} in the server: queue ${formatFigure(timesMs.queue)}, execution ${formatFigure(timesMs.execution)}, rest ${formatFigure(roundTiny(timesMs.other))}`,
    },
    {
      name: 'work',
      text: `batches of ${formatFigure(batches.mean)}, ${batches.largest} at most; ${describeBusy(instances)}`,
    },
    ...causes.flatMap(({ code, sure, evidence }): NamedLine[] => [
      { name: 'why', text: `${causeCodes[code]} (${code}, ${sure})` },
      { name: '', text: plainLine(evidence) },
    ]),
  ];
  if (present) {
    const { value, low, high } = present.ceiling;
    lines.push({
      name: 'ceiling',
      text: `${formatFigure(value)} requests/s${limit === null ? '' : ` with ${limit}`} (${formatFigure(low)} to ${formatFigure(high)}): ${formatFigure(present.headroom)} times today's`,
    });
  }
  if (proposal) {
    const changes = proposal.changes.map(
      ({ path, before, after }) => `${path} ${before ?? 'none'} → ${after ?? 'none'}`,
    );
    lines.push({ name: 'change', text: plainLine(changes.join(', ')) });
    lines.push({ name: 'predicted', text: predictedWords(present, proposal, `p${budget.percentile}`) });
  }
  for (const each of unknown) lines.push({ name: 'unknown', text: plainLine(each) });
  if (settle !== null) lines.push({ name: 'settle it', text: plainLine(settle) });
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
