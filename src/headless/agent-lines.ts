import { formatFigure, formatMs, plainLine } from '#base/format.ts';
import type { AgentFigures } from '#profiler/client-figures.ts';
import { describeAgents, listOverviews } from '#study/summary/agent-words.ts';

/**
 * Returns a line for each agent that sent: its threads, its clock's accuracy, its sends, and
 * whether it was the limit.
 */
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

/** Returns all agents in one line, for a list of measurements; empty if no agent sent. */
export const agentsLine = (agents: readonly AgentFigures[] = []): readonly string[] =>
  agents.length === 0 ? [] : [`from ${describeAgents(listOverviews(agents))}`];

const signed = (ms: number): string => `${ms < 0 ? '' : '+'}${formatMs(ms)}`;
