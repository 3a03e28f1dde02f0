import { availableParallelism } from 'node:os';
import { TrituneError } from '../../base/errors.ts';
import { allowedTargets } from '../../loadgen/agents/limits.ts';
import { type AgentOptions, type RunningAgent, startAgent } from '../../loadgen/agents/serve-agent.ts';
import { addressOf } from '../../loadgen/transports/address.ts';
import { readTls } from '../server/read-tls.ts';
import { isLoopback } from '../server/tls.ts';
import { agentToken } from './token.ts';

/** How an agent is started. */
export interface AgentSpec {
  /** HOST:PORT; port 0 takes a free one. */
  readonly listen: string;
  readonly tokenFile?: string;
  readonly tokenEnv?: string;
  readonly tlsCert?: string;
  readonly tlsKey?: string;
  /** With it only controllers with a certificate of this CA. */
  readonly tlsCa?: string;
  readonly plaintext: boolean;
  /** HOST or HOST:PORT of servers that it may send to; `*` for any. */
  readonly allowTarget?: readonly string[];
  /** As many as there are cores if not given. */
  readonly maxThreads?: number;
  readonly maxRate: number;
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
    ...addressOf(spec.listen),
    token: agentToken(spec),
    tls: await tlsOf(spec),
    limits: {
      targets: allowedTargets(allowTarget),
      threads: spec.maxThreads ?? availableParallelism(),
      requestsPerSecond: spec.maxRate,
      memoryBytes: spec.maxMemory * 2 ** 20,
    },
    tell,
  });
}

async function tlsOf(spec: AgentSpec): Promise<AgentOptions['tls']> {
  const { tlsCert, tlsKey, tlsCa, plaintext, listen } = spec;
  const isSecure = tlsCert !== undefined || tlsKey !== undefined || tlsCa !== undefined;
  if (plaintext && isSecure)
    throw usage('--plaintext cannot be used with TLS options', 'leave out --plaintext, or the TLS options');
  if (!isSecure) {
    if (plaintext || isLoopback(listen)) return undefined;
    throw usage(
      'the token and the requests would cross the network in plaintext',
      'add --tls-cert and --tls-key, or --plaintext on a trusted network',
    );
  }
  const { cert, key, ca } = await readTls({ tlsCert, tlsKey, tlsCa });
  if (cert === undefined || key === undefined) {
    throw usage('TLS needs a certificate and its key', 'add both --tls-cert and --tls-key');
  }
  return { cert, key, ca };
}

const usage = (message: string, hint: string): TrituneError => new TrituneError('USAGE', message, hint);
