import { describe, expect, it } from 'vitest';
import { type ControlOptions, createControl } from '#adapter/triton/control.ts';
import type { ControlClient } from '#adapter/triton/control-options.ts';
import { VirtualClock } from '#base/clock.ts';
import { TrituneError } from '#base/errors.ts';
import type { ModelConfig } from '#triton/config/model-config.ts';
import { LoadRefusedError } from '#triton/control/load-refused.ts';
import type { LoadCall } from '#triton/types.ts';
import { configOf, originalConfig, toCandidate } from '../study/builders.ts';

/**
 * One model of a server in memory, with what a real one does: defaults filled in, a slow unload, an
 * override that only an unload ends.
 */
class ServedModel implements ControlClient {
  repository: ModelConfig = originalConfig;
  loaded: ModelConfig | null = originalConfig;
  readonly calls: string[] = [];
  /** Of the last load. */
  timeoutMs: number | undefined;
  readyAfter = 0;
  goneAfter = 2;
  /** False: somebody has deleted its directory; what is loaded serves on. */
  isInRepository = true;
  /** Of the other model. */
  ensembleSteps: readonly string[] = [];
  onLoad: (config: ModelConfig | undefined) => ModelConfig | undefined = (config) => config;

  async index() {
    const state = this.loaded ? 'READY' : this.goneAfter-- > 0 ? 'UNLOADING' : 'UNAVAILABLE';
    const other = { name: 'other', version: '1', state: 'READY', reason: '' } as const;
    return this.isInRepository ? [other, { ...other, name: 'm', state } as const] : [other];
  }

  async modelConfig(model: string): Promise<ModelConfig> {
    const step = this.ensembleSteps.map((model_name) => ({ model_name }));
    if (model === 'other')
      return step.length > 0 ? { name: 'other', ensemble_scheduling: { step } } : { name: 'other' };
    if (!this.loaded) throw new TrituneError('MODEL_UNREADY', 'not loaded', 'load it');
    return { ...this.loaded, default_model_filename: 'model.py' };
  }

  async load(_: string, config?: ModelConfig, call?: LoadCall): Promise<void> {
    this.timeoutMs = call?.timeoutMs;
    this.calls.push(config ? `load ${config.instance_group?.[0]?.count}x${config.max_batch_size}` : 'load');
    if (!this.isInRepository) throw new TrituneError('MODEL_UNKNOWN', "the server has no model 'm'", 'look for it');
    const taken = this.onLoad(config);
    this.loaded = taken ?? this.loaded ?? this.repository;
  }

  async unload(): Promise<void> {
    this.calls.push('unload');
    this.loaded = null;
  }

  async modelReady(): Promise<boolean> {
    return this.loaded !== null && this.readyAfter-- <= 0;
  }
}

const signal = new AbortController().signal;
const original: ModelConfig = { ...originalConfig, default_model_filename: 'model.py' };
const baseline = toCandidate(original);
const candidate = (instances: number, batch: number) =>
  toCandidate({ ...configOf(instances, batch), default_model_filename: 'model.py' });

function controlled(more: Partial<ControlOptions> = {}, wasLoaded = true) {
  const served = new ServedModel();
  const clock = new VirtualClock();
  const options = { clock, restore: 'config', loadTimeoutMs: 1000, settleTimeoutMs: 1000, ...more } as const;
  return { served, clock, control: createControl(served, [{ model: 'm', config: original, wasLoaded }], options) };
}

