import { TrituneError } from '#base/errors.ts';
import { msToNs } from '#base/units.ts';
import type { AgentAccess } from '#loadgen/agents/dial.ts';
import { formatTarget } from '#loadgen/agents/limits.ts';
import { openAgents } from '#loadgen/agents/open-agents.ts';
import { isLoopback } from '#loadgen/loopback.ts';
import type { OpenOptions } from '#loadgen/transports/open.ts';
import type { WorkerTransport } from '#loadgen/workers/messages.ts';
import type { OnObserved } from '#loadgen/workers/observed-requests.ts';
import { openWorkers } from '#loadgen/workers/open-workers.ts';
import type { Workers } from '#loadgen/workers/workers.ts';
import type { AgentsSpec, ClientSpec, TransportSpec } from '#spec/traffic-spec.ts';
import { splitAddresses } from '#triton/wire/address-list.ts';
import type { RequestSpec } from '#workload/request-spec.ts';
import { agentToken } from '../server/own-token.ts';
import { readTls } from '../server/read-tls.ts';

/** Windows are at least ten times as long, so clock differences between agents hardly matter. */
const USUAL_CLOCK_LIMIT_MS = 25;

/**
 * Returns the threads that send, on agents if any are named. An observer gets each inference
 * request, if the threads are on this machine. This thread never sends during a
 * measurement: its other work would make replies look late. Errors: AGENT_FAILED; USAGE,
 * INPUT_INVALID for the token and certificates of agents.
 */
export async function startClientThreads(
  client: ClientSpec,
  transport: WorkerTransport,
  onObserved?: OnObserved,
): Promise<Workers> {
  const { clientThreads: threadsEach = 1 } = client;
  if (onObserved && transport.protocol !== 'plain-http')
    return openWorkers(threadsEach, { ...transport, observes: true }, {}, onObserved);
  const [first, ...others] = client.agents ?? [];
  if (first === undefined) return openWorkers(threadsEach, transport);
  const access = await agentAccess(client);
  checkServerSeen(client.agents ?? [], transport);
  return openAgents({ ...access, addresses: [first, ...others], threadsEach }, transport);
}

/** Does the same for inference requests over a transport with these options. */
export function startInferThreads(
  client: ClientSpec & Pick<RequestSpec, 'outputTolerance'>,
  protocol: 'grpc' | 'http',
  { check, ...options }: OpenOptions,
  onObserved?: OnObserved,
): Promise<Workers> {
  const { outputTolerance = 0 } = client;
  return startClientThreads(client, { protocol, options, ...(check && { tolerance: outputTolerance }) }, onObserved);
}

/** Errors: USAGE for clients whose requests cannot be observed one by one. */
export function checkObservable({ clientThreads = 1, agents }: ClientSpec): void {
  if (clientThreads === 1 && !agents) return;
  throw new TrituneError(
    'USAGE',
    '--profile-export-file works with one thread on this machine only',
    'leave out --client-threads and --agents',
  );
}

/** Errors: USAGE for options that agents do not support. */
export function checkAgents({ agents, sharedMemory = 'none' }: ClientSpec & TransportSpec): void {
  if (agents === undefined || sharedMemory === 'none') return;
  throw new TrituneError(
    'USAGE',
    '--shared-memory cannot be used with --agents, which run on other machines',
    'leave out one of them',
  );
}

/** Errors: USAGE for a server address that each agent would resolve to its own machine. */
function checkServerSeen(agents: readonly string[], transport: WorkerTransport): void {
  const target = formatTarget(transport);
  if (splitAddresses(target).length > 1)
    throw new TrituneError(
      'USAGE',
      'agents send to one server only',
      'give one address with -u, or leave out --agents',
    );
  if (!isLoopback(target) || agents.every(isLoopback)) return;
  throw new TrituneError(
    'USAGE',
    `${target} means another machine on each agent`,
    "give the server's address as seen from the agents",
  );
}

/** Returns how to reach the spec's agents. Errors: USAGE, INPUT_INVALID. */
export async function agentAccess(spec: AgentsSpec): Promise<AgentAccess> {
  const { agentTokenFile: tokenFile, agentTokenEnv: tokenEnv, agentTls } = spec;
  const { agentTlsCa: tlsCa, agentTlsCert: tlsCert, agentTlsKey: tlsKey } = spec;
  const isSecure = agentTls || [tlsCa, tlsCert, tlsKey].some((file) => file !== undefined);
  const far = (spec.agents ?? []).find((agent) => !isLoopback(agent));
  if (!isSecure && far !== undefined && !spec.agentPlaintext) {
    throw new TrituneError(
      'USAGE',
      `the token would be sent to agent ${far} in plaintext`,
      'add --agent-tls-ca FILE or --agent-tls, or --agent-plaintext on a trusted network',
    );
  }
  return {
    token: agentToken({ tokenFile, tokenEnv }),
    tls: isSecure ? await readTls({ tlsCa, tlsCert, tlsKey }) : undefined,
    clockLimitNs: msToNs(spec.agentClockLimitMs ?? USUAL_CLOCK_LIMIT_MS),
  };
}
