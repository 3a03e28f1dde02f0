import { TrituneError } from '#base/errors.ts';
import { parseAddress } from '../transports/address.ts';
import type { Answers, WorkerTransport } from '../workers/messages.ts';
import { rateExceeded } from '../workers/send-limits.ts';

/** What an agent allows its controller to do. */
export interface AgentLimits {
  /** Servers that it may send to; null for any. */
  readonly targets: readonly AllowedTarget[] | null;
  readonly threads: number;
  readonly requestsPerSecond: number;
  /** Open connections of all threads. */
  readonly connections: number;
  /** Memory of the requests, counted once per thread, and of messages that arrive. */
  readonly memoryBytes: number;
}

/** A host, with any port or one. */
export interface AllowedTarget {
  readonly host: string;
  readonly port: number | null;
}

/** The maximum number of requests in flight on any agent: each takes memory. */
const MAX_IN_FLIGHT = 100_000;

/** Reads HOST or HOST:PORT; `*` allows any server, and returns null. Errors: USAGE. */
export function allowedTargets(texts: readonly string[]): readonly AllowedTarget[] | null {
  if (texts.includes('*')) return null;
  return texts.map((text) => {
    const hasPort = /:\d+$/.test(text) && !/^[^[]*:[^[]*:/.test(text);
    const { host, port } = parseAddress(
      hasPort ? text : `${text.includes(':') && !text.startsWith('[') ? `[${text}]` : text}:0`,
    );
    return { host: host.toLowerCase(), port: hasPort ? port : null };
  });
}

/**
 * HOST:PORT that the threads connect to. The protocol decides: a controller may send both fields.
 */
export const formatTarget = (transport: WorkerTransport): string =>
  transport.protocol === 'language' || transport.protocol === 'plain-http'
    ? transport.options.address
    : transport.options.url;

/** Errors: USAGE for a server that is not among the targets. */
export function checkTarget(transport: WorkerTransport, { targets }: AgentLimits): void {
  const target = formatTarget(transport);
  const { host, port } = parseAddress(target);
  const isAllowed =
    targets === null || targets.some((each) => each.host === host.toLowerCase() && (each.port ?? port) === port);
  if (!isAllowed) {
    throw refused(`it may not send to ${target}`, `start the agent with --allow-target ${target}`);
  }
}

/** Errors: USAGE for too many threads. */
export function checkThreads(threads: number, { threads: most }: AgentLimits): void {
  if (threads > most) {
    throw refused(
      `it has at most ${most} threads, and ${threads} were requested`,
      'lower --client-threads, or raise --max-threads of the agent',
    );
  }
}

/** Errors: USAGE if the requests take too much memory in total. */
export function checkMemory(bytes: number, { memoryBytes }: AgentLimits): void {
  if (bytes <= memoryBytes) return;
  throw refused(
    `the requests and messages need ${megabytes(bytes)} with two copies for each thread, more than its limit of ${megabytes(memoryBytes)}`,
    'send fewer or smaller requests, or raise --max-memory of the agent',
  );
}

/**
 * Returns the requests per second of a thread's part, or 0 if unknown in advance. Errors: USAGE for
 * too many in flight.
 */
export function plannedRate({ order, part }: Pick<Answers['begin'], 'order' | 'part'>): number {
  const { mode, value } = order.level;
  const inFlight = mode === 'concurrency' ? value : (order.openLoop?.maxInFlight ?? 0);
  if (inFlight / part.of > MAX_IN_FLIGHT) {
    throw refused(
      `a thread can have at most ${MAX_IN_FLIGHT} requests in flight`,
      'lower the concurrency, or use more agents',
    );
  }
  return mode === 'request-rate' ? value / part.of : 0;
}

/** Errors: USAGE for too many requests per second. */
export function checkRate(perSecond: number, { requestsPerSecond: most }: AgentLimits): void {
  if (perSecond > most) throw rateExceeded(most, `${Math.round(perSecond)} were requested`);
}

const megabytes = (bytes: number): string => `${Math.ceil(bytes / 2 ** 20)} MiB`;

const refused = (message: string, hint: string): TrituneError => new TrituneError('USAGE', message, hint);
