import { expect, it } from 'vitest';
import { agentLines, agentsLine } from '#headless/agent-lines.ts';
import type { AgentFigures } from '#profiler/client-figures.ts';

const agent: AgentFigures = {
  address: '10.0.0.5:7411',
  version: '0.1.0',
  cores: 4,
  threads: 2,
  cpuShare: 0.2,
  eventLoopDelayMs: 1,
  clock: { offsetMs: -3.25, uncertaintyMs: 0.27, driftMs: 0.05, driftUncertaintyMs: 0.6 },
  bound: false,
};
const late: AgentFigures = {
  ...agent,
  address: '10.0.0.6:7411',
  threads: 1,
  clock: { ...agent.clock, offsetMs: 12, uncertaintyMs: 0.4, driftMs: -0.08 },
  sends: 1200,
  lateSends: 700,
  droppedSends: 3,
  bound: true,
  reason: 'half of its sends were 4 ms late\u001b[2J',
};

it('tells of each agent its clock, its sends and its verdict', () => {
  expect(agentLines([agent, late])).toEqual([
    'agent 10.0.0.5:7411: 2 threads, clock -3.25 ms ± 0.27 ms, drift +0.05 ms ± 0.6 ms; not the limit',
    'agent 10.0.0.6:7411: 1 thread, clock +12 ms ± 0.4 ms, drift -0.08 ms ± 0.6 ms, 1,200 sends, 700 late, 3 not sent; THIS AGENT WAS THE LIMIT: half of its sends were 4 ms late [2J',
  ]);
});

it('tells of all of them in one line where there are many measurements', () => {
  expect(agentsLine([agent, late])).toEqual([
    'from 2 agents of 3 threads in all; clocks known to ± 0.4 ms or better, drift up to 0.08 ms; the limit: 10.0.0.6:7411',
  ]);
  expect(agentsLine([agent])).toEqual([
    'from 1 agent of 2 threads; clocks known to ± 0.27 ms or better, drift up to 0.05 ms; none was the limit',
  ]);
  expect([agentsLine(), agentLines()]).toEqual([[], []]);
});
