import { describe, expect, it } from 'vitest';
import { createControl } from '#adapter/triton/control.ts';
import { realClock } from '#base/clock.ts';
import type { Faults } from '#emulator/faults.ts';
import type { ModelConfig } from '#triton/config/model-config.ts';
import { RUN_MARK, runMarkIn, withoutRunMark, withRunMark } from '#triton/config/run-mark.ts';
import { connectGrpc, connectHttp } from '#triton/control/connect.ts';
import { toCandidate } from '../study/builders.ts';
import { emulatorForTest, smallProfile } from '../support/emulator.ts';

const mark = { host: 'gpu-box', directory: "/home/me/it's a run" };
const signal = new AbortController().signal;

describe('the mark of a run', () => {
  it('comes back from a config as it went in, and leaves nothing behind', () => {
    const config: ModelConfig = { name: 'm', max_batch_size: 4 };
    const other: ModelConfig = { ...config, parameters: { own: { string_value: '1' } } };
    for (const each of [config, other]) {
      expect(runMarkIn(withRunMark(each, mark))).toEqual(mark);
      expect(withoutRunMark(withRunMark(each, mark))).toEqual(each);
      expect(runMarkIn(each)).toBeNull();
    }
  });

  it.each(['', 'gpu-box', 'gpu-box:runs/m', 'two words:/runs'])('is of nobody where it says %j', (text) => {
    const parameters = { [RUN_MARK]: { string_value: text } };
    expect(runMarkIn({ parameters })).toEqual({ host: '', directory: '' });
  });
});

/**
 * A model under control, and each load that the server saw: whether it was in place, and whether it
 * was marked.
 */
async function controlled(refuseLoad?: Faults['refuseLoad']) {
  const loads: string[] = [];
  const faults: Faults = {
    delayLoadMs: ({ config, inPlace }) => {
      loads.push(`${inPlace ? 'in place' : 'full'}, ${runMarkIn(config) ? 'marked' : 'plain'}`);
      return 0;
    },
    ...(refuseLoad && { refuseLoad }),
  };
  const { grpcUrl, httpUrl } = await emulatorForTest({ profile: smallProfile(), faults });
  const client = connectGrpc(grpcUrl);
  const original = await client.modelConfig('m');
  const options = { clock: realClock, restore: 'config', loadTimeoutMs: 5000, settleTimeoutMs: 5000 } as const;
  const control = createControl(client, [{ model: 'm', config: original, wasLoaded: true }], { ...options, mark });
  const apply = (change: ModelConfig) => control.apply(toCandidate({ ...original, ...change }), signal);
  return { loads, client, http: connectHttp(httpUrl), original, control, apply };
}

const instances = (count: number) => ({ instance_group: [{ count, kind: 'KIND_CPU' }] }) as const;

describe('a study marks what it loads', () => {
  it('on the server only, and never makes a load of what could change in place', async () => {
    const { loads, client, http, original, control, apply } = await controlled();
    await apply(instances(2));
    await apply({ max_batch_size: 4 });
    for (const each of [client, http]) {
      expect(await each.runMark('m')).toEqual(mark);
      expect((await each.modelConfig('m')).parameters).toBeUndefined();
    }
    await apply({ max_batch_size: 4, ...instances(3) });
    await apply({});
    await apply(instances(4));
    await control.restore();
    expect(loads).toEqual([
      ...['in place, plain', 'full, marked', 'in place, marked'],
      ...['full, plain', 'in place, plain', 'in place, plain'],
    ]);
    expect(await client.modelConfig('m')).toEqual(original);
    expect(await client.runMark('m')).toBeNull();
    await Promise.all([client.close(), http.close()]);
  });

  it('without the mark where the model stops at a parameter that it does not know', async () => {
    const stops: Faults['refuseLoad'] = ({ config }) => (runMarkIn(config) ? "KeyError: 'tritune_run'" : null);
    const { loads, client, http, apply } = await controlled(stops);
    expect(await apply({ max_batch_size: 4 })).toMatchObject({ change: 'full' });
    expect(await apply({ max_batch_size: 2 })).toMatchObject({ change: 'full' });
    expect(loads).toEqual(['full, marked', 'full, plain', 'full, plain']);
    expect(await client.modelConfig('m')).toMatchObject({ max_batch_size: 2 });
    await Promise.all([client.close(), http.close()]);
  });
});
