import { describe, expect, it } from 'vitest';
import { measuredWhole } from '../../src/app/profile/measured-whole.ts';
import type { LevelListener } from '../../src/app/profile/measuring.ts';
import { TrituneError } from '../../src/base/errors.ts';
import type { LevelReport } from '../../src/profiler/level-report.ts';

const listener = { onProgress: () => undefined, onRequest: () => undefined };
const level = { mode: 'concurrency', value: 4 } as const;
const report = { isWithinLimit: true } as LevelReport;

/** A target that loses an agent so often before it measures. */
function losing(times: number, error = new TrituneError('AGENT_FAILED', 'agent a:1: it was lost', 'start it again')) {
  let measured = 0;
  const measure = async (_: unknown, { onProgress }: LevelListener): Promise<LevelReport> => {
    onProgress({ phase: 'warm-up' });
    if (measured++ < times) throw error;
    return report;
  };
  return { measure, measured: () => measured };
}

describe('a level that loses an agent', () => {
  it.each([0, 1, 2])('is measured whole after %i losses, each of them told', async (times) => {
    const lines: string[] = [];
    const target = losing(times);
    expect(await measuredWhole(target, level, listener, (line) => lines.push(line))).toBe(report);
    expect(target.measured()).toBe(times + 1);
    expect(lines).toEqual(
      Array.from({ length: times }, () => 'agent a:1: it was lost; the level is measured again when it is back'),
    );
  });

  it('says how an agent was lost that does not come back', async () => {
    let measured = 0;
    const faults = ['it was lost', 'connection refused'].map(
      (words) => new TrituneError('AGENT_FAILED', words, 'look'),
    );
    const measure = async (): Promise<LevelReport> => {
      throw faults[measured++];
    };
    await expect(measuredWhole({ measure }, level, listener, () => undefined)).rejects.toBe(faults[0]);
    expect(measured).toBe(2);
  });

  it('ends where the agent is lost each time, and at once for any other fault', async () => {
    const always = losing(9);
    const told = () => undefined;
    await expect(measuredWhole(always, level, listener, told)).rejects.toMatchObject({ code: 'AGENT_FAILED' });
    expect(always.measured()).toBe(3);
    const other = losing(9, new TrituneError('SERVER_UNREACHABLE', 'gone', 'look'));
    await expect(measuredWhole(other, level, listener, told)).rejects.toMatchObject({ code: 'SERVER_UNREACHABLE' });
    expect(other.measured()).toBe(1);
  });
});
