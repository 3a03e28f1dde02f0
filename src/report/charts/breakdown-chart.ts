import { type BarPart, stackedBars } from './stacked-bars.ts';
import type { Chart } from './svg.ts';

/** The parts of a request's mean time, in milliseconds, which add up to the whole. */
export interface BreakdownBar {
  readonly name: string;
  readonly queueMs: number;
  readonly inputMs: number;
  readonly inferMs: number;
  readonly outputMs: number;
  /** The rest of the time. */
  readonly outsideMs: number;
  /** The client's own parts; null if they are unknown and part of the rest. */
  readonly client: { readonly sendMs: number; readonly receiveMs: number } | null;
}

type Part = BarPart<BreakdownBar>;

const serverParts: readonly Part[] = [
  { name: 'queue', color: '#e08a1e', ms: ({ queueMs }) => queueMs },
  { name: 'compute input', color: '#8fc1f0', ms: ({ inputMs }) => inputMs },
  { name: 'compute infer', color: '#2f7ed8', ms: ({ inferMs }) => inferMs },
  { name: 'compute output', color: '#1b4f91', ms: ({ outputMs }) => outputMs },
];
const clientParts: readonly Part[] = [
  { name: 'client send', color: '#2ca05a', ms: ({ client }) => client?.sendMs ?? 0 },
  { name: 'client receive', color: '#8ccf9f', ms: ({ client }) => client?.receiveMs ?? 0 },
];
const readRest = (name: string): Part => ({ name, color: '#999fa8', ms: ({ outsideMs }) => outsideMs });

/** Shows the client's parts only if some bars have them. */
function listParts(bars: readonly BreakdownBar[]): readonly Part[] {
  const known = bars.filter(({ client }) => client !== null).length;
  if (known === 0) return [...serverParts, readRest('outside the server')];
  const rest = known === bars.length ? 'network, front end' : 'rest outside the server';
  return [...serverParts, readRest(rest), ...clientParts];
}

/** Draws a stacked bar for each, the first on top. */
export function breakdownChart(bars: readonly BreakdownBar[]): Chart {
  return (paper) => stackedBars(bars, listParts(bars), { name: 'mean latency, ms', itemGap: 24 }, paper);
}
