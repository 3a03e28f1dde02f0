import { TrituneError } from '../../base/errors.ts';
import { NS_PER_S } from '../../base/units.ts';
import { addressOf } from '../transports/address.ts';
import type { Answers, WorkerTransport } from '../workers/messages.ts';

/** What an agent allows its controller to do. */
export interface AgentLimits {
  /** Servers that it may send to; null for any. */
  readonly targets: readonly AllowedTarget[] | null;
  readonly threads: number;
  readonly requestsPerSecond: number;
  /** Memory of the requests, counted once per thread. */
  readonly memoryBytes: number;
}

/** A host, with any port or one. */
export interface AllowedTarget {
  readonly host: string;
  readonly port: number | null;
}

/** The maximum number of requests in flight on any agent: each takes memory. */
const MOST_IN_FLIGHT = 100_000;
/** Shortest time over which a rate is computed, … */
const RATE_WINDOW_NS = NS_PER_S;
/** … and slack for random arrivals, which are a little uneven. */
const RATE_SLACK = 1.2;

/** Reads HOST or HOST:PORT; `*` allows any server, and returns null. Errors: USAGE. */
export function allowedTargets(texts: readonly string[]): readonly AllowedTarget[] | null {
  if (texts.includes('*')) return null;
  return texts.map((text) => {
    const hasPort = /:\d+$/.test(text) && !/^[^[]*:[^[]*:/.test(text);
    const { host, port } = addressOf(
      hasPort ? text : `${text.includes(':') && !text.startsWith('[') ? `[${text}]` : text}:0`,
    );
    return { host: host.toLowerCase(), port: hasPort ? port : null };
  });
}

/** HOST:PORT that the threads connect to. The protocol decides: a controller may send both fields. */
export const targetOf = (transport: WorkerTransport): string =>
  transport.protocol === 'language' || transport.protocol === 'plain-http'
    ? transport.options.address
    : transport.options.url;

/** Errors: USAGE for a server that is not among the targets. */
export function checkTarget(transport: WorkerTransport, { targets }: AgentLimits): void {
  const target = targetOf(transport);
  const { host, port } = addressOf(target);
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
    `the requests need ${megabytes(bytes)} with a copy for each thread, more than its limit of ${megabytes(memoryBytes)}`,
    'send fewer or smaller requests, or raise --max-memory of the agent',
  );
}

/** Returns the requests per second of a thread's part, or 0 if unknown in advance. Errors: USAGE for too many in flight. */
export function plannedRate({ order, part }: Pick<Answers['begin'], 'order' | 'part'>): number {
  const { mode, value } = order.level;
  if (mode === 'request-rate') return value / part.of;
  if (value / part.of > MOST_IN_FLIGHT) {
    throw refused(
      `a thread can have at most ${MOST_IN_FLIGHT} requests in flight`,
      'lower the concurrency, or use more agents',
    );
  }
  return 0;
}

/** Errors: USAGE for too many requests per second. */
export function checkRate(perSecond: number, { requestsPerSecond: most }: AgentLimits): void {
  if (perSecond <= most) return;
  throw refused(
    `it sends at most ${most} requests per second, and ${Math.round(perSecond)} were requested`,
    'lower the load, use more agents, or raise --max-rate of the agent',
  );
}

/** Counts sent requests, and checks once a second whether there were too many. */
export class RateMeter {
  readonly #limits: AgentLimits;
  #startNs: number;
  #sent = 0;

  constructor(limits: AgentLimits, nowNs: number) {
    this.#limits = limits;
    this.#startNs = nowNs;
  }

  /** Errors: USAGE for a rate over the limit. */
  add(sent: number, nowNs: number): void {
    this.#sent += sent;
    const tookNs = nowNs - this.#startNs;
    if (tookNs < RATE_WINDOW_NS) return;
    const perSecond = (this.#sent / tookNs) * NS_PER_S;
    this.#startNs = nowNs;
    this.#sent = 0;
    if (perSecond > RATE_SLACK * this.#limits.requestsPerSecond) checkRate(perSecond, this.#limits);
  }
}

const megabytes = (bytes: number): string => `${Math.ceil(bytes / 2 ** 20)} MiB`;

const refused = (message: string, hint: string): TrituneError => new TrituneError('USAGE', message, hint);
