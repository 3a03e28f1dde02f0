import { describe, expect, it, onTestFinished } from 'vitest';
import { connectGrpc } from '#triton/control/connect.ts';
import { callCli } from '../support/call-cli.ts';
import { emulatorForTest, everyKindProfile, smallProfile } from '../support/emulator.ts';
import { othersSend } from '../support/other-sender.ts';

const line = (state: string, about: string, text = ''): unknown =>
  expect.stringMatching(new RegExp(`^${state} +${about} +.*${text}`, 'm'));

describe('doctor', () => {
  it('says what is there, and changes nothing', async () => {
    const emulator = await emulatorForTest({ profile: smallProfile() });
    const client = connectGrpc(emulator.grpcUrl);
    onTestFinished(() => client.close());
    const served = async () => (await client.statistics('m')).map(({ success }) => success.count);
    const before = [await client.modelConfig('m'), await client.index()];
    const [servedBefore = 0] = await served();
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
      line('note', 'trace', 'without a trace file .*--trace-config triton,file=FILE'),
      line('ok', 'models', '1 loaded: m'),
      line('ok', 'metrics'),
      line('ok', 'm', "loaded, .*search space '.+' with \\d+ candidates"),
      line(
        '(ok|note)',
        'm',
        'p99 is .* ms with one request in flight.*; budgets below .* ms cannot be met even when idle; below .* noise uses up a third',
      ),
    ])
      expect(stdout).toEqual(wanted);
    expect(stdout).not.toMatch(/^bad/m);
    expect([await client.modelConfig('m'), await client.index()]).toEqual(before);
    // One request at a time, which takes a millisecond here.
    const [servedAfter = 0] = await served();
    expect(servedAfter - servedBefore).toBeGreaterThan(100);
  });

  it('says where traces go', async () => {
    const emulator = await emulatorForTest({ profile: smallProfile(), traceFile: '/tmp/trace.json' });
    const { stdout } = await callCli(['doctor', '-u', emulator.grpcUrl, '--metrics-url', emulator.metricsUrl]);
    expect(stdout).toEqual(line('ok', 'trace', '--trace. go to /tmp/trace.json'));
  });

  it('sends nothing to no model, nor to one of sequences, and says what it would need to be told', async () => {
    const emulator = await emulatorForTest({ profile: everyKindProfile() });
    const client = connectGrpc(emulator.grpcUrl);
    onTestFinished(() => client.close());
    const statistics = () => Promise.all(['m', 'seq', 'stream'].map((model) => client.statistics(model)));
    const before = await statistics();
    const at = ['doctor', '-u', emulator.grpcUrl, '--metrics-url', emulator.metricsUrl];
    expect((await callCli(at)).stdout).not.toContain('in flight');
    expect((await callCli([...at, '-m', 'seq'])).stdout).not.toContain('in flight');
    const { code, stdout } = await callCli([...at, '-m', 'stream']);
    expect(stdout).toEqual(line('note', 'stream', 'idle latency not measured: .*decoupled'));
    expect(code).toBe(0);
    expect(await statistics()).toEqual(before);
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
    expect(stdout).toEqual(line('bad', 'x', 'its models are m'));
    expect(stdout).toEqual(line('note', 'metrics', '--metrics-url'));
  });

  it('hears the requests of others', async () => {
    const emulator = await emulatorForTest({ profile: smallProfile() });
    await othersSend('grpc', emulator.grpcUrl, 'm', 5);
    const { code, stdout } = await callCli(['doctor', '-m', 'm', '-u', emulator.grpcUrl]);
    expect(code).toBe(4);
    expect(stdout).toEqual(line('bad', 'm', 'other clients send about \\d+ requests/s'));
    // What they do is no noise of the machine's.
    expect(stdout).not.toContain('in flight');
  });
});
