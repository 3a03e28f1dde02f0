import { beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { loadProfile } from '#emulator/profile/profiles.ts';
import { startEmulator } from '#emulator/start-emulator.ts';
import { connectGrpc, connectHttp } from '#triton/control/connect.ts';
import type { TritonClient } from '#triton/types.ts';
import { checkTls, type TlsOptions } from '#triton/wire/tls.ts';
import { type Authority, newAuthority, type ServerTls, trusting } from '../support/certificates.ts';
import { emulatorForTest } from '../support/emulator.ts';
import { startTlsProxy } from '../support/tls-proxy.ts';
import { type StartedSubject, tritonClientSuite } from '../support/triton-client-suite.ts';

const protocols = { grpc: ['h2'], http: ['http/1.1'] } as const;

let authority: Authority;
let server: ServerTls;
beforeAll(async () => {
  authority = await newAuthority();
  server = await authority.serverFor(['127.0.0.1', 'localhost', 'gpu.test']);
});

async function onTlsEmulator(protocol: 'grpc' | 'http'): Promise<StartedSubject> {
  const ca = await newAuthority();
  const serverTls = { ...(await ca.serverFor(['127.0.0.1'])), clientCa: ca.cert };
  const { key, cert } = await ca.client();
  const tls = trusting(ca, { key: Buffer.from(key), cert: Buffer.from(cert) });
  const emulator = await startEmulator({ profile: loadProfile('sleeper') });
  const grpcProxy = await startTlsProxy(emulator.grpcUrl, serverTls, protocols.grpc);
  const httpProxy = await startTlsProxy(emulator.httpUrl, serverTls, protocols.http);
  const [grpc, http] = [connectGrpc(grpcProxy.url, { tls }), connectHttp(httpProxy.url, { tls })];
  const pair = protocol === 'grpc' ? { client: grpc, twin: http } : { client: http, twin: grpc };
  const stop = async (): Promise<void> => {
    await Promise.all([grpcProxy.close(), httpProxy.close()]);
    await emulator.close();
  };
  return { ...pair, httpUrl: emulator.httpUrl, model: 'sleeper', stop };
}

tritonClientSuite('a gRPC client over TLS, known by its certificate', { start: () => onTlsEmulator('grpc') });
tritonClientSuite('an HTTP client over TLS, known by its certificate', { start: () => onTlsEmulator('http') });

describe.each(['grpc', 'http'] as const)('a %s client', (protocol) => {
  const connect = { grpc: connectGrpc, http: connectHttp }[protocol];

  const clientOf = (url: string, tls?: TlsOptions): TritonClient => {
    const client = connect(url, { tls, defaultTimeoutMs: 5000 });
    onTestFinished(() => client.close());
    return client;
  };
  async function plainUrl(): Promise<string> {
    const emulator = await emulatorForTest();
    return protocol === 'grpc' ? emulator.grpcUrl : emulator.httpUrl;
  }
  async function tlsUrl(serverTls: ServerTls = server): Promise<string> {
    const proxy = await startTlsProxy(await plainUrl(), serverTls, protocols[protocol]);
    onTestFinished(() => proxy.close());
    return proxy.url;
  }
  const fails = (message: RegExp, hint: RegExp) => ({
    code: 'SERVER_UNREACHABLE',
    message: expect.stringMatching(message),
    hint: expect.stringMatching(hint),
  });

  it('trusts a server by its CA', async () => {
    expect(await clientOf(await tlsUrl(), trusting(authority)).live()).toBe(true);
  });

  it('says that a certificate is not trusted, and believes anyone only when told to', async () => {
    const url = await tlsUrl();
    const untrusted = fails(/certificate is not trusted/, /--tls-ca/);
    await expect(clientOf(url, { verify: true }).live()).rejects.toMatchObject(untrusted);
    const other = await newAuthority();
    await expect(clientOf(url, trusting(other)).live()).rejects.toMatchObject(untrusted);
    expect(await clientOf(url, { verify: false }).live()).toBe(true);
  });

  it('says that a certificate is for another host, and takes the name to look for', async () => {
    const url = await tlsUrl(await authority.serverFor(['gpu.test']));
    const error = fails(/for another host.*gpu\.test/, /--tls-server-name/);
    await expect(clientOf(url, trusting(authority)).live()).rejects.toMatchObject(error);
    expect(await clientOf(url, trusting(authority, { servername: 'gpu.test' })).live()).toBe(true);
  });

  it('says that a certificate has expired', async () => {
    const old = await authority.serverFor(['127.0.0.1'], new Date(Date.now() - 60_000));
    const url = await tlsUrl(old);
    await expect(clientOf(url, trusting(authority)).live()).rejects.toMatchObject(fails(/not valid now/, /renew it/));
    expect(await clientOf(url, { verify: false }).live()).toBe(true);
  });

  it('says that a plaintext server speaks no TLS', async () => {
    const client = clientOf(await plainUrl(), trusting(authority));
    await expect(client.live()).rejects.toMatchObject(fails(/does not speak TLS/, /--tls/));
  });

  it('says that a server speaks TLS where we do not', async () => {
    await expect(clientOf(await tlsUrl()).live()).rejects.toMatchObject(fails(/speaks TLS, and we do not/, /--tls/));
    const strict = await tlsUrl({ ...server, clientCa: authority.cert });
    await expect(clientOf(strict).live()).rejects.toMatchObject(fails(/speaks TLS, and we do not/, /--tls/));
  });

  it('says that a server wants to know its clients', async () => {
    const url = await tlsUrl({ ...server, clientCa: authority.cert });
    const refused = fails(/does not accept us as its client/, /--tls-cert/);
    await expect(clientOf(url, trusting(authority)).live()).rejects.toMatchObject(refused);
    const { key, cert } = await (await newAuthority()).client();
    const stranger = trusting(authority, { key: Buffer.from(key), cert: Buffer.from(cert) });
    await expect(clientOf(url, stranger).live()).rejects.toMatchObject(refused);
  });
});

describe('TLS options', () => {
  it('are refused without their contents when they cannot be used', async () => {
    const { key, cert } = await authority.client();
    const other = await authority.client();
    const secret = key.split('\n')[1] as string;
    for (const tls of [
      { cert: Buffer.from(cert) },
      { cert: Buffer.from(key), key: Buffer.from(key) },
      { cert: Buffer.from(cert), key: Buffer.from(other.key) },
      { cert: Buffer.from(cert), key: Buffer.from(key.replace(secret, 'nonsense')) },
      { ca: Buffer.from('no PEM at all') },
      { ca: Buffer.from('') },
    ]) {
      const check = (): void => checkTls({ verify: true, ...tls });
      expect(check).toThrow(expect.objectContaining({ code: 'USAGE', message: expect.not.stringContaining(secret) }));
    }
    expect(() => checkTls({ verify: true, cert: Buffer.from(cert), key: Buffer.from(key) })).not.toThrow();
  });
});