describe('applying a candidate', () => {
  it('knows a change of nothing, of instances only, and of anything else', async () => {
    const { served, control } = controlled();
    const changes: string[] = [];
    for (const each of [baseline, candidate(2, 4), candidate(2, 8), candidate(2, 8), baseline]) {
      changes.push((await control.apply(each, signal)).change);
    }
    expect(changes).toEqual(['none', 'in-place', 'full', 'none', 'full']);
    expect(served.calls).toEqual(['load 2x4', 'load 2x8', 'load 1x4']);
  });

  it('loads anew when someone else has changed the model, and when it is gone', async () => {
    const { served, control } = controlled();
    served.loaded = configOf(7, 7);
    expect((await control.apply(baseline, signal)).change).toBe('full');
    served.loaded = null;
    expect((await control.apply(baseline, signal)).change).toBe('full');
  });

  it('waits until the model is ready, and no longer than it may', async () => {
    const { served, control, clock } = controlled();
    served.readyAfter = 5;
    expect((await control.apply(candidate(2, 4), signal)).loadMs).toBe(250);
    served.readyAfter = Number.POSITIVE_INFINITY;
    await expect(control.apply(candidate(3, 4), signal)).rejects.toMatchObject({ code: 'MODEL_UNREADY' });
    expect(clock.nowNs()).toBeLessThan(2e9);
  });

  it('takes nothing for known while a load was not seen to end: it may still swap the model', async () => {
    const { served, control } = controlled();
    await control.apply(candidate(2, 8), signal);
    let late: ModelConfig | undefined;
    served.onLoad = (config) => {
      late = config;
      throw new TrituneError('SERVER_TIMEOUT', 'no answer', 'wait');
    };
    await expect(control.apply(candidate(4, 8), signal)).rejects.toMatchObject({ code: 'SERVER_TIMEOUT' });
    served.onLoad = (config) => config;
    // The server still has what was there before, and the next candidate is just that; but the late
    // one is on its way.
    expect((await control.apply(candidate(2, 8), signal)).change).toBe('full');
    expect(late?.instance_group?.[0]?.count).toBe(4);
    expect((await control.apply(candidate(2, 8), signal)).change).toBe('none');
    served.onLoad = () => {
      throw new LoadRefusedError('m', 'out-of-memory', 'no memory');
    };
    await expect(control.apply(candidate(4, 8), signal)).rejects.toMatchObject({ kind: 'out-of-memory' });
    expect((await control.apply(candidate(2, 8), signal)).change).toBe('none');
  });

  describe('that does not fit beside what is served', () => {
    const noRoom = () => {
      throw new LoadRefusedError('m', 'out-of-memory', 'no memory');
    };
    /** Refuses another config while one is loaded. */
    const tight = (served: ServedModel): void => {
      served.onLoad = (config) => (served.loaded === null ? config : noRoom());
    };

    it('unloads that first, where it may, and is told from one that does not fit alone', async () => {
      const { served, control } = controlled({ mayUnload: true });
      tight(served);
      expect((await control.apply(candidate(2, 8), signal)).change).toBe('full');
      expect(served.calls).toEqual(['load 2x8', 'unload', 'load 2x8']);
      served.onLoad = noRoom;
      await expect(control.apply(candidate(9, 16), signal)).rejects.toMatchObject({ kind: 'out-of-memory' });
      // Nothing is served now; the next one needs no room made.
      tight(served);
      served.calls.length = 0;
      expect((await control.apply(candidate(1, 16), signal)).change).toBe('full');
      expect(served.calls).toEqual(['load 1x16']);
    });

    it('is refused where others use the model, and for instances alone, which are added to those that are there', async () => {
      const { served, control } = controlled();
      tight(served);
      await expect(control.apply(candidate(2, 8), signal)).rejects.toMatchObject({ kind: 'out-of-memory' });
      const alone = controlled({ mayUnload: true });
      tight(alone.served);
      await expect(alone.control.apply(candidate(2, 4), signal)).rejects.toMatchObject({ kind: 'out-of-memory' });
      expect([...served.calls, ...alone.served.calls]).not.toContain('unload');
    });

    it('is refused where an ensemble would lose the model', async () => {
      const { served, control } = controlled({ mayUnload: true });
      tight(served);
      served.ensembleSteps = ['m'];
      await expect(control.apply(candidate(2, 8), signal)).rejects.toMatchObject({ kind: 'out-of-memory' });
      expect(served.calls).not.toContain('unload');
      served.ensembleSteps = ['another'];
      await control.apply(candidate(2, 8), signal);
      expect(served.calls).toContain('unload');
    });

    it('is put back so too, whoever uses it: it would stay as it was tried', async () => {
      const { served, control } = controlled();
      await control.apply(candidate(2, 8), signal);
      tight(served);
      expect(await control.restore()).toMatchObject({ how: 'config', verified: true });
      expect(served.calls).toEqual(['load 2x8', 'load 1x4', 'unload', 'load 1x4']);
    });

    it('is not tried beside it a second time, as in a final, which takes two configs in turn', async () => {
      const { served, control } = controlled({ mayUnload: true });
      tight(served);
      for (let round = 0; round < 3; round++) {
        await control.apply(candidate(2, 8), signal);
        await control.apply(baseline, signal);
      }
      const [first, second] = [
        ['load 2x8', 'unload', 'load 2x8'],
        ['load 1x4', 'unload', 'load 1x4'],
      ];
      const again = ['unload', 'load 2x8', 'unload', 'load 1x4'];
      expect(served.calls).toEqual([...first, ...second, ...again, ...again]);
    });
  });

  it('tells whether the model is still as it was applied', async () => {
    const { served, control } = controlled();
    await control.apply(candidate(2, 8), signal);
    expect(await control.changed(signal)).toBeNull();
    served.loaded = configOf(2, 4);
    expect(await control.changed(signal)).toBe('max_batch_size is 4, not 8');
    served.loaded = null;
    expect(await control.changed(signal)).toBe('it is not loaded any more');
  });

  it('takes any answer for a sign of life', async () => {
    const { served, control } = controlled();
    expect(await control.isReachable(signal)).toBe(true);
    for (const [code, isReachable] of [
      ['SERVER_FAILED', true],
      ['SERVER_UNREACHABLE', false],
      ['SERVER_TIMEOUT', false],
    ] as const) {
      served.index = () => Promise.reject(new TrituneError(code, 'no', 'wait'));
      expect(await control.isReachable(signal)).toBe(isReachable);
    }
  });

  it('tells a refusal and a config that is not the one sent', async () => {
    const { served, control } = controlled();
    served.onLoad = () => {
      throw new LoadRefusedError('m', 'out-of-memory', 'no memory');
    };
    await expect(control.apply(candidate(2, 4), signal)).rejects.toMatchObject({ kind: 'out-of-memory' });
    served.onLoad = (config) => ({ ...config, max_batch_size: 2 });
    await expect(control.apply(candidate(2, 4), signal)).rejects.toMatchObject({
      code: 'CONFIG_MISMATCH',
      message: expect.stringContaining('max_batch_size is 2, not 4'),
    });
  });
});

