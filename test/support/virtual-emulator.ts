import { createServer } from 'node:http';
import { duplexPair } from 'node:stream';
import { type Clock, VirtualClock } from '#base/clock.ts';
import { NS_PER_MS } from '#base/units.ts';
import { grpcMethods } from '#emulator/grpc/front.ts';
import { framed, MessageCutter } from '#emulator/grpc/messages.ts';
import { httpListener } from '#emulator/http/front.ts';
import { type EmulatedServerOptions, openEmulatedServer } from '#emulator/open-server.ts';
import type { WakeUps } from '#emulator/scheduling/wake-ups.ts';
import { asProtocolFailure, ProtocolFailure } from '#emulator/wire/protocol-failure.ts';
import { serviceMethod } from '#triton/wire/proto.ts';

/** How a gRPC call ended: its messages, and the failure when it was refused. */
export interface GrpcEnd {
  readonly messages: readonly Uint8Array[];
  readonly failure: ProtocolFailure | null;
}

/** The first reply on an HTTP connection; null when the server hung up without one. */
export interface HttpEnd {
  readonly status: number;
  readonly head: string;
  readonly body: Buffer;
}

/**
 * An emulator without ports, in virtual time: its gRPC methods are called, its HTTP comes over a
 * stream in memory.
 */
export interface VirtualEmulator {
  /** The time goes on when nothing else is left to do: to compute takes none. */
  readonly clock: Clock;
  grpc(method: string, messages: readonly Uint8Array[], more?: Partial<GrpcMore>): Promise<GrpcEnd>;
  http(request: Buffer): Promise<HttpEnd | null>;
  close(): void;
}

interface GrpcMore {
  /** As `grpc-encoding` says. */
  readonly encoding: string;
  /** The bytes of the call as they are, in place of the messages in their frames. */
  readonly bytes: readonly Buffer[];
}

/** No call takes so long in virtual time, on the busiest machine. */
const DEADLINE_MS = 30_000;

export function openVirtualEmulator(options: EmulatedServerOptions): VirtualEmulator {
  const clock = new VirtualClock();
  const uncaught = new Uncaught();
  const wakeUps = virtualWakeUps(clock, uncaught);
  const { context, close } = openEmulatedServer(options, clock, wakeUps, () =>
    uncaught.tell(new Error('the emulator crashed')),
  );
  const methods = grpcMethods(context);
  // The request ends with the bytes that there are, and its reply is awaited all the same.
  const server = Object.assign(createServer(httpListener(context)), { httpAllowHalfOpen: true });

  /**
   * What comes of the work, unless an error went past everybody, which would end a real process, or
   * nothing comes.
   */
  async function ended<T>(what: string, work: (done: (end: T) => void) => void): Promise<T> {
    let timer: NodeJS.Timeout | undefined;
    const end = await new Promise<T>((done, reject) => {
      timer = setTimeout(() => reject(new Error(`${what} has no end`)), DEADLINE_MS);
      uncaught.tell = reject;
      work(done);
    }).finally(() => clearTimeout(timer));
    uncaught.tell = (error) => uncaught.late.push(error);
    if (uncaught.late.length > 0) throw uncaught.late.shift();
    return end;
  }

  return {
    clock,
    grpc: (method, messages, { encoding = 'identity', bytes }: Partial<GrpcMore> = {}) =>
      ended(method, (done) => {
        const sent: Uint8Array[] = [];
        let isOver = false;
        const over = (failure: ProtocolFailure | null): void => {
          if (!isOver) done({ messages: sent, failure });
          isOver = true;
        };
        const taker = methods.get(serviceMethod(method).path)?.({
          headers: new Map(),
          send: (message) => void (isOver || sent.push(message)),
          end: () => over(null),
          fail: over,
          break: (how) => over(new ProtocolFailure('UNAVAILABLE', how)),
        });
        const cutter = new MessageCutter(encoding, (message) => taker?.message(message));
        for (const piece of bytes ?? messages.map(framed)) {
          try {
            if (!isOver) cutter.push(piece);
          } catch (error) {
            over(asProtocolFailure(error));
          }
        }
        if (!isOver) taker?.done();
      }),
    http: (request) =>
      ended('an HTTP request', (done) => {
        const [client, peer] = duplexPair();
        const chunks: Buffer[] = [];
        client.on('data', (chunk: Buffer) => chunks.push(chunk));
        client.on('error', () => undefined);
        client.on('close', () => done(firstReply(Buffer.concat(chunks))));
        client.on('end', () => client.destroy());
        server.emit('connection', peer);
        client.end(request);
      }),
    close: () => {
      server.close();
      close();
    },
  };
}

function firstReply(bytes: Buffer): HttpEnd | null {
  const end = bytes.indexOf('\r\n\r\n');
  if (end < 0) return null;
  const head = bytes.toString('latin1', 0, end);
  const length = Number(/^content-length: (\d+)$/im.exec(head)?.[1] ?? bytes.length);
  return { status: Number(head.split(' ')[1]), head, body: bytes.subarray(end + 4, end + 4 + length) };
}

/** Errors that nobody caught: of the call under way, and of none. */
class Uncaught {
  readonly late: unknown[] = [];
  tell: (error: unknown) => void = (error) => void this.late.push(error);
}

/** What is due is run at once, one after the other, with the clock set to its time. */
function virtualWakeUps(clock: VirtualClock, uncaught: Uncaught): WakeUps {
  const pending: { readonly dueNs: number; readonly action: () => void }[] = [];
  let isSet = false;
  const arm = (): void => {
    if (!isSet && pending.length > 0) setImmediate(tick);
    isSet = pending.length > 0;
  };
  const tick = (): void => {
    isSet = false;
    const next = pending.shift();
    if (!next) return;
    clock.advance(Math.max(0, next.dueNs - clock.nowNs()) / NS_PER_MS);
    try {
      next.action();
    } catch (error) {
      uncaught.tell(error);
    }
    arm();
  };
  return {
    at: (dueNs, action) => {
      const entry = { dueNs, action };
      const later = pending.findIndex((other) => other.dueNs > dueNs);
      pending.splice(later < 0 ? pending.length : later, 0, entry);
      arm();
      return () => {
        const index = pending.indexOf(entry);
        if (index >= 0) pending.splice(index, 1);
      };
    },
    close: async () => void pending.splice(0),
  };
}
