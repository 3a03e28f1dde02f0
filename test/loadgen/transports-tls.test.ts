import { beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { openGrpcJs } from '#loadgen/transports/grpc-js.ts';
import { openGrpcLean } from '#loadgen/transports/grpc-lean.ts';
import { openHttpLean } from '#loadgen/transports/http-lean.ts';
import { openUndici } from '#loadgen/transports/undici.ts';
import type { Transport, TransportOptions } from '#loadgen/types.ts';
import type { TlsOptions } from '#triton/wire/tls.ts';
import { type Authority, newAuthority, type ServerTls, trusting } from '../support/certificates.ts';
import { startTlsProxy } from '../support/tls-proxy.ts';
import { grpcSubject, httpSubject } from '../support/transport-subjects.ts';
import { describeTransport, inferRequest, send, sendAndFail, sendMany } from '../support/transport-suite.ts';

let authority: Authority;
let server: ServerTls;
beforeAll(async () => {
  authority = await newAuthority();
  server = await authority.serverFor(['127.0.0.1']);
});

const subjectOf = { grpc: grpcSubject, http: httpSubject };
const opens: Record<string, ['grpc' | 'http', (options: TransportOptions) => Transport]> = {
  'gRPC over TLS through grpc-js': ['grpc', openGrpcJs],
  'gRPC over TLS on our own client': ['grpc', openGrpcLean],
  'HTTP over TLS through undici': ['http', openUndici],
  'HTTP over TLS on our own client': ['http', openHttpLean],
};

for (const [name, [protocol, open]] of Object.entries(opens)) {
  const overTls = (url: string, timeoutMs: number) => open({ url, timeoutMs, tls: trusting(authority) });
  describeTransport(subjectOf[protocol](name, overTls, () => server));
}

describe.each(Object.entries(opens))('%s', (_, [protocol, open]) => {
  const opened = (url: string, tls?: TlsOptions): Transport => {
    const transport = open({ url, timeoutMs: 5000, tls });
    onTestFinished(() => transport.close());
    return transport;
  };
  const started = async (tls?: ServerTls) => {
    const { startServer } = subjectOf[protocol]('', (url) => opened(url), tls && (() => tls));
    const running = await startServer();
    onTestFinished(() => running.close());
    return running;
  };

  it('verifies the server unless told not to', async () => {
    const { url } = await started(server);
    const refused = await sendAndFail(opened(url, { verify: true }));
    expect(refused.kind).toBe('refused');
    expect(refused.message).toMatch(/certificate/);
    expect(await send(opened(url, { verify: false }))).toEqual({ ok: true });
  });

  it('looks for the name that it is given', async () => {
    const { url } = await started(await authority.serverFor(['gpu.test']));
    expect(await sendAndFail(opened(url, trusting(authority)))).toMatchObject({ kind: 'refused' });
    expect(await send(opened(url, trusting(authority, { servername: 'gpu.test' })))).toEqual({ ok: true });
  });

  it('shows its certificate to a server that asks for it', async () => {
    const plain = await started();
    const proxy = await startTlsProxy(plain.url, { ...server, clientCa: authority.cert }, [
      protocol === 'grpc' ? 'h2' : 'http/1.1',
    ]);
    onTestFinished(() => proxy.close());
    expect((await sendAndFail(opened(proxy.url, trusting(authority)))).kind).toMatch(/refused|reset|malformed/);
    const { key, cert } = await authority.client();
    const known = trusting(authority, { key: Buffer.from(key), cert: Buffer.from(cert) });
    expect(await sendMany(opened(proxy.url, known), inferRequest(300_000), 20)).toEqual(Array(20).fill({ ok: true }));
    expect(plain.received.length).toBe(20);
  });

  it('fails on a server without TLS, and without TLS on a server with it', async () => {
    const plain = await started();
    expect((await sendAndFail(opened(plain.url, trusting(authority)))).kind).toMatch(/refused|reset|malformed/);
    const secure = await started(server);
    expect((await sendAndFail(opened(secure.url))).kind).toMatch(/refused|reset|malformed/);
  });
});
