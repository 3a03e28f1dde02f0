import { onTestFinished } from 'vitest';
import type { AgentAccess } from '#loadgen/agents/dial.ts';
import type { AgentLimits } from '#loadgen/agents/limits.ts';
import { openAgents } from '#loadgen/agents/open-agents.ts';
import { type AgentOptions, type RunningAgent, startAgent } from '#loadgen/agents/serve-agent.ts';
import type { WorkerTransport } from '#loadgen/workers/messages.ts';
import type { Workers } from '#loadgen/workers/workers.ts';

export const TOKEN = 'a-token-of-the-tests-only';

export const noLimits: AgentLimits = {
  targets: null,
  threads: 8,
  requestsPerSecond: 1e6,
  connections: 20_000,
  memoryBytes: 2 ** 28,
};

/** Far from what a busy machine does to the clocks of one machine. */
export const access: AgentAccess = { token: TOKEN, clockLimitNs: 1e9 };

/** An agent of this process, until the test ends; `lines` is what it tells. */
export async function agentForTest(
  change: Partial<AgentOptions> = {},
): Promise<RunningAgent & { readonly lines: readonly string[] }> {
  const lines: string[] = [];
  const tell = (line: string): void => {
    lines.push(line);
  };
  const agent = await startAgent({ host: '127.0.0.1', port: 0, token: TOKEN, limits: noLimits, tell, ...change });
  onTestFinished(() => agent.close().catch(() => undefined));
  return { ...agent, lines };
}

/** Threads on these agents, until the test ends. */
export async function agentsForTest(
  agents: readonly Pick<RunningAgent, 'address'>[],
  transport: WorkerTransport,
  change: Partial<AgentAccess> & { readonly threadsEach?: number } = {},
): Promise<Workers> {
  const addresses = agents.map(({ address }) => address) as [string, ...string[]];
  const workers = await openAgents({ ...access, threadsEach: 1, ...change, addresses }, transport);
  onTestFinished(() => workers.close());
  return workers;
}
