import { describe, expect, it } from 'vitest';
import type { LevelListener, LevelTarget } from '#app/profile/measuring.ts';
import { type OutlastRule, openOutlasting } from '#app/profile/outlast.ts';
import { VirtualClock } from '#base/clock.ts';
import { type ErrorCode, TrituneError } from '#base/errors.ts';
import { NS_PER_S } from '#base/units.ts';
import type { LevelReport } from '#profiler/level-report.ts';
import type { ProfileProgress } from '#profiler/progress.ts';

const level = { mode: 'concurrency', value: 4 } as const;
const report = { isWithinLimit: true } as LevelReport;
const window = { phase: 'window', throughput: 10 } as ProfileProgress;

type Step = ErrorCode | 'warm-up' | 'window' | 'done';

/**
 * A target that takes these steps, level after level: it makes progress, fails, or is done. Counts
 * how often it was opened and closed.
 */
function stepping(steps: readonly Step[]) {
  const [todo, counts] = [[...steps], { opened: 0, closed: 0, again: 0 }];
  const measure = async (_: unknown, { onProgress }: LevelListener): Promise<LevelReport> => {
    for (;;) {
      const step = todo.shift() ?? 'done';
      if (step === 'done') return report;
      if (step === 'window') onProgress(window);
      else if (step === 'warm-up') onProgress({ phase: 'warm-up' });
      else throw new TrituneError(step, 'it was lost', 'start it again');
    }
  };
  const open = async (): Promise<LevelTarget> => {
    counts.opened++;
    const close = async (): Promise<void> => void counts.closed++;
    return { serviceKind: 'HTTP', isDecoupled: false, assumptions: [], measure, close };
  };
  return { open, counts };
}

async function measured(steps: readonly Step[], change: Partial<OutlastRule> = {}) {
  const { open, counts } = stepping(steps);
  const [clock, lines]: [VirtualClock, string[]] = [new VirtualClock(), []];
  const rule = { maxOutageSeconds: 20, hasAnswered: true, clock, signal: new AbortController().signal };
  const target = await openOutlasting(open, { ...rule, tell: (line) => lines.push(line), ...change });
  const listener = { onProgress: () => undefined, onRequest: () => undefined, onAgain: () => void counts.again++ };
  const outcome = await target.measure(level, listener).catch((error: TrituneError) => error.code);
  await target.close();
  return { outcome, lines, counts, seconds: clock.nowNs() / NS_PER_S };
}

describe('a level that loses an agent', () => {
  it.each([0, 1, 2])('is measured whole after %i losses, each of them told', async (times) => {
    const steps = Array.from({ length: times }, (): Step[] => ['warm-up', 'AGENT_FAILED']).flat();
    expect(await measured(steps)).toEqual({
      outcome: report,
      lines: Array.from({ length: times }, () => 'it was lost; the level is measured again when it is back'),
      counts: { opened: 1, closed: 1, again: times },
      seconds: 0,
    });
  });

  it('ends where the agent does not come back, or is lost each time', async () => {
    const gone = await measured(['AGENT_FAILED', 'AGENT_FAILED', 'done']);
    expect(gone).toMatchObject({ outcome: 'AGENT_FAILED', counts: { again: 1 } });
    const always = await measured(Array.from({ length: 9 }, (): Step[] => ['warm-up', 'AGENT_FAILED']).flat());
    expect(always).toMatchObject({ outcome: 'AGENT_FAILED', counts: { again: 2 } });
  });
});

describe('a level whose server goes away', () => {
  it('is measured from its start when the server is back, on a target opened anew', async () => {
    const steps: Step[] = ['window', 'SERVER_UNREACHABLE', 'SERVER_UNREACHABLE', 'MODEL_UNREADY', 'window', 'done'];
    const { seconds, ...rest } = await measured(steps);
    expect(rest).toEqual({
      outcome: report,
      lines: ['it was lost: waiting for it, 20 s at most'],
      counts: { opened: 4, closed: 4, again: 3 },
    });
    expect(seconds).toBeGreaterThan(1);
  });

  it('ends after the longest outage, told once', async () => {
    const { outcome, lines, seconds } = await measured(['window', ...Array<Step>(99).fill('SERVER_UNREACHABLE')]);
    expect(outcome).toBe('SERVER_UNREACHABLE');
    expect(lines).toHaveLength(1);
    expect(seconds).toBeCloseTo(20, 6);
  });

  it('ends if it goes away each time', async () => {
    const steps = Array.from({ length: 9 }, (): Step[] => ['window', 'SERVER_UNREACHABLE']).flat();
    expect(await measured(steps)).toMatchObject({ outcome: 'SERVER_UNREACHABLE', counts: { again: 2 } });
  });

  it.each([
    ['never answered', { hasAnswered: false }, ['SERVER_UNREACHABLE', 'done']],
    ['is not to be waited for', { maxOutageSeconds: 0 }, ['window', 'SERVER_UNREACHABLE', 'done']],
    ['fails otherwise', {}, ['window', 'SERVER_FAILED', 'done']],
  ] as const)('ends at once if it %s', async (_, change, steps) => {
    expect(await measured(steps, change)).toMatchObject({ lines: [], seconds: 0, counts: { again: 0 } });
  });

  it('is waited for after its first answer, if it was silent when the target was opened', async () => {
    const steps: Step[] = ['window', 'SERVER_UNREACHABLE', 'done'];
    expect(await measured(steps, { hasAnswered: false })).toMatchObject({ outcome: report });
  });

  it('is not waited for any longer once a person stops', async () => {
    const stop = new AbortController();
    const clock = { nowNs: () => 0, sleep: () => Promise.reject(new Error('aborted')) };
    const tell = (): void => stop.abort('SIGINT');
    const { open } = stepping(['window', 'SERVER_UNREACHABLE']);
    const rule = { maxOutageSeconds: 20, hasAnswered: true, clock, signal: stop.signal, tell };
    const target = await openOutlasting(open, rule);
    const listener = { onProgress: () => undefined, onRequest: () => undefined, onAgain: () => undefined };
    await expect(target.measure(level, listener)).rejects.toMatchObject({ code: 'INTERRUPTED' });
  });
});
