import type { WebSocket } from 'ws';
import { withDeadline } from '#base/abort.ts';
import { realClock } from '#base/clock.ts';
import { asTrituneError, type ErrorCode, TrituneError } from '#base/errors.ts';
import { MS_PER_S } from '#base/units.ts';
import { encodeMessage } from './codec.ts';
import { type AgentAccess, dial } from './dial.ts';
import { MAX_MESSAGE_BYTES, readToController, SILENCE_LIMIT_MS, type ToAgent, type ToController } from './protocol.ts';
import { SilenceWatch } from './silence-watch.ts';

/** A reachable agent answers within this time. */
export const ANSWER_LIMIT_MS = 10_000;

/** Codes that an agent's threads may end with; any other is a fault of the agent. */
const codesOfThreads: readonly ErrorCode[] = [
  ...(['USAGE', 'UNSUPPORTED', 'INPUT_INVALID', 'CLIENT_FAILED', 'LAUNCH_FAILED'] as const),
];

/** A message that an agent sends unasked. */
export type AgentReport = Exclude<ToController, { readonly type: 'answer' | 'failed' }>;

interface Waiting {
  readonly resolve: (value: unknown) => void;
  readonly reject: (fault: TrituneError) => void;
}

/**
 * Messages to and from one agent, with a deadline on every wait. After a fault it does nothing
 * more, and says why.
 */
export class AgentLink {
  readonly address: string;
  readonly #onReport: (report: AgentReport, nowNs: number) => void;
  readonly #onFault: () => void;
  readonly #waiting = new Map<number, Waiting>();
  #silence: SilenceWatch | null = null;
  #socket: WebSocket | null = null;
  #asked = 0;
  #fault: TrituneError | null = null;
  #isClosed = false;

  /** `onReport` gets the time when the report arrived; `onFault` is called once. */
  constructor(address: string, onReport: (report: AgentReport, nowNs: number) => void, onFault: () => void) {
    this.address = address;
    this.#onReport = onReport;
    this.#onFault = onFault;
  }

  /** Why it cannot continue; null while it can. */
  get fault(): TrituneError | null {
    return this.#fault;
  }

  /** Connects; `patienceMs`: time to wait for an agent that is not there. Errors: AGENT_FAILED. */
  open(access: AgentAccess, patienceMs: number): Promise<void> {
    const rule = { patienceMs, isRequested: () => !this.#isClosed };
    return dial(this.address, access, rule, (socket) => this.#use(socket));
  }

  say(message: ToAgent): void {
    if (this.#fault !== null) return;
    const bytes = encodeMessage(message);
    if (bytes.length <= MAX_MESSAGE_BYTES) this.#socket?.send(bytes, () => undefined);
    else this.fail(tooLong(bytes.length));
  }

  /**
   * Asks the question that `question` makes for its number, and returns the answer. `extraMs`: time
   * that the work itself may take. Errors: AGENT_FAILED, and those of the work.
   */
  ask(question: (ask: number) => ToAgent, extraMs = 0): Promise<unknown> {
    const ended = this.#fault ?? (this.#isClosed ? this.#closed() : null);
    if (ended) return Promise.reject(ended);
    const ask = ++this.#asked;
    const answer = new Promise<unknown>((resolve, reject) => this.#waiting.set(ask, { resolve, reject }));
    this.guard(() => this.say(question(ask)));
    const limitMs = ANSWER_LIMIT_MS + extraMs;
    return withDeadline(answer, limitMs, () => this.fail(lost(`it answered nothing for ${limitMs / MS_PER_S} s`)));
  }

  /**
   * Runs the work. Anything it throws is a fault of the agent, because the other side's messages
   * must not end this process.
   */
  guard(work: () => void): void {
    try {
      work();
    } catch (error) {
      this.fail(asTrituneError(error));
    }
  }

  /**
   * Ends the link with the error, plus the agent's name, unless it has already ended; returns why
   * it ended.
   */
  fail(error: TrituneError): TrituneError {
    if (this.#fault !== null) return this.#fault;
    const named = this.named(error);
    if (this.#isClosed) return named;
    this.#fault = named;
    this.#stop(named);
    this.#socket?.terminate();
    this.#onFault();
    return named;
  }

  /** Returns the error with the agent's name. */
  named(error: TrituneError): TrituneError {
    const name = `agent ${this.address}: `;
    return error.message.startsWith(name)
      ? error
      : new TrituneError(error.code, `${name}${error.message}`, error.hint, { cause: error });
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    this.#stop(this.#closed());
    const socket = this.#socket;
    if (socket === null || socket.readyState === socket.CLOSED) return;
    const closed = new Promise<void>((resolve) => socket.once('close', () => resolve()));
    socket.close();
    const limit = setTimeout(() => socket.terminate(), MS_PER_S);
    await closed;
    clearTimeout(limit);
  }

  #use(socket: WebSocket): void {
    if (this.#isClosed) {
      socket.terminate();
      return;
    }
    this.#socket = socket;
    socket.on('message', (data) => {
      const nowNs = realClock.nowNs();
      this.#silence?.heard();
      this.guard(() => this.#take(readToController(data as Buffer), nowNs));
    });
    socket.on('close', () => this.fail(lost('its connection broke')));
    socket.on('error', ({ message }) => this.fail(lost(message)));
    this.#silence = new SilenceWatch(
      realClock,
      () => SILENCE_LIMIT_MS,
      (limitMs) => this.fail(lost(`it said nothing for ${limitMs / MS_PER_S} s`)),
    );
  }

  #take(message: ToController, nowNs: number): void {
    if (this.#fault !== null || this.#isClosed) return;
    if (message.type === 'failed') throw new TrituneError(findCode(message.code), message.message, message.hint);
    if (message.type === 'answer') {
      this.#waiting.get(message.ask)?.resolve(message.value);
      this.#waiting.delete(message.ask);
    } else this.#onReport(message, nowNs);
  }

  #stop(why: TrituneError): void {
    this.#silence?.stop();
    for (const { reject } of this.#waiting.values()) reject(why);
    this.#waiting.clear();
  }

  #closed(): TrituneError {
    return this.named(agentFault('its connection was closed', 'start the run again'));
  }
}

const findCode = (text: string): ErrorCode => codesOfThreads.find((code) => code === text) ?? 'AGENT_FAILED';

export const agentFault = (message: string, hint: string): TrituneError =>
  new TrituneError('AGENT_FAILED', message, hint);

const lost = (why: string): TrituneError =>
  agentFault(
    `the connection was lost: ${why}`,
    'check that the agent is running, start it again if it has ended, and repeat the measurement, which does not count',
  );

const tooLong = (bytes: number): TrituneError =>
  new TrituneError(
    'UNSUPPORTED',
    `a schedule of ${Math.round(bytes / 2 ** 20)} MiB is too large to send to it`,
    'play a shorter part of the trace or the workload',
  );
