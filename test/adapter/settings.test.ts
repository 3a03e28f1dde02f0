import { describe, expect, it } from 'vitest';
import { settingsAdapter } from '#adapter/settings/adapter.ts';
import type { SettingsServer } from '#adapter/settings/server.ts';
import { viewSettings } from '#adapter/settings/space-view.ts';
import { seededRandom } from '#base/random.ts';
import { type Summary, tune } from '#library/index.ts';
import type { Assignment } from '#space/types.ts';
import { adapterConformance } from '#testing/adapter-conformance.ts';
import { callCli } from '../support/call-cli.ts';
import { freshDirectory } from '../support/run-directory.ts';

const rule = { percentile: 99, precision: 0.5 };
const signal = (): AbortSignal => AbortSignal.timeout(10_000);

interface Memory extends SettingsServer {
  serving: Assignment;
}

/** A server in this process, which takes no eight workers. */
function memoryServer(more: Partial<SettingsServer> = {}): Memory {
  const server: Memory = {
    name: 'memory',
    url: 'localhost:1',
    settings: { workers: [1, 2, 4, 8], mode: ['slow', 'fast'] },
    serving: { workers: 1, mode: 'slow' },
    read: async () => server.serving,
    apply: async (settings) => {
      if (settings.workers === 8) throw new Error('no memory for eight');
      server.serving = settings;
    },
    send: () => new Promise((resolve) => setTimeout(resolve, server.serving.mode === 'fast' ? 2 : 6)),
    refuse: ({ workers, mode }) => (workers === 4 && mode === 'slow' ? 'four are never slow' : null),
    ...more,
  };
  return server;
}

describe('an adapter of settings, as every adapter', { timeout: 180_000 }, () => {
  const suite = adapterConformance({
    open: () => settingsAdapter(memoryServer()).open(rule),
    assignments: [
      { workers: 2, mode: 'fast' },
      { workers: 1, mode: 'fast' },
    ],
    illegal: { workers: 4, mode: 'slow' },
    refused: { workers: 8, mode: 'fast' },
    level: { mode: 'concurrency', value: 2 },
  });
  for (const { name, run } of suite) it(name, run);
});

describe('an adapter of settings', () => {
  it('finds out when a server does not do what it was told, and when somebody else has set it', async () => {
    const deaf = await settingsAdapter(memoryServer({ apply: () => Promise.resolve() })).open(rule);
    const built = deaf.adapter.build({ mode: 'fast' });
    if (!built.legal) throw new Error(built.reason);
    await expect(deaf.adapter.apply(built.candidate, signal())).rejects.toMatchObject({ code: 'CONFIG_MISMATCH' });
    await deaf.close();

    const server = memoryServer();
    const { adapter, close } = await settingsAdapter(server).open(rule);
    server.serving = { workers: 2, mode: 'slow' };
    expect(await adapter.changed(signal())).toMatch(/"workers":2/);
    await close();
  });

  it('measures by the built-in client where the study says what to send, and needs that or a send()', async () => {
    const { send, ...silent } = memoryServer();
    const measured: string[] = [];
    const profileAt = async (address: string) => {
      measured.push(address);
      return { measure: () => Promise.reject(new Error('not here')), close: async () => undefined };
    };
    await (await settingsAdapter(silent).open({ ...rule, profileAt })).close();
    expect(measured).toEqual(['localhost:1']);
    await expect(settingsAdapter(silent).open(rule)).rejects.toMatchObject({
      code: 'USAGE',
      hint: expect.stringContaining('--service-kind http'),
    });
  });

  it('cannot be opened where nothing answers, and says that it cannot be reached later', async () => {
    const gone = memoryServer({ read: () => Promise.reject(new Error('refused')) });
    await expect(settingsAdapter(gone).open(rule)).rejects.toMatchObject({ code: 'SERVER_UNREACHABLE' });
    let isThere = true;
    const server = memoryServer({
      read: async () => (isThere ? { workers: 1 } : Promise.reject(new Error('refused'))),
    });
    const { adapter, close } = await settingsAdapter(server).open(rule);
    isThere = false;
    expect(await adapter.isReachable(signal())).toBe(false);
    await close();
  });

  it('puts back what was there before a run that was killed, not what that run has left', async () => {
    const server = memoryServer();
    const killed = await settingsAdapter(server).open(rule);
    const built = killed.adapter.build({ mode: 'fast' });
    if (!built.legal) throw new Error(built.reason);
    await killed.adapter.apply(built.candidate, signal());
    await killed.close();
    const { adapter, close } = await settingsAdapter(server).open(rule, killed.adapter.original);
    expect(adapter.original).toEqual(killed.adapter.original);
    expect((await adapter.apply(built.candidate, signal())).change).toBe('none');
    expect(await adapter.restore()).toMatchObject({ how: 'config', verified: true });
    expect(server.serving).toEqual({ workers: 1, mode: 'slow' });
    await close();
  });

  it('has every combination of the values that are left, and draws from them', async () => {
    const { adapter, settings, close } = await settingsAdapter(memoryServer()).open(rule);
    const all = [...viewSettings(settings, adapter).assignments()];
    expect(all).toHaveLength(8);
    expect(all.slice(0, 2)).toEqual([
      { workers: 1, mode: 'slow' },
      { workers: 1, mode: 'fast' },
    ]);
    const view = viewSettings(settings, adapter, { workers: { pinned: 2 }, mode: { excluded: ['slow'] } });
    expect([...view.assignments()]).toEqual([{ workers: 2, mode: 'fast' }]);
    expect(view.sample(seededRandom(1))).toEqual({ workers: 2, mode: 'fast' });
    expect(view.build({ workers: 1, mode: 'fast' })).toMatchObject({ legal: false });
    const none = viewSettings(settings, adapter, { mode: { excluded: ['slow', 'fast'] } });
    expect(none.complete({}, seededRandom(1))).toBeNull();
    await close();
  });
});

describe('a study by an adapter', { timeout: 120_000 }, () => {
  it('finds the better settings, puts the original ones back, emits them, and can be reported, but not restored by others', async () => {
    const server = memoryServer();
    const output = await freshDirectory();
    const adapter = settingsAdapter(server);
    const options = {
      model: 'words',
      adapter,
      sampler: 'grid',
      concurrency: { low: 2, high: 2 },
      precision: 20,
    } as const;
    const summary: Summary = await tune({ ...options, latencyBudget: 1000, output });
    expect(summary).toMatchObject({ model: 'words', feasible: true, restored: { verified: true } });
    expect(summary.best?.config).toMatchObject({ settings: { mode: 'fast' } });
    expect(summary.counts.failed).toBeGreaterThan(0);
    expect(server.serving).toEqual({ workers: 1, mode: 'slow' });
    expect(await callCli(['report', output])).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(/settings\.json/),
    });
    await expect(tune({ resume: output })).rejects.toMatchObject({
      code: 'UNSUPPORTED',
      message: expect.stringMatching(/the study used the adapter 'memory'/),
    });
    await expect(tune({ resume: output, adapter })).resolves.toMatchObject({ feasible: true });
    expect(await callCli(['restore', '--force', output])).toMatchObject({
      code: 2,
      stderr: expect.stringMatching(/UNSUPPORTED: .*the study used the adapter 'memory'/),
    });
  });
});
