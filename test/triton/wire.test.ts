import { describe, expect, it } from 'vitest';
import { loadProfile } from '#emulator/profile/profiles.ts';
import { startEmulator } from '#emulator/start-emulator.ts';
import { connectGrpc, connectHttp } from '#triton/control/connect.ts';
import { emulatorForTest } from '../support/emulator.ts';
import { type StartedSubject, tritonClientSuite } from '../support/triton-client-suite.ts';

async function onEmulator(protocol: 'grpc' | 'http'): Promise<StartedSubject> {
  const { grpcUrl, httpUrl, close } = await startEmulator({ profile: loadProfile('sleeper') });
  const [grpc, http] = [connectGrpc(grpcUrl), connectHttp(httpUrl)];
  const pair = protocol === 'grpc' ? { client: grpc, twin: http } : { client: http, twin: grpc };
  return { ...pair, httpUrl, model: 'sleeper', stop: close };
}

tritonClientSuite('a gRPC client of the emulator', { start: () => onEmulator('grpc') });
tritonClientSuite('an HTTP client of the emulator', { start: () => onEmulator('http') });

describe.each(['grpc', 'http'] as const)('a %s client', (protocol) => {
  const connect = protocol === 'grpc' ? connectGrpc : connectHttp;

  it.each(['none', 'poll'] as const)('tells that loads are not allowed in control mode %s', async (controlMode) => {
    const emulator = await emulatorForTest({ controlMode });
    const client = connect(protocol === 'grpc' ? emulator.grpcUrl : emulator.httpUrl);
    const disabled = { code: 'CONTROL_DISABLED', hint: expect.stringContaining('explicit') };
    await expect(client.load('sleeper')).rejects.toMatchObject(disabled);
    await expect(client.load('no_such_model')).rejects.toMatchObject(disabled);
    await expect(client.unload('sleeper')).rejects.toMatchObject(disabled);
    await client.close();
  });

  it('is told apart from the other protocol by its port', async () => {
    const emulator = await emulatorForTest();
    const client = connect(protocol === 'grpc' ? emulator.httpUrl : emulator.grpcUrl);
    const error = { code: 'SERVER_UNREACHABLE', message: expect.stringContaining('does not speak') };
    await expect(client.live()).rejects.toMatchObject(error);
    await expect(client.load('sleeper')).rejects.toMatchObject(error);
    await client.close();
  });

  it('finds a server again that was started anew on its port', async () => {
    const first = await startEmulator({ profile: loadProfile('sleeper') });
    const url = protocol === 'grpc' ? first.grpcUrl : first.httpUrl;
    const client = connect(url);
    expect(await client.live()).toBe(true);
    await first.close();
    await expect(client.live()).rejects.toMatchObject({ code: 'SERVER_UNREACHABLE' });
    const port = Number(url.split(':')[1]);
    await emulatorForTest(protocol === 'grpc' ? { grpcPort: port } : { httpPort: port });
    await expect.poll(() => client.live().catch(() => false), { timeout: 5_000, interval: 20 }).toBe(true);
    await client.close();
  });
});
