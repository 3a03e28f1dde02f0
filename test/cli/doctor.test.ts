import { describe, expect, it, onTestFinished } from 'vitest';
import { connectGrpc } from '../../src/triton/connect.ts';
import { callCli } from '../support/call-cli.ts';
import { emulatorForTest, smallProfile } from '../support/emulator.ts';
import { othersSend } from '../support/other-sender.ts';

const line = (state: string, about: string, text = ''): unknown =>
  expect.stringMatching(new RegExp(`^${state} +${about} +.*${text}`, 'm'));

describe('doctor', () => {
  it('says what is there, and changes and sends nothing', async () => {
    const emulator = await emulatorForTest({ profile: smallProfile() });
    const client = connectGrpc(emulator.grpcUrl);
    onTestFinished(() => client.close());
    const before = [await client.modelConfig('m'), await client.statistics('m'), await client.index()];
    const { code, stdout } = await callCli([
      'doctor',
      '-m',
      'm',
      '-u',
      emulator.grpcUrl,
      '--metrics-url',
      emulator.metricsUrl,
    ]);
    expect(code).toBe(0);
    for (const wanted of [
      line('ok', 'machine', 'cores'),
      line('ok', 'server', "tritune's emulator"),
      line('ok', 'control'),
      line('ok', 'statistics'),
      line('ok', 'models', '1 loaded: m'),
      line('ok', 'metrics'),
      line('ok', 'm', "loaded, .*search space '.+' with \\d+ candidates"),
    ])
      expect(stdout).toEqual(wanted);
    expect(stdout).not.toMatch(/^bad/m);
    expect([await client.modelConfig('m'), await client.statistics('m'), await client.index()]).toEqual(before);
  });

  it('ends as a run would: no server, no such model, models that cannot be controlled', async () => {
    expect(await callCli(['doctor', '-u', 'localhost:1'])).toMatchObject({
      code: 4,
      stdout: line('bad', 'server', 'SERVER_UNREACHABLE'),
    });
    const emulator = await emulatorForTest({ profile: smallProfile(), controlMode: 'none' });
    const about = ['doctor', '-u', emulator.grpcUrl, '--metrics-url', 'http://127.0.0.1:1/metrics'];
    expect(await callCli(about)).toMatchObject({
      code: 4,
      stdout: line('bad', 'control', 'CONTROL_DISABLED.*explicit'),
    });
    const { code, stdout } = await callCli([...about, '-m', 'x']);
    expect(code).toBe(4);
    expect(stdout).toEqual(line('bad', 'x', 'it has m'));
    expect(stdout).toEqual(line('note', 'metrics', '--metrics-url'));
  });

  it('hears the requests of others', async () => {
    const emulator = await emulatorForTest({ profile: smallProfile() });
    await othersSend('grpc', emulator.grpcUrl, 'm', 5);
    expect(await callCli(['doctor', '-m', 'm', '-u', emulator.grpcUrl])).toMatchObject({
      code: 4,
      stdout: line('bad', 'm', 'others send it about \\d+ requests a second'),
    });
  });
});
