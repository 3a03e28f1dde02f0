import { describe, expect, it } from 'vitest';
import { createControl } from '#adapter/triton/control.ts';
import type { ControlClient } from '#adapter/triton/control-options.ts';
import { VirtualClock } from '#base/clock.ts';
import { TrituneError } from '#base/errors.ts';
import type { ModelConfig } from '#triton/config/model-config.ts';
import { LoadRefusedError } from '#triton/control/load-refused.ts';
import { configOf, toCandidate } from '../study/builders.ts';

const never = new AbortController().signal;
const named = (name: string, instances: number): ModelConfig => ({ ...configOf(instances, 4), name });

/** An ensemble over models, without instances of its own. */
const over = (name: string, ...models: string[]): ModelConfig => ({
  name,
  platform: 'ensemble',
  max_batch_size: 4,
  ensemble_scheduling: { step: models.map((model_name) => ({ model_name })) },
});

/** A server in memory that has room for so many instances in all. */
class SmallServer implements ControlClient {
  readonly loaded = new Map<string, ModelConfig>();
  readonly calls: string[] = [];
  room = Number.POSITIVE_INFINITY;
  failing: string | null = null;

  async index() {
    return [...new Set(['a', 'b', ...this.loaded.keys()])].map((name) => ({
      name,
      version: '1',
      reason: '',
      state: this.loaded.has(name) ? ('READY' as const) : ('UNAVAILABLE' as const),
    }));
  }

  async modelConfig(name: string): Promise<ModelConfig> {
    const config = this.loaded.get(name);
    if (!config) throw new TrituneError('MODEL_UNREADY', 'not loaded', 'load it');
    return config;
  }

  async load(name: string, config: ModelConfig = name === 'e' ? over('e', 'a', 'b') : named(name, 1)): Promise<void> {
    this.calls.push(`load ${name}`);
    if (this.failing === name) throw new TrituneError('SERVER_UNREACHABLE', 'nothing answers', 'start it');
    const all = [...this.loaded.values(), config].map((each) => each.instance_group?.[0]?.count ?? 0);
    if (all.reduce((sum, count) => sum + count, 0) > this.room) {
      throw new LoadRefusedError(name, 'out-of-memory', 'no memory');
    }
    this.loaded.set(name, config);
  }

  async unload(name: string): Promise<void> {
    this.calls.push(`unload ${name}`);
    this.loaded.delete(name);
  }

  async modelReady(name: string): Promise<boolean> {
    return this.loaded.has(name);
  }
}

/** `a` is loaded, and `b` if that is said. */
function controlled({ mayUnload = true, isBLoaded = true } = {}) {
  const served = new SmallServer();
  served.loaded.set('a', named('a', 1));
  if (isBLoaded) served.loaded.set('b', named('b', 1));
  const originals = [
    { model: 'a', config: named('a', 1), wasLoaded: true },
    { model: 'b', config: named('b', 1), wasLoaded: isBLoaded },
  ];
  const options = { clock: new VirtualClock(), restore: 'config', loadTimeoutMs: 1000, settleTimeoutMs: 1000 } as const;
  return { served, control: createControl(served, originals, { ...options, mayUnload }) };
}

/** The same with the ensemble `e` over both. */
function pipeline() {
  const served = new SmallServer();
  const configs = { a: named('a', 1), b: named('b', 1), e: over('e', 'a', 'b') };
  for (const [name, config] of Object.entries(configs)) served.loaded.set(name, config);
  const originals = Object.entries(configs).map(([model, config]) => ({ model, config, wasLoaded: true }));
  const options = { clock: new VirtualClock(), restore: 'config', loadTimeoutMs: 1000, settleTimeoutMs: 1000 } as const;
  return { served, control: createControl(served, originals, { ...options, mayUnload: true }) };
}

