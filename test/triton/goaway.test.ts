import { describe, expect, it, onTestFinished } from 'vitest';
import type { Faults } from '#emulator/faults.ts';
import { connectGrpc } from '#triton/control/connect.ts';
import { emulatorForTest, smallProfile } from '../support/emulator.ts';
import { type GoAway, startSwitchedProxy } from '../support/switched-proxy.ts';

const DEADLINE_MS = 5_000;
const LOAD_MS = 300;

/** A control connection through a proxy, and a promise of the next load that the server begins. */
async function controlled() {
  const faults: Faults = {};
  const emulator = await emulatorForTest({ profile: smallProfile(), faults });
  const proxy = await startSwitchedProxy(emulator.grpcUrl);
  const deadlines = { defaultTimeoutMs: DEADLINE_MS, loadTimeoutMs: DEADLINE_MS };
  const [client, direct] = [connectGrpc(proxy.url, deadlines), connectGrpc(emulator.grpcUrl)];
  onTestFinished(() => Promise.all([client.close(), direct.close(), proxy.close()]).then(() => undefined));
  let loads = 0;
  const loadBegun = (): Promise<void> =>
    new Promise((begun) => {
      faults.delayLoadMs = () => {
        loads++;
        begun();
        return LOAD_MS;
      };
    });
  const config = await client.modelConfig('m');
  const load = (batch: number) => client.load('m', { ...config, max_batch_size: batch });
  const served = async (): Promise<number | undefined> => (await client.modelConfig('m')).max_batch_size;
  return { client, direct, proxy, load, loadBegun, served, loads: () => loads };
}

describe.each<GoAway>(['go-away', 'go-away, refused', 'go-away, dropped'])('a control connection told %s', (how) => {
  it('between calls: it is left, and the next call goes over another one', async () => {
    const { proxy, load, served } = await controlled();
    for (const batch of [4, 2]) {
      await proxy.switchTo(how);
      await expect.poll(proxy.connections).toBe(0);
      await load(batch);
      expect(await served()).toBe(batch);
    }
  });

  it('just after a call began, or many: each is answered, or known to be in doubt', async () => {
    const { client, proxy } = await controlled();
    for (let round = 0; round < 5; round++) {
      const calls = Array.from({ length: 8 }, () => client.modelReady('m'));
      await proxy.switchTo(how);
      for (const { status, ...call } of await Promise.allSettled(calls)) {
        if (status === 'fulfilled') expect(call).toEqual({ value: true });
        else expect(call).toMatchObject({ reason: { code: 'SERVER_UNREACHABLE' } });
      }
      expect(await client.modelReady('m')).toBe(true);
    }
  });

  it('in the middle of a load: the load is answered, sent again, or known to be in doubt', async () => {
    const { direct, proxy, load, loadBegun, served, loads } = await controlled();
    const begun = loadBegun();
    const loaded = load(4);
    const outcome = loaded.then(
      () => 'loaded',
      (error: unknown) => error,
    );
    await begun;
    await proxy.switchTo(how);
    expect(await outcome).toEqual(
      how === 'go-away, dropped' ? expect.objectContaining({ code: 'SERVER_UNREACHABLE' }) : 'loaded',
    );
    // The library sends what was refused again by itself.
    expect(loads()).toBe(how === 'go-away, refused' ? 2 : 1);
    if (how === 'go-away, dropped')
      await expect.poll(() => direct.modelConfig('m')).toMatchObject({ max_batch_size: 4 });
    expect(await served()).toBe(4);
  });
});
