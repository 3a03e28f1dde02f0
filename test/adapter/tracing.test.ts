import { describe, expect, it } from 'vitest';
import { createTracing } from '#adapter/triton/tracing.ts';
import { TrituneError } from '#base/errors.ts';
import type { TraceSettings } from '#triton/types.ts';
import type { Tracing } from '#tuner/seams.ts';
import { play, World } from '../tuner/world.ts';

const OFF: TraceSettings = { trace_level: ['OFF'], trace_rate: ['1000'], trace_count: ['-1'], log_frequency: ['0'] };

/** A server's trace settings in memory. */
class Traced {
  settings: TraceSettings = { ...OFF, trace_mode: ['triton'], trace_file: ['/disk/trace.json'] };
  readonly levels: string[] = [];
  fails = 0;
  readonly tracing: Tracing = createTracing({
    traceSettings: async () => this.settings,
    changeTraceSettings: async (change) => {
      if (change.trace_level?.[0] === 'OFF' && this.fails-- > 0)
        throw new TrituneError('SERVER_UNREACHABLE', 'gone', 'wait');
      this.levels.push(`${change.trace_level}`);
      this.settings = { ...this.settings, ...change };
      return this.settings;
    },
  });
}

/** Its measurements have a window, in which tracing can begin. */
function windowed(world: World) {
  const { measure } = world.profile;
  const latest = { throughput: 1, latencyMs: 1 } as never;
  return {
    measure: ((applied, level, options) => {
      options.onProgress({ phase: 'window', window: 1, throughput: 1, latencyMs: 1, latest });
      return measure(applied, level, options);
    }) satisfies typeof measure,
  };
}

const traced = (server: Traced, more: Parameters<typeof play>[0] = {}) => {
  const world = more.world ?? new World();
  return play({ ...more, world, parts: { profile: windowed(world), tracing: server.tracing, ...more.parts } });
};

describe('tracing the best', () => {
  it('measures it once more, traced, and puts the settings back as they were', async () => {
    const server = new Traced();
    const { state, records } = await traced(server);
    const plain = await play({});
    expect(server.levels).toEqual(['TIMESTAMPS', 'OFF']);
    expect(server.settings).toMatchObject(OFF);
    const types = records.map(({ type }) => type).slice(-5);
    expect(types).toEqual(['trial-applied', 'tracing-started', 'tracing-ended', 'model-restored', 'study-finished']);
    expect(state?.tracing).toMatchObject({
      started: { trial: state?.best?.number, earlier: OFF, file: '/disk/trace.json' },
      ended: { verified: true },
    });
    expect(state?.counts.measurements).toBe(plain.state?.counts.measurements);
    expect(state?.gain).toEqual({ ...plain.state?.gain, at: state?.gain?.at });
  });

  it('has its time kept where there is a time budget', async () => {
    for (const timeBudgetMs of [40_000, 60_000, 80_000]) {
      const { state } = await traced(new Traced(), { plan: { timeBudgetMs } });
      expect(state?.finished?.stopReason).toContain('the time budget');
      expect(state?.finished?.notes?.join() ?? '').not.toContain('trace');
      expect(state?.tracing?.ended, `${timeBudgetMs}`).toMatchObject({ verified: true });
      expect(state?.finished?.wallSeconds).toBeLessThanOrEqual(timeBudgetMs / 1000 + 4);
    }
  });

  it('puts them back when the run is interrupted while it traces', async () => {
    const whole = await traced(new Traced());
    const start = whole.events.findIndex(({ type }) => type === 'tracing-started');
    for (const later of [1, 2, 3]) {
      const server = new Traced();
      const { records } = await traced(server, { abortAt: start + 1 + later });
      expect(server.settings).toMatchObject(OFF);
      expect(records.at(-1)).toMatchObject({ type: 'study-finished', interrupted: true });
      expect(records.map(({ type }) => type)).toContain('tracing-ended');
    }
  });

  it('tries again while the server is away, and says when it gives up', async () => {
    const once = new Traced();
    once.fails = 2;
    expect((await traced(once)).state?.tracing?.ended).toMatchObject({ verified: true });
    const lost = new Traced();
    lost.fails = 99;
    const { error, records } = await traced(lost);
    expect(error).toMatchObject({ code: 'RESTORE_FAILED', message: expect.stringContaining('trace settings') });
    expect(records.findLast(({ type }) => type === 'tracing-ended')).toMatchObject({ verified: false });
    expect(records.findLast(({ type }) => type === 'model-restored')).toMatchObject({ verified: true });
  });

  it('goes on after a run that was killed while it traced, with the settings from before that', async () => {
    const server = new Traced();
    const whole = await traced(server);
    const earlier = whole.records.slice(
      0,
      whole.records.findIndex(({ type }) => type === 'tracing-ended'),
    );
    await server.tracing.start(1);
    const { state } = await traced(server, { plan: { earlier } });
    expect(server.settings).toMatchObject(OFF);
    expect(state?.tracing?.ended).toMatchObject({ verified: true });
  });

  it.each([
    [{ trace_file: [''] }, 'without a trace file'],
    [{ trace_mode: ['opentelemetry'] }, "mode 'opentelemetry'"],
  ])('is refused with %j', async (settings, words) => {
    const server = new Traced();
    server.settings = { ...server.settings, ...settings };
    const refused = { code: 'UNSUPPORTED', message: expect.stringContaining(words) };
    await expect(server.tracing.look()).rejects.toMatchObject(refused);
  });
});
