import type { Duplex } from 'node:stream';
import type { WebSocket } from 'ws';
import { realClock, realClockZeroNs } from '#base/clock.ts';
import { asTrituneError, type TrituneError } from '#base/errors.ts';
import { trituneVersion } from '#base/package.ts';
import { computeMemory, encodeMessage } from './codec.ts';
import { AGENT_PROTOCOL, PIECE_BYTES, readToAgent, SILENCE_LIMIT_MS, type ToController } from './protocol.ts';
import { ServedSession } from './served-session.ts';
import { SilenceWatch } from './silence-watch.ts';
import type { AgentUsage } from './usage.ts';

/** A silent controller may be busy with something else for a while. */
const IDLE_LIMIT_MS = 120_000;
/** Time for the last message to arrive before the connection ends. */
const GOODBYE_MS = 1000;
/** Memory of a message that does not count: that of a piece of requests, which counts with them. */
const FREE_BYTES = 4 * PIECE_BYTES;
/** Bytes that a controller may leave unread. */
const MAX_UNREAD_BYTES = 16 * PIECE_BYTES;

/**
 * One connection of the controller, from the agent's side: once it has ended or fallen silent, the
 * agent sends nothing for it.
 */
export class ServedConnection {
  readonly #socket: WebSocket;
  readonly #session: ServedSession;
  readonly #silence: SilenceWatch;
  readonly #onEnd: (why: string) => void;
  readonly #usage: AgentUsage;
  /** Bytes of the message that is arriving. */
  #arrivingBytes = 0;
  #countedBytes = 0;
  #isEnded = false;

  /** `wire`: the stream below the socket. `onEnd` is called once with the reason. */
  constructor(socket: WebSocket, wire: Duplex, usage: AgentUsage, cores: number, onEnd: (why: string) => void) {
    this.#socket = socket;
    this.#usage = usage;
    this.#onEnd = onEnd;
    this.#session = new ServedSession(
      (message) => this.#say(message),
      (error) => this.#fail(asTrituneError(error)),
      realClock,
      usage,
    );
    this.#silence = new SilenceWatch(
      realClock,
      () => (this.#session.isSending ? SILENCE_LIMIT_MS : IDLE_LIMIT_MS),
      (limitMs) => this.#end(`it said nothing for ${limitMs / 1000} s`),
    );
    // Counts before the message is complete.
    wire.prependListener('data', (chunk: Buffer) => this.#count(this.#arrivingBytes + chunk.length));
    socket.on('message', (data) => this.#take(data as Buffer));
    socket.on('close', () => this.#end('it hung up'));
    socket.on('error', (error) => this.#end(error.message));
    this.#say({
      type: 'hello',
      protocol: AGENT_PROTOCOL,
      version: trituneVersion,
      cores,
      wallZeroNs: realClockZeroNs,
    });
  }

  async close(why: string): Promise<void> {
    this.#say({ type: 'failed', code: 'AGENT_FAILED', message: why, hint: 'start it again' });
    await this.#end(why);
  }

  #take(data: Buffer): void {
    if (this.#isEnded) return;
    this.#silence.heard();
    this.#count(0);
    try {
      const bytes = Math.max(0, computeMemory(data) - FREE_BYTES);
      this.#usage.pass(this, bytes);
      this.#usage.pass(this, -bytes);
      this.#session.take(readToAgent(data), bytes);
    } catch (error) {
      this.#fail(asTrituneError(error));
    }
  }

  /** Counts what has arrived of a message. */
  #count(bytes: number): void {
    if (this.#isEnded) return;
    this.#arrivingBytes = bytes;
    const counted = Math.max(0, bytes - FREE_BYTES);
    try {
      this.#usage.pass(this, counted - this.#countedBytes);
      this.#countedBytes = counted;
    } catch (error) {
      this.#fail(asTrituneError(error));
    }
  }

  #say(message: ToController): void {
    if (this.#isEnded) return;
    if (this.#socket.bufferedAmount > MAX_UNREAD_BYTES) {
      const why = `it did not read ${MAX_UNREAD_BYTES} bytes`;
      this.#send({ type: 'failed', code: 'AGENT_FAILED', message: why, hint: 'read the messages of the agent' });
      void this.#end(why);
    } else this.#send(message);
  }

  #send(message: ToController): void {
    this.#socket.send(encodeMessage(message), () => undefined);
  }

  #fail({ code, message, hint }: TrituneError): void {
    this.#say({ type: 'failed', code, message, hint });
    void this.#end(message);
  }

  async #end(why: string): Promise<void> {
    if (this.#isEnded) return;
    this.#isEnded = true;
    this.#silence.stop();
    // The threads first: whatever happens to the connection, nothing more is sent.
    await this.#session.close();
    this.#usage.leave(this);
    this.#socket.close();
    setTimeout(() => this.#socket.terminate(), GOODBYE_MS).unref();
    this.#onEnd(why);
  }
}
