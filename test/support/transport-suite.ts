import { setImmediate, setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { InferRequest, PreparedRequest, SendFailure, SendOutcome, Transport } from '#loadgen/types.ts';
import type { ServerTls } from './certificates.ts';
import type { InferServer } from './infer-servers.ts';
import { refusingUrl, startMisbehaving } from './misbehaving-server.ts';

/** One implementation of the seam, and the server to try it against. */
export interface TransportSubject {
  readonly name: string;
  open(url: string, timeoutMs: number): Transport;
  startServer(port?: number): Promise<InferServer>;
  /** With TLS: the server's side of it. Only called within tests. */
  readonly tls?: (() => ServerTls) | undefined;
  /** What the server says first on a connection, as far as the protocol has such words. */
  readonly greeting?: Uint8Array;
  /** Codes that the server may answer with, as `SendFailure.status` names them. */
  readonly statuses: readonly { readonly code: number; readonly status: string }[];
}

const LONG_MS = 10_000;
const SHORT_MS = 150;

export function inferRequest(bytes: number): InferRequest {
  const raw = Uint8Array.from({ length: bytes }, (_, index) => (index * 31) & 0xff);
  return {
    model: 'simple model',
    version: '',
    batch: 1,
    inputs: [{ name: 'INPUT0', datatype: 'UINT8', shape: [1, bytes], raw }],
  };
}

/** Sends `count` times at once. Rejects when a `done` is missing after 15 s or called twice. */
/** The values of replies do not outlive the call. */
function withoutReplies(outcome: SendOutcome): SendOutcome {
  if (!outcome.ok) return outcome;
  const { replies: _, ...rest } = outcome;
  return rest;
}

export async function sendMany<P extends PreparedRequest>(
  transport: Transport<P>,
  request: InferRequest,
  count = 1,
): Promise<SendOutcome[]> {
  const prepared = transport.prepare(request);
  const outcomes: SendOutcome[] = [];
  await new Promise<void>((resolve, reject) => {
    const limit = setTimeout(() => reject(new Error(`only ${outcomes.length} of ${count} ended`)), 15_000);
    const called = new Set<number>();
    for (let index = 0; index < count; index++) {
      transport.send(prepared, (outcome) => {
        if (called.has(index)) reject(new Error(`done was called twice: ${JSON.stringify(outcome)}`));
        called.add(index);
        outcomes.push(withoutReplies(outcome));
        if (outcomes.length < count) return;
        clearTimeout(limit);
        resolve();
      });
    }
  });
  return outcomes;
}

export async function send<P extends PreparedRequest>(transport: Transport<P>, bytes = 16): Promise<SendOutcome> {
  const [outcome] = await sendMany(transport, inferRequest(bytes));
  return outcome as SendOutcome;
}

export async function sendAndFail<P extends PreparedRequest>(transport: Transport<P>): Promise<SendFailure> {
  const outcome = await send(transport);
  if (outcome.ok) throw new Error('the request went well where it should have failed');
  expect(outcome.message).not.toBe('');
  return outcome;
}

/** What every transport must do, whatever the server does. */
export function describeTransport(subject: TransportSubject): void {
  describe(subject.name, () => {
    let server: InferServer;
    const opened: Transport[] = [];
    const open = (url: string, timeoutMs = LONG_MS): Transport => {
      const transport = subject.open(url, timeoutMs);
      opened.push(transport);
      return transport;
    };

    beforeEach(async () => {
      server = await subject.startServer();
    });
    afterEach(async () => {
      await Promise.all(opened.splice(0).map((transport) => transport.close()));
      await server.close();
    });

    it('delivers the model name and the tensor bytes', async () => {
      expect(await send(open(server.url), 300)).toMatchObject({ ok: true });
      expect(server.received.length).toBe(1);
      const seen = server.received[0];
      expect(seen?.model).toBe('simple model');
      expect(seen?.tensors.equals(inferRequest(300).inputs[0]?.raw as Uint8Array)).toBe(true);
    });

    it('sends one request after another on one transport, each as the first', async () => {
      const transport = open(server.url);
      for (let round = 0; round < 50; round++) expect(await send(transport)).toMatchObject({ ok: true });
      expect(new Set(server.received.map(({ message }) => message.toString('latin1'))).size).toBe(1);
      expect(server.received.length).toBe(50);
    });

    it.each([0, 1, 16_384, 65_536, 1024 * 1024])('carries %d bytes each way', async (bytes) => {
      server.replyWith({ kind: 'ok', bodyBytes: bytes });
      const transport = open(server.url);
      const outcomes = await sendMany(transport, inferRequest(bytes), 3);
      expect(outcomes).toMatchObject(Array(3).fill({ ok: true }));
      const raw = Buffer.from(inferRequest(bytes).inputs[0]?.raw as Uint8Array);
      expect(server.received.map(({ tensors }) => tensors.equals(raw))).toEqual(Array(3).fill(true));
    });

    it('keeps 256 requests in flight and ends each once', async () => {
      const outcomes = await sendMany(open(server.url), inferRequest(256), 256);
      expect(outcomes).toMatchObject(Array(256).fill({ ok: true }));
      expect(server.received.length).toBe(256);
    });

    it("reports every bad status with its name and the server's words", async () => {
      const transport = open(server.url);
      for (const { code, status } of subject.statuses) {
        const message = `words for ${code}: 100 % of "größe" \n in 日本`;
        server.replyWith({ kind: 'status', code, message });
        expect(await send(transport)).toEqual({ ok: false, kind: 'status', status, message });
      }
      server.replyWith({ kind: 'ok' });
      expect(await send(transport)).toMatchObject({ ok: true });
    });

    it('puts the name of the status where the server has no words', async () => {
      const { code, status } = subject.statuses[0] as { code: number; status: string };
      server.replyWith({ kind: 'status', code, message: '' });
      expect(await send(open(server.url))).toEqual({ ok: false, kind: 'status', status, message: status });
    });

    it('times out on a server that never answers, and goes on', async () => {
      const transport = open(server.url, SHORT_MS);
      server.replyWith({ kind: 'silence' });
      const outcomes = await sendMany(transport, inferRequest(16), 5);
      expect(outcomes.map((outcome) => !outcome.ok && outcome.kind)).toEqual(Array(5).fill('timeout'));
      server.replyWith({ kind: 'ok' });
      expect(await sendUntilGood(transport)).toMatchObject({ ok: true });
    });

    it('times out on a peer that accepts and says nothing at all', async () => {
      const silent = await startMisbehaving('silent', undefined, subject.tls?.());
      expect(await sendAndFail(open(silent.url, SHORT_MS))).toMatchObject({ kind: 'timeout' });
      await silent.close();
    });

    it('reports a refused connection, for every request', async () => {
      const outcomes = await sendMany(open(await refusingUrl()), inferRequest(16), 8);
      expect(outcomes.map((outcome) => !outcome.ok && outcome.kind)).toEqual(Array(8).fill('refused'));
    });

    it('reports a connection that is reset under its requests, and opens another', async () => {
      const transport = open(server.url);
      expect(await send(transport)).toMatchObject({ ok: true });
      server.replyWith({ kind: 'reset' });
      const outcomes = await sendMany(transport, inferRequest(16), 4);
      expect(outcomes.map((outcome) => !outcome.ok && outcome.kind)).toEqual(Array(4).fill('reset'));
      server.replyWith({ kind: 'ok' });
      expect(await sendUntilGood(transport)).toMatchObject({ ok: true });
    });

    it('reports an answer that is cut off', async () => {
      server.replyWith({ kind: 'cut' });
      expect((await sendAndFail(open(server.url))).kind).toMatch(/reset|malformed/);
    });

    it.each(['reset', 'half-close', 'close'] as const)('ends its requests when the peer does a %s', async (what) => {
      const peer = await startMisbehaving(what, subject.greeting, subject.tls?.());
      const transport = open(peer.url);
      for (let round = 0; round < 3; round++) expect((await sendAndFail(transport)).kind).toMatch(/reset|refused/);
      await peer.close();
    });

    it('reports garbage in place of an answer', async () => {
      const peer = await startMisbehaving('garbage', subject.greeting, subject.tls?.());
      const outcome = await sendAndFail(open(peer.url));
      expect(outcome.kind).toBe('malformed');
      await peer.close();
    });

    it('finds a server that went away and came back', async () => {
      const transport = open(server.url);
      expect(await send(transport)).toMatchObject({ ok: true });
      const port = Number(server.url.split(':')[1]);
      await server.close();
      expect((await sendAndFail(transport)).kind).toMatch(/refused|reset/);
      server = await subject.startServer(port);
      expect(await sendUntilGood(transport)).toMatchObject({ ok: true });
    });

    it('ends what is in flight when it is closed, and sends no more', async () => {
      const transport = open(server.url);
      server.replyWith({ kind: 'silence' });
      const outcomes = sendMany(transport, inferRequest(16), 20);
      await until(() => server.received.length === 20);
      await transport.close();
      expect((await outcomes).map((outcome) => !outcome.ok && outcome.kind)).toEqual(Array(20).fill('reset'));
      expect(await send(transport)).toMatchObject({ ok: false, kind: 'reset' });
      await transport.close();
    });

    it('can be closed before its connection stands', async () => {
      const transport = open(server.url);
      const outcomes = sendMany(transport, inferRequest(16), 3);
      await transport.close();
      expect((await outcomes).every((outcome) => !outcome.ok)).toBe(true);
    });

    it('lets a sender send again from within its callback', async () => {
      const transport = open(server.url);
      const prepared = transport.prepare(inferRequest(64));
      const total = 2000;
      let ended = 0;
      await new Promise<void>((resolve, reject) => {
        let sent = 0;
        const next = (): void => {
          if (sent === total) return;
          sent++;
          transport.send(prepared, (outcome) => {
            if (!outcome.ok) reject(new Error(outcome.message));
            if (++ended === total) resolve();
            next();
          });
        };
        for (let lane = 0; lane < 16; lane++) next();
      });
      await setImmediate();
      expect(ended).toBe(total);
      expect(server.received.length).toBe(total);
    });
  });
}

/** Sends until one goes well: a client may need a moment before it dares a new connection. */
async function sendUntilGood<P extends PreparedRequest>(transport: Transport<P>): Promise<SendOutcome> {
  let last: SendOutcome = { ok: false, kind: 'refused', message: 'not tried' };
  for (let attempt = 0; attempt < 50 && !last.ok; attempt++) {
    if (attempt > 0) await sleep(50);
    last = await send(transport);
  }
  return last;
}

export async function until(condition: () => boolean): Promise<void> {
  for (let attempt = 0; attempt < 5000 && !condition(); attempt++) await sleep(5);
  expect(condition()).toBe(true);
}
