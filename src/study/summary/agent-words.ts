import { formatFigure, formatMs, plainLine } from '#base/format.ts';
import type { AgentFigures } from '#profiler/client-figures.ts';
import type { Measurement } from '#profiler/measurement.ts';

/** The figures of one agent over several measurements. */
export interface AgentOverview {
  readonly address: string;
  /** Measurements that it sent a part of, and those that it limited. */
  readonly measurements: number;
  readonly bound: number;
  /** Why it was last the limit; '' if it never was. */
  readonly reason: string;
  readonly threads: number;
  readonly cores: number;
  readonly version: string;
  /** The lead of its time of day in the last measurement, in milliseconds. */
  readonly offsetMs: number;
  /** The largest uncertainty of its clock, and its largest drift, in any of them. */
  readonly uncertaintyMs: number;
  readonly driftMs: number;
  /** Share of late sends; null in a closed loop. */
  readonly lateShare: number | null;
}

/**
 * Returns the overview of each agent over these measurements, in the order of the given addresses;
 * empty if no agent sent.
 */
export const agentsOver = (measurements: readonly Measurement[]): readonly AgentOverview[] =>
  listOverviews(measurements.flatMap(({ client }) => client.agents ?? []));

/** The same from the figures of agents, each once per measurement. */
export const listOverviews = (figures: readonly AgentFigures[]): readonly AgentOverview[] =>
  [...Map.groupBy(figures, ({ address }) => address)].map(([address, ofAgent]) => toOverview(address, ofAgent));

function toOverview(address: string, allFigures: readonly AgentFigures[]): AgentOverview {
  const last = allFigures.at(-1) as AgentFigures;
  const limits = allFigures.filter(({ bound }) => bound);
  const sends = allFigures.reduce((sum, each) => sum + (each.sends ?? 0), 0);
  const late = allFigures.reduce((sum, each) => sum + (each.lateSends ?? 0), 0);
  return {
    address,
    measurements: allFigures.length,
    bound: limits.length,
    reason: limits.at(-1)?.reason ?? '',
    threads: last.threads,
    cores: last.cores,
    version: last.version,
    offsetMs: last.clock.offsetMs,
    uncertaintyMs: Math.max(...allFigures.map(({ clock }) => clock.uncertaintyMs)),
    driftMs: Math.max(...allFigures.map(({ clock }) => Math.abs(clock.driftMs))),
    lateShare: sends > 0 ? late / sends : null,
  };
}

/**
 * `5 agents of 2 threads each; clocks known to ± 0.3 ms or better, drift up to 0.05 ms; none was
 * the limit`; '' without agents.
 */
export function describeAgents(agents: readonly AgentOverview[]): string {
  const [first] = agents;
  if (!first) return '';
  const threads = agents.every((each) => each.threads === first.threads)
    ? `${first.threads} ${first.threads === 1 ? 'thread' : 'threads'}${agents.length === 1 ? '' : ' each'}`
    : `${agents.reduce((sum, each) => sum + each.threads, 0)} threads in all`;
  const leastSure = Math.max(...agents.map(({ uncertaintyMs }) => uncertaintyMs));
  const drift = Math.max(...agents.map(({ driftMs }) => driftMs));
  const limits = agents.filter(({ bound }) => bound > 0);
  const verdict = limits.length === 0 ? 'none was the limit' : `the limit: ${limits.map(limitText).join('; ')}`;
  const clocks = `clocks known to ± ${formatMs(leastSure)} or better, drift up to ${formatMs(drift)}`;
  return `${agents.length} ${agents.length === 1 ? 'agent' : 'agents'} of ${threads}; ${clocks}; ${verdict}`;
}

const limitText = ({ address, bound, measurements }: AgentOverview): string =>
  `${plainLine(address)}${measurements === 1 ? '' : ` in ${bound} of ${measurements}`}`;

/**
 * `10.0.0.5:7411: 2 threads of 8 cores, tritune 0.2.0; clock +0.06 ms, known to ± 0.27 ms, drift up
 * to 0.05 ms; 0.1 % of sends late; never the limit`.
 */
export function describeAgent(agent: AgentOverview): string {
  const { address, threads, cores, version, offsetMs, uncertaintyMs, driftMs, lateShare, bound, measurements } = agent;
  const clock = `clock ${offsetMs < 0 ? '' : '+'}${formatMs(offsetMs)}, known to ± ${formatMs(uncertaintyMs)}, drift up to ${formatMs(driftMs)}`;
  const late = lateShare === null ? [] : [`${formatFigure(100 * lateShare)} % of sends late`];
  const verdict =
    bound === 0
      ? 'never the limit'
      : `the limit in ${bound} of ${measurements} measurements: ${plainLine(agent.reason)}`;
  const machine = `${threads} ${threads === 1 ? 'thread' : 'threads'} of ${cores} cores, tritune ${plainLine(version)}`;
  return `${plainLine(address)}: ${[machine, clock, ...late, verdict].join('; ')}`;
}