describe('restoring', () => {
  it('does nothing to a model that was not changed, but looks', async () => {
    const { served, control } = controlled();
    expect(await control.restore()).toMatchObject({ how: 'nothing-changed', verified: true });
    expect(served.calls).toEqual([]);
  });

  it('sends the original config, and can be called again', async () => {
    const { served, control } = controlled();
    await control.apply(candidate(2, 8), signal);
    expect(await control.restore()).toMatchObject({ how: 'config', verified: true });
    expect(await control.restore()).toMatchObject({ how: 'nothing-changed' });
    expect(served.calls).toEqual(['load 2x8', 'load 1x4']);
  });

  it('leaves alone what somebody else has set before a new study changed anything, and what it did change puts back', async () => {
    const { served, control } = controlled({ isNewStudy: true });
    const theirs = configOf(3, 8);
    served.loaded = theirs;
    await expect(control.apply(baseline, signal)).rejects.toMatchObject({ code: 'MODEL_LOCKED' });
    expect(await control.restore()).toMatchObject({ how: 'nothing-changed', verified: false });
    expect([served.calls, served.loaded]).toEqual([[], theirs]);
    served.loaded = originalConfig;
    await control.apply(candidate(2, 4), signal);
    served.loaded = theirs;
    expect(await control.restore()).toMatchObject({ how: 'config', verified: true });
    expect(served.calls.at(-1)).toBe('load 1x4');
  });

  it('puts back what an earlier, killed run has left', async () => {
    const { served, control } = controlled();
    served.loaded = configOf(3, 8);
    expect(await control.restore()).toMatchObject({ how: 'config', verified: true });
    expect(served.loaded).toMatchObject(originalConfig);
  });

  it('sends the original even where it seems to be there, after a load that was not seen to end', async () => {
    const { served, control } = controlled();
    served.onLoad = () => {
      throw new TrituneError('SERVER_TIMEOUT', 'no answer', 'wait');
    };
    await expect(control.apply(candidate(2, 8), signal)).rejects.toMatchObject({ code: 'SERVER_TIMEOUT' });
    served.onLoad = (config) => config;
    expect(await control.restore()).toMatchObject({ how: 'config' });
    expect(served.calls).toEqual(['load 2x8', 'load 1x4']);
  });

  it('tries again for a while, then says what to do', async () => {
    const { served, control } = controlled();
    await control.apply(candidate(2, 8), signal);
    let failures = 3;
    served.onLoad = (config) => {
      if (failures-- > 0) throw new TrituneError('SERVER_UNREACHABLE', 'nothing answers', 'start it');
      return config;
    };
    expect(await control.restore()).toMatchObject({ how: 'config', verified: true });
    await control.apply(candidate(2, 8), signal);
    failures = 100;
    await expect(control.restore()).rejects.toMatchObject({
      code: 'RESTORE_FAILED',
      message: expect.stringContaining('nothing answers'),
      hint: expect.stringContaining('tritune restore'),
    });
  });

  it('does not send a load again that took all its time', async () => {
    const { served, clock, control } = controlled({ loadTimeoutMs: 600_000, maxOutageMs: 20_000 });
    await control.apply(candidate(2, 8), signal);
    served.onLoad = () => {
      clock.advance(600_000);
      throw new TrituneError('SERVER_TIMEOUT', 'no answer', 'wait');
    };
    await expect(control.restore()).rejects.toMatchObject({ code: 'RESTORE_FAILED' });
    expect(served.calls).toEqual(['load 2x8', 'load 1x4']);
  });

  it.each([
    ['30 s', [], 10_000, 30_000],
    ['as long again as it had taken', [], 45_000, 45_000],
    ['three times the longest load', [50_000], 10_000, 150_000],
    ['no longer than any load', [500_000], 10_000, 600_000],
  ])('waits %s behind a load that the user ended', async (_, loadsMs, endedAfterMs, timeoutMs) => {
    const { served, clock, control } = controlled({ loadTimeoutMs: 600_000 });
    for (const loadMs of loadsMs) {
      served.onLoad = (config) => {
        clock.advance(loadMs);
        return config;
      };
      await control.apply(candidate(2, 8), signal);
      expect(served.timeoutMs).toBe(600_000);
    }
    const interrupt = new AbortController();
    served.onLoad = () => {
      clock.advance(endedAfterMs);
      interrupt.abort('SIGTERM');
      throw new TrituneError('INTERRUPTED', 'SIGTERM', 'none');
    };
    await expect(control.apply(candidate(2, 16), interrupt.signal)).rejects.toMatchObject({ code: 'INTERRUPTED' });
    served.onLoad = (config) => config;
    expect((await control.restore()).verified).toBe(true);
    expect(served.timeoutMs).toBe(timeoutMs);
  });

  it('reloads from the repository when asked to, and waits until the old one is gone', async () => {
    const { served, control } = controlled({ restore: 'reload' });
    await control.apply(candidate(2, 8), signal);
    expect(await control.restore()).toMatchObject({ how: 'reload', verified: true });
    expect(served.calls).toEqual(['load 2x8', 'unload', 'load']);
    expect(served.loaded).toEqual(originalConfig);
  });

  it('sends the original after a reload that gave another config, because it was an override itself', async () => {
    const { served, control } = controlled({ restore: 'reload' });
    served.repository = configOf(1, 2);
    await control.apply(candidate(2, 8), signal);
    expect(await control.restore()).toMatchObject({ how: 'config', verified: true });
    expect(served.loaded).toMatchObject(originalConfig);
  });

  it('says what is served when the model is not in the repository any more, and does not unload it', async () => {
    const { served, control } = controlled({ restore: 'reload' });
    await control.apply(candidate(2, 8), signal);
    served.isInRepository = false;
    await expect(control.restore()).rejects.toMatchObject({
      code: 'RESTORE_FAILED',
      message: expect.stringContaining("no model 'm'"),
      hint: expect.stringContaining('back into its repository'),
    });
    expect(served.loaded).toMatchObject(configOf(2, 8));
    expect(served.calls).not.toContain('unload');
    served.isInRepository = true;
    expect(await control.restore()).toMatchObject({ how: 'reload', verified: true });
    expect(served.loaded).toEqual(originalConfig);
  });

  it('knows the original that still serves when no load finds the model, unless one may be under way', async () => {
    const { served, control } = controlled();
    served.isInRepository = false;
    await expect(control.apply(candidate(2, 8), signal)).rejects.toMatchObject({ code: 'MODEL_UNKNOWN' });
    expect(await control.restore()).toMatchObject({
      how: 'nothing-changed',
      verified: true,
      detail: expect.stringMatching(/'m' has its original config, .*not in the server's repository/),
    });
    const { served: late, control: unsure } = controlled({ mayBeLoading: true });
    late.isInRepository = false;
    await expect(unsure.restore()).rejects.toMatchObject({ code: 'RESTORE_FAILED' });
  });

  it('unloads a model that was not loaded before', async () => {
    const { served, control } = controlled({}, false);
    await control.apply(candidate(2, 8), signal);
    expect(await control.restore()).toMatchObject({ how: 'unload', verified: true });
    expect(served.loaded).toBeNull();
  });
});
