import type { AgentClock } from '../client/cost.ts';
import { AgentConnection } from './agent-connection.ts';
import type { AgentAccess } from './dial.ts';

/** An agent's description of itself, and its clock. */
export interface AgentLook extends Pick<AgentClock, 'offsetNs' | 'uncertaintyNs'> {
  readonly version: string;
  readonly cores: number;
}

/** Connects briefly to the agent at HOST:PORT, as a controller would. Errors: AGENT_FAILED. */
export async function lookAtAgent(address: string, access: AgentAccess): Promise<AgentLook> {
  const connection = new AgentConnection(address, access, null, 0, () => undefined);
  try {
    await connection.opened;
    return { ...connection.hello, ...connection.timeOfDay(connection.ahead) };
  } finally {
    await connection.close();
  }
}
