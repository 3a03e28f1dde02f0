import { formatFigure, formatMs, plainLine } from '../base/format.ts';
import type { AgentFigures } from '../profiler/measurement.ts';

/** A line for each agent that sent: its threads, how well its clock is known, its sends, and whether it was the limit. */
export const agentLines = (agents: readonly AgentFigures[] = []): readonly string[] =>
  agents.map((agent) => {
    const { address, threads, clock, sends, lateSends = 0, droppedSends = 0, bound, reason = '' } = agent;
    const offset = `clock ${signed(clock.offsetMs)} ± ${formatMs(clock.uncertaintyMs)}`;
    const drift = `drift ${signed(clock.driftMs)} ± ${formatMs(clock.driftUncertaintyMs)}`;
    const sent =
      sends === undefined ? '' : `, ${formatFigure(sends)} sends, ${lateSends} late, ${droppedSends} not sent`;
    const limit = bound ? `THIS AGENT WAS THE LIMIT: ${plainLine(reason)}` : 'not the limit';
    return `agent ${plainLine(address)}: ${threads} ${threads === 1 ? 'thread' : 'threads'}, ${offset}, ${drift}${sent}; ${limit}`;
  });

/** All agents in one line, for a list of measurements; none where no agent sent. */
export function agentsLine(agents: readonly AgentFigures[] = []): readonly string[] {
  if (agents.length === 0) return [];
  const leastSure = Math.max(...agents.map(({ clock }) => clock.uncertaintyMs));
  const drift = Math.max(...agents.map(({ clock }) => Math.abs(clock.driftMs)));
  const limits = agents.filter(({ bound }) => bound).length;
  const verdict = limits === 0 ? 'none was the limit' : `${limits} of ${agents.length} were the limit`;
  const clocks = `clocks known to ± ${formatMs(leastSure)} or better, drift up to ${formatMs(drift)}`;
  return [`from ${agents.length} ${agents.length === 1 ? 'agent' : 'agents'}: ${clocks}; ${verdict}`];
}

const signed = (ms: number): string => `${ms < 0 ? '' : '+'}${formatMs(ms)}`;
