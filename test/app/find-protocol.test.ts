import { describe, expect, it } from 'vitest';
import { withProtocol, withStudyProtocol } from '#app/server/find-protocol.ts';
import { freePorts } from '#launch/free-ports.ts';
import type { AddressSpec } from '#spec/server-spec.ts';
import { callCli, callLab } from '../support/call-cli.ts';
import { emulatorForTest, smallProfile } from '../support/emulator.ts';

const protocolOf = async (options: Partial<AddressSpec> & { launch?: string; tensorFormat?: 'json' }) =>
  (await withProtocol<AddressSpec>(options)).protocol;

describe('the protocol of a server', () => {
  it('is the one that its port speaks', async () => {
    const { grpcUrl, httpUrl } = await emulatorForTest({ profile: smallProfile() });
    expect(await protocolOf({ url: grpcUrl })).toBe('grpc');
    expect(await protocolOf({ url: httpUrl })).toBe('http');
    expect(await withStudyProtocol({ url: httpUrl })).toEqual({ url: httpUrl, protocol: 'http' });
  });

  it('is the given one, or that of the scheme, whatever the port speaks', async () => {
    const { grpcUrl, httpUrl } = await emulatorForTest({ profile: smallProfile() });
    expect(await protocolOf({ url: httpUrl, protocol: 'grpc' })).toBe('grpc');
    expect(await protocolOf({ url: `http://${grpcUrl}` })).toBe('http');
    expect(await protocolOf({ url: `grpc://${httpUrl}` })).toBe('grpc');
    expect(await protocolOf({ url: grpcUrl, tensorFormat: 'json' })).toBe('http');
    expect(await protocolOf({ url: `${grpcUrl}/triton` })).toBe('http');
  });

  it('is the usual one of the port where nothing answers', async () => {
    const [port = 0] = await freePorts(1);
    expect(await protocolOf({ url: `127.0.0.1:${port}` })).toBe('grpc');
    // Of TEST-NET-1, where nobody answers.
    expect(await protocolOf({ launch: 'emulator', url: '192.0.2.1:8000' })).toBe('http');
    expect(await protocolOf({ launch: 'emulator' })).toBe('grpc');
  });
});

const commands = {
  profile: ['profile', '-m', 'm', '--request-count', '5'],
  capacity: ['capacity', '-m', 'm', '-l', '500', '--time-budget', '3s', '--precision', '90'],
  'tune --dry-run': ['tune', '-m', 'm', '--dry-run'],
  'record --dry-run': ['record', '-m', 'm', '--dry-run', '--concurrency', '1'],
  config: ['config', '-m', 'm'],
  doctor: ['doctor'],
} as const;

describe.each(Object.entries(commands))('%s', { timeout: 60_000 }, (name, args) => {
  const call = name.startsWith('record') ? callLab : callCli;
  it('works with either port of a server, and says what a port speaks that -i is wrong about', async () => {
    const { grpcUrl, httpUrl } = await emulatorForTest({ profile: smallProfile() });
    for (const url of [grpcUrl, httpUrl]) {
      const { code, stderr } = await call([...args, '-u', url]);
      expect(code, stderr).toBe(0);
    }
    const wrong = await call([...args, '-u', httpUrl, '-i', 'grpc']);
    expect(wrong.code).toBe(4);
    expect(wrong.stdout + wrong.stderr).toContain(
      `SERVER_UNREACHABLE: ${httpUrl} speaks HTTP, not gRPC (leave out -i, or give -i http)`,
    );
    const other = await call([...args, '-u', grpcUrl, '-i', 'http']);
    expect(other.code).toBe(4);
    expect(other.stdout + other.stderr).toContain(`${grpcUrl} speaks gRPC, not HTTP (leave out -i, or give -i grpc)`);
  });
});
