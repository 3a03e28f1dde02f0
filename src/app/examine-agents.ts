import { formatMs } from '#base/format.ts';
import { nsToMs } from '#base/units.ts';
import { lookAtAgent } from '#loadgen/agents/look-at-agent.ts';
import type { AgentsSpec } from '#spec/traffic-spec.ts';
import { type Finding, failed, ok } from './finding.ts';
import { agentAccess } from './traffic/client-threads.ts';

/**
 * Reports for each agent whether it answers, its version, its cores, and how well its clock is
 * known. Makes it send nothing. Never throws.
 */
export async function* examineAgents(spec: AgentsSpec): AsyncGenerator<Finding> {
  const { agents = [] } = spec;
  if (agents.length === 0) return;
  try {
    const access = await agentAccess(spec);
    for (const address of agents) {
      try {
        const { version, cores, offsetNs, uncertaintyNs } = await lookAtAgent(address, access);
        const clock = `clock ahead by ${formatMs(nsToMs(offsetNs))} ± ${formatMs(nsToMs(uncertaintyNs))}`;
        yield ok('agent', `${address}: tritune ${version}, ${cores} cores, ${clock}`);
      } catch (error) {
        yield failed('agent', error);
      }
    }
  } catch (error) {
    yield failed('agents', error);
  }
}
