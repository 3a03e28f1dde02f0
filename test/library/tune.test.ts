import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { startEmulator } from '#emulator/start-emulator.ts';
import { type Summary, type TuneEvent, type TuneOptions, tune } from '#library/index.ts';
import { connectGrpc } from '#triton/control/connect.ts';
import { smallProfile } from '../support/emulator.ts';
import { freshDirectory, recordsOf, summaryOf } from '../support/run-directory.ts';

const emulator = await startEmulator({ profile: smallProfile() });
afterAll(() => emulator.close());

const quick: TuneOptions = { model: 'm', url: emulator.grpcUrl, concurrency: { low: 1, high: 2 }, precision: 20 };

const instancesServed = async (): Promise<number | undefined> => {
  const client = connectGrpc(emulator.grpcUrl);
  try {
    return (await client.modelConfig('m')).instance_group?.[0]?.count;
  } finally {
    await client.close();
  }
};

describe('the library', { timeout: 180_000 }, () => {
  it('tunes without a terminal: events, documents, the summary that they hold, and no command line', async () => {
    const output = await freshDirectory();
    const events: TuneEvent[] = [];
    const notes: string[] = [];
    const listeners = () => process.listenerCount('SIGINT') + process.listenerCount('SIGTERM');
    const before = listeners();
    let during = before;
    const summary: Summary = await tune(
      { ...quick, maxTrials: 1, latencyBudget: 1000, output },
      {
        onEvent: (event) => {
          during = Math.max(during, listeners());
          events.push(event);
        },
        onNote: (line) => notes.push(line),
      },
    );
    expect(summary).toEqual(await summaryOf(output));
    expect(summary).toMatchObject({ model: 'm', feasible: true, interrupted: false, restored: { verified: true } });
    expect(summary.budget).toEqual({ percentile: 99, latencyMs: 1000 });
    expect(events[0]).toMatchObject({
      type: 'study-started',
      spec: { goal: { latencyBudgetMs: 1000, percentile: 99 } },
    });
    const last = events.at(-1);
    expect(last).toMatchObject({ type: 'documents-written', summary });
    const config = last?.type === 'documents-written' ? last.files.config : undefined;
    // Whether the one trial is better depends on the machine.
    if (summary.verdict === 'nothing-better') expect(config).toBeNull();
    else expect(await readFile(config as string, 'utf8')).toContain('name: "m"');
    const levels = events.flatMap((event) => (event.type === 'trial-measured' ? [event.measurement.level.value] : []));
    expect(levels.length).toBeGreaterThan(0);
    expect(levels.every((level) => level <= 2)).toBe(true);
    expect(during).toBe(before);
    // Nothing of the calling program's command line.
    expect((await recordsOf(output))[0]).toMatchObject({ type: 'study-started', commandLine: [] });
    expect(await readFile(join(output, 'report.html'), 'utf8')).toMatch(/run by a program, through the library/);
  });

  it('ends in order when the signal aborts: the model is back, and the summary is of what was found', async () => {
    const controller = new AbortController();
    const summary = await tune(
      { ...quick, output: await freshDirectory() },
      {
        signal: controller.signal,
        onEvent: (event) => {
          if (event.type === 'trial-applied' && event.trial === 1) controller.abort();
        },
      },
    );
    expect(summary).toMatchObject({ interrupted: true, restored: { verified: true } });
    expect(summary.baseline?.throughput.value).toBeGreaterThan(0);
    expect(await instancesServed()).toBe(1);
  });

  it('starts an emulator for the run from a program that is not the command line', async () => {
    const output = await freshDirectory();
    const options = { model: 'yolov7', launch: 'emulator:demo', latencyBudget: 2000, output } as const;
    const { emulated, best } = await tune({ ...options, concurrency: { low: 8, high: 8 }, maxTrials: 1 });
    expect(emulated).toBe('demo');
    expect([0, 1]).toContain(best?.trial);
  });

  it.each([
    ['an option that there is none of', { ...quick, latencybudget: 3 }, 'USAGE', /no option 'latencybudget'/],
    ['an option of the terminal', { ...quick, ui: 'tui' }, 'USAGE', /no option 'ui'/],
    ['a choice that there is none of', { ...quick, sampler: 'best' }, 'USAGE', /no sampler 'best'/],
    ['no model', { url: emulator.grpcUrl }, 'USAGE', /the model is missing/],
    ['an unknown model', { ...quick, model: 'n' }, 'MODEL_UNKNOWN', /'n'/],
  ])('refuses %s', async (_, options, code, message) => {
    const given = { ...options, output: await freshDirectory() } as TuneOptions;
    await expect(tune(given)).rejects.toMatchObject({
      name: 'TrituneError',
      code,
      message: expect.stringMatching(message),
    });
  });
});