describe('control over a set of models', () => {
  it('changes those that a candidate has, and looks at no other', async () => {
    const { served, control } = controlled();
    expect((await control.apply(toCandidate(named('b', 2)), never)).change).toBe('in-place');
    expect([served.calls, served.loaded.get('a')]).toEqual([['load b'], named('a', 1)]);
    served.loaded.delete('a');
    expect(await control.changed(never)).toBeNull();
    served.loaded.set('b', named('b', 7));
    expect(await control.changed(never)).toMatch(/^'b': instance_group/);
    await expect(control.apply(toCandidate(named('c', 2)), never)).rejects.toThrow(/'c' is not among/);
  });

  it('applies a candidate of several models as one', async () => {
    const { served, control } = controlled();
    const models = { a: { ...named('a', 2), max_batch_size: 8 }, b: named('b', 2) };
    const both = { ...toCandidate(models.a), value: { models } };
    expect((await control.apply(both, never)).change).toBe('full');
    expect([...served.loaded.values()]).toEqual([models.a, models.b]);
    expect((await control.apply(both, never)).change).toBe('none');
  });

  it('unloads the others for what does not fit beside them, where it may', async () => {
    const large = toCandidate({ ...named('b', 3), max_batch_size: 8 });
    const { served, control } = controlled();
    served.room = 3;
    await control.apply(large, never);
    expect([...served.loaded.keys()]).toEqual(['b']);
    expect(await control.restore()).toMatchObject({ verified: true });
    expect([...served.loaded]).toEqual(
      expect.arrayContaining([
        ['a', named('a', 1)],
        ['b', named('b', 1)],
      ]),
    );
    const shared = controlled({ mayUnload: false });
    shared.served.room = 3;
    await expect(shared.control.apply(large, never)).rejects.toMatchObject({
      kind: 'out-of-memory',
    });
    expect([...shared.served.loaded.keys()]).toEqual(['a', 'b']);
  });

  it('makes the changes that give room first, and has the ensemble away only where no room is left', async () => {
    const { served, control } = pipeline();
    const set = (a: number, b: number, batch = 8) => {
      const models = { a: { ...named('a', a), max_batch_size: 8 }, b: { ...named('b', b), max_batch_size: batch } };
      return { ...toCandidate(models.a), value: { models } };
    };
    await control.apply(set(3, 1), never);
    served.calls.length = 0;
    // Room for either copy beside what is there, if the other one has shrunk.
    served.room = 6;
    await control.apply(set(1, 4), never);
    expect(served.calls).toEqual(['load a', 'load b', 'load e']);
    // None for both copies of b.
    served.calls.length = 0;
    await control.apply(set(1, 5, 16), never);
    expect(served.calls).toEqual(['load b', 'unload e', 'load b', 'unload b', 'load b', 'load e']);
    expect([...served.loaded.keys()].sort()).toEqual(['a', 'b', 'e']);
    served.calls.length = 0;
    await expect(control.apply(set(1, 6, 16), never)).rejects.toMatchObject({ kind: 'out-of-memory' });
    expect(served.calls).toEqual(['load b', 'load e']);
    await expect(control.apply(set(1, 9), never)).rejects.toMatchObject({ kind: 'out-of-memory' });
    expect(served.loaded.get('b')?.instance_group?.[0]?.count).toBe(5);
    expect(served.loaded.has('e')).toBe(true);
    expect(await control.restore()).toMatchObject({ verified: true });
    expect(served.calls.at(-1)).toBe('load e');
  });

  it('puts each back as it was, and says what became of each where one cannot be', async () => {
    const { served, control } = controlled({ isBLoaded: false });
    await control.apply(toCandidate(named('b', 2)), never);
    await control.apply(toCandidate(named('a', 2)), never);
    served.failing = 'a';
    await expect(control.restore()).rejects.toMatchObject({
      code: 'RESTORE_FAILED',
      message: "'a' could not be put back as it was: nothing answers; 'b' is unloaded again, as it was before",
    });
    served.failing = null;
    expect(await control.restore()).toMatchObject({
      how: 'config',
      verified: true,
      detail: "'a' has its original config again; 'b' is unloaded again, as it was before",
    });
    expect([...served.loaded]).toEqual([['a', named('a', 1)]]);
  });
});
