import { availableParallelism } from 'node:os';
import { TrituneError } from '#base/errors.ts';
import { allowedTargets } from '#loadgen/agents/limits.ts';
import { type RunningAgent, startAgent } from '#loadgen/agents/serve-agent.ts';
import { parseAddress } from '#loadgen/transports/address.ts';
import { type ListenSpec, listeningTls } from './server/listening-tls.ts';
import { agentToken } from './server/own-token.ts';

/** The options of an agent. */
export interface AgentSpec extends ListenSpec {
  readonly tokenFile?: string;
  readonly tokenEnv?: string;
  /** HOST or HOST:PORT of servers that the agent may send to; `*` for any. */
  readonly allowTarget?: readonly string[];
  /** Defaults to the number of cores. */
  readonly maxThreads?: number;
  readonly maxRate: number;
  readonly maxConnections: number;
  /** In MiB. */
  readonly maxMemory: number;
}

/** Starts an agent. Errors: USAGE, INPUT_INVALID. */
export async function runAgent(spec: AgentSpec, tell: (line: string) => void): Promise<RunningAgent> {
  const { allowTarget = [] } = spec;
  if (allowTarget.length === 0) {
    throw usage('the agent has no server that it may send to', 'add --allow-target HOST:PORT');
  }
  return startAgent({
    ...parseAddress(spec.listen),
    token: agentToken(spec),
    tls: await listeningTls(spec, 'an agent'),
    limits: {
      targets: allowedTargets(allowTarget),
      threads: spec.maxThreads ?? availableParallelism(),
      requestsPerSecond: spec.maxRate,
      connections: spec.maxConnections,
      memoryBytes: spec.maxMemory * 2 ** 20,
    },
    tell,
  });
}

const usage = (message: string, hint: string): TrituneError => new TrituneError('USAGE', message, hint);
