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
    throw usage('an agent sends to servers that it is allowed to', 'name them with --allow-target HOST:PORT');
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
    throw usage('--plaintext is without TLS', 'leave out --plaintext, or the options about TLS');
  if (!isSecure) {
    if (plaintext || isLoopback(listen)) return undefined;
    throw usage(
      'over a network the token, and what is sent, would go in plaintext',
      'give --tls-cert and --tls-key, or --plaintext where nobody can listen in',
    );
  }
  const { cert, key, ca } = await readTls({ tlsCert, tlsKey, tlsCa });
  if (cert === undefined || key === undefined) {
    throw usage('an agent with TLS needs a certificate', 'give --tls-cert and --tls-key');
  }
  return { cert, key, ca };
}

const usage = (message: string, hint: string): TrituneError => new TrituneError('USAGE', message, hint);
