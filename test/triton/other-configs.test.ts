import { describe, expect, it } from 'vitest';
import { TrituneError } from '../../src/base/errors.ts';
import type { JsonObject } from '../../src/base/json.ts';
import type { ModelConfig } from '../../src/triton/config/model-config.ts';
import { clientOver } from '../../src/triton/control/client.ts';
import { readOtherConfigs } from '../../src/triton/control/other-configs.ts';

const clientWith = (configs: { readonly [model: string]: JsonObject | Error }) =>
  clientOver(
    {
      ...{ protocol: 'grpc', url: 'h:1' },
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

  it('are not read from a server that is away', async () => {
    const away = new TrituneError('SERVER_UNREACHABLE', 'nobody answers', 'start it');
    await expect(readOtherConfigs(clientWith({ m: away }), ['m'])).rejects.toBe(away);
  });
});
