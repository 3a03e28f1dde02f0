import { readdir, readFile, writeFile } from 'node:fs/promises';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { type Emulator, startEmulator } from '#emulator/start-emulator.ts';
import { callCli } from '../support/call-cli.ts';
import { type Authority, newAuthority } from '../support/certificates.ts';
import { runCli, startCli, untilRecorded } from '../support/cli.ts';
import { smallProfile } from '../support/emulator.ts';
import { freshDirectory, summaryOf } from '../support/run-directory.ts';
import { startTlsProxy } from '../support/tls-proxy.ts';

type Proxy = Awaited<ReturnType<typeof startTlsProxy>>;

let authority: Authority;
let emulator: Emulator;
let grpc: Proxy;
let http: Proxy;
let files: { readonly ca: string; readonly cert: string; readonly key: string };
let secret: string;

beforeAll(async () => {
  authority = await newAuthority();
  emulator = await startEmulator({ profile: smallProfile() });
  const server = { ...(await authority.serverFor(['127.0.0.1'])), clientCa: authority.cert };
  grpc = await startTlsProxy(emulator.grpcUrl, server, ['h2']);
  http = await startTlsProxy(emulator.httpUrl, server, ['http/1.1']);
  const client = await authority.client();
  secret = client.key.split('\n')[1] as string;
  const directory = await freshDirectory();
  files = { ca: join(directory, 'ca.pem'), cert: join(directory, 'cert.pem'), key: join(directory, 'key.pem') };
  await writeFile(files.ca, authority.cert);
  await writeFile(files.cert, client.cert);
  await writeFile(files.key, client.key);
});
afterAll(async () => {
  await Promise.all([grpc.close(), http.close()]);
  await emulator.close();
});

const known = (): string[] => ['--tls-ca', files.ca, '--tls-cert', files.cert, '--tls-key', files.key];
const tune = (...more: string[]): string[] => {
  return [
    'tune',
    '-m',
    'm',
    '--concurrency',
    '1:1',
    '--max-trials',
    '1',
    '--precision',
    '50',
    '--time-budget',
    '4s',
    ...more,
  ];
};

async function textsIn(directory: string): Promise<string> {
  const entries = await readdir(directory, { recursive: true, withFileTypes: true });
  const texts = entries.filter((entry) => entry.isFile()).map((entry) => readFile(join(entry.parentPath, entry.name)));
  return (await Promise.all(texts)).join('\n');
}

describe('tune over TLS', () => {
  it('goes all the way over gRPC, reads the metrics behind https://, and writes down no key', async () => {
    let asked = 0;
    const metrics = createServer(await authority.serverFor(['127.0.0.1']), (_, response) => {
      asked++;
      response.end('nv_gpu_utilization{gpu_uuid="a"} 0.25\n');
    });
    await new Promise<void>((resolve) => metrics.listen(0, '127.0.0.1', resolve));
    onTestFinished(() => {
      metrics.closeAllConnections();
      metrics.close();
    });
    const metricsUrl = `https://127.0.0.1:${(metrics.address() as AddressInfo).port}/metrics`;
    const output = await freshDirectory();
    const where = ['-u', `grpcs://${grpc.url}`, '--metrics-url', metricsUrl, ...known()];
    const outcome = await runCli(tune(...where, '-o', output));
    expect(outcome).toMatchObject({ code: 0, stderr: '' });
    expect((await summaryOf(output)).feasible).toBe(true);
    expect(asked).toBeGreaterThan(0);
    const written = (await textsIn(output)) + outcome.stdout;
    expect(written).toContain('"gpuUtilizationPercent":25');
    expect(written).toContain(files.key);
    expect(written).not.toContain(secret);
  }, 180_000);

  it('plans over HTTP, with the control calls behind https:// too', async () => {
    const outcome = await callCli(tune('-i', 'http', '-u', `https://${http.url}`, ...known(), '--dry-run'));
    expect(outcome).toMatchObject({ code: 0, stderr: '' });
  });

  it('says what is wrong, and how to go on', async () => {
    const untrusted = await callCli(tune('-u', grpc.url, '--tls', '-o', await freshDirectory()));
    expect(untrusted).toMatchObject({ code: 4, stderr: expect.stringMatching(/not trusted.*--tls-ca/) });
    const unknown = await callCli(tune('-u', grpc.url, '--tls-ca', files.ca, '-o', await freshDirectory()));
    expect(unknown).toMatchObject({ code: 4, stderr: expect.stringMatching(/not accept us.*--tls-cert/) });
    const plain = await callCli(tune('-u', grpc.url, '-o', await freshDirectory()));
    expect(plain).toMatchObject({ code: 4, stderr: expect.stringMatching(/speaks TLS, and we do not.*--tls/) });
    const halves = ['--tls-ca', files.ca, '--tls-cert', files.cert];
    const half = await callCli(tune('-u', grpc.url, ...halves, '-o', await freshDirectory()));
    expect(half).toMatchObject({ code: 2, stderr: expect.stringMatching(/needs its key/) });
    const missing = await callCli(tune('-u', grpc.url, '--tls-ca', 'no such file', '-o', await freshDirectory()));
    expect(missing).toMatchObject({ code: 2, stderr: expect.stringMatching(/'no such file'/) });
  }, 180_000);

  it('says aloud that it verifies nothing', async () => {
    const insecure = ['--tls-insecure', ...known().slice(2)];
    const outcome = await callCli(tune('-u', grpc.url, ...insecure, '--dry-run'));
    expect(outcome).toMatchObject({ code: 0, stderr: expect.stringContaining('certificate is not verified') });
  });

  it('restores over TLS with what the journal says', async () => {
    const output = await freshDirectory();
    const running = startCli(tune('-u', grpc.url, ...known(), '-o', output));
    await untilRecorded(output, running, (record) => record.type === 'trial-applied');
    running.child.kill('SIGKILL');
    await running.ended;
    const restored = await callCli(['restore', output]);
    expect(restored).toMatchObject({ code: 0, stderr: '' });
  }, 180_000);
});
