import { describe, expect, it } from 'vitest';
import { TrituneError } from '#base/errors.ts';
import type { JsonObject } from '#base/json.ts';
import type { ModelConfig } from '#triton/config/model-config.ts';
import { clientOver } from '#triton/control/client.ts';
import { readOtherConfigs } from '#triton/control/other-configs.ts';
import type { CallOptions } from '#triton/types.ts';

const clientWith = (configs: { readonly [model: string]: JsonObject | Error }) =>
  clientOver(
    {
      protocol: 'grpc',
      url: 'h:1',
      call: async (operation) => {
        const config = 'model' in operation ? configs[operation.model] : undefined;
        if (config instanceof Error) throw config;
        return { config: config ?? {} };
      },
      close: async () => undefined,
    },
    { defaultTimeoutMs: 1, loadTimeoutMs: 1 },
  );

describe('the configs of models beside the one of a run', () => {
  it('are read where they can be, and the others are named', async () => {
    const newer = new TrituneError('UNSUPPORTED', "the config of 'newer' has fields", 'update tritune');
    const gone = new TrituneError('MODEL_UNREADY', 'unloaded meanwhile', 'load it');
    const client = clientWith({ good: { name: 'good' }, wrong: { max_batch_size: 'many' }, newer, gone });
    const { configs, unreadable } = await readOtherConfigs(client, ['good', 'wrong', 'newer', 'gone', 'good']);
    expect(configs).toEqual<{ [model: string]: ModelConfig }>({ good: { name: 'good' } });
    expect([...unreadable.keys()].sort()).toEqual(['newer', 'wrong']);
    expect(unreadable.get('wrong')).toMatchObject({
      code: 'CONFIG_INVALID',
      message: expect.stringContaining("'wrong': max_batch_size"),
    });
  });

  it('end no run where one hangs, or breaks the connection, and are named', async () => {
    const hanging = new TrituneError('SERVER_TIMEOUT', 'no answer', 'wait');
    const broken = new TrituneError('SERVER_UNREACHABLE', 'the connection broke', 'start it');
    const { configs, unreadable } = await readOtherConfigs(clientWith({ hanging, broken, good: {} }), [
      ...['hanging', 'broken', 'good'],
    ]);
    expect(Object.keys(configs)).toEqual(['good']);
    expect([...unreadable]).toEqual([
      ['hanging', hanging],
      ['broken', broken],
    ]);
  });

  it('are read of 1,024 models at most, a few at once, each with a deadline', async () => {
    const names = Array.from({ length: 100_000 }, (_, index) => `m${index}`);
    let [now, most, count] = [0, 0, 0];
    const client = {
      modelConfig: async (_: string, call?: CallOptions): Promise<ModelConfig> => {
        expect(call?.timeoutMs).toBeLessThanOrEqual(2_000);
        most = Math.max(most, ++now);
        count++;
        await new Promise(setImmediate);
        now--;
        return {};
      },
    };
    const { configs, unread } = await readOtherConfigs(client, names);
    expect(Object.keys(configs)).toHaveLength(1024);
    expect(count).toBe(1024);
    expect(unread).toEqual(names.slice(1024));
    expect(most).toBeLessThanOrEqual(16);
  });

  it('end with their run', async () => {
    const stop = new AbortController();
    const client = {
      modelConfig: (_: string, call?: CallOptions): Promise<ModelConfig> =>
        new Promise((_resolve, reject) => {
          call?.signal?.addEventListener('abort', () => reject(new Error('stopped')));
          stop.abort();
        }),
    };
    await expect(readOtherConfigs(client, ['m', 'n'], stop.signal)).rejects.toThrow('abort');
  });
});

describe('a client', () => {
  it('makes 16 calls at once at most, and the others after them', async () => {
    let [now, most] = [0, 0];
    const client = clientOver(
      {
        protocol: 'grpc',
        url: 'h:1',
        call: async () => {
          most = Math.max(most, ++now);
          await new Promise(setImmediate);
          now--;
          throw new TrituneError('SERVER_FAILED', 'no', 'wait');
        },
        close: async () => undefined,
      },
      { defaultTimeoutMs: 1, loadTimeoutMs: 1 },
    );
    const calls = await Promise.allSettled(Array.from({ length: 100 }, () => client.live()));
    expect(calls.filter(({ status }) => status === 'rejected')).toHaveLength(100);
    expect(most).toBe(16);
  });
});
