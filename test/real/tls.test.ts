import { mkdtemp, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import type { LaunchedServer } from '#launch/types.ts';
import { openTransport } from '#loadgen/transports/open.ts';
import { connectGrpc } from '#triton/control/connect.ts';
import type { TlsOptions } from '#triton/wire/tls.ts';
import { newAuthority, trusting } from '../support/certificates.ts';
import { startRealTriton } from '../support/real-triton.ts';
import { sendMany } from '../support/transport-suite.ts';

const { modelRepository } = inject('realServer');

let server: LaunchedServer;
let known: TlsOptions;
let stranger: TlsOptions;

beforeAll(async () => {
  const authority = await newAuthority();
  const directory = await mkdtemp(join(tmpdir(), 'tritune-tls-'));
  const { cert, key } = await authority.serverFor(['127.0.0.1', 'localhost']);
  const files = { cert, key, ca: authority.cert };
  for (const [name, text] of Object.entries(files)) await writeFile(join(directory, `${name}.pem`), text);
  const client = await authority.client();
  known = trusting(authority, { cert: Buffer.from(client.cert), key: Buffer.from(client.key) });
  stranger = trusting(authority);
  server = await startRealTriton(modelRepository, {
    loadModels: ['sleeper'],
    extraArgs: [
      '--grpc-use-ssl=true',
      '--grpc-use-ssl-mutual=true',
      `--grpc-server-cert=${join(directory, 'cert.pem')}`,
      `--grpc-server-key=${join(directory, 'key.pem')}`,
      `--grpc-root-cert=${join(directory, 'ca.pem')}`,
    ],
  });
});
afterAll(() => server?.stop());

describe('a real Triton behind mutual TLS', () => {
  const request = {
    model: 'sleeper',
    version: '',
    batch: 1,
    inputs: [{ name: 'INPUT', datatype: 'FP32', shape: [1, 8], raw: new Uint8Array(32) }],
  };

  it.each([false, true])('takes traffic (streaming: %s)', async (streaming) => {
    const transport = openTransport('grpc', { url: server.grpcUrl, timeoutMs: 10_000, tls: known, streaming });
    expect(await sendMany(transport, request, 50)).toMatchObject(Array(50).fill({ ok: true }));
    await transport.close();
  });

  it('takes control calls, from those that it knows', async () => {
    const client = connectGrpc(server.grpcUrl, { tls: known });
    expect(await client.modelReady('sleeper')).toBe(true);
    await client.close();
    for (const [tls, message] of [
      [stranger, /not accept us as its client/],
      [{ verify: true }, /not trusted/],
      [undefined, /speaks TLS, and we do not/],
    ] as const) {
      const refused = connectGrpc(server.grpcUrl, { tls });
      await expect(refused.live()).rejects.toMatchObject({
        code: 'SERVER_UNREACHABLE',
        message: expect.stringMatching(message),
      });
      await refused.close();
    }
  });
});
