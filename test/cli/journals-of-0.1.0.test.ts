import { appendFile, cp, readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { toModelConfig } from '#space/model-configs.ts';
import { spaceFromJson } from '#space/source/load.ts';
import { foldStudy } from '#study/records/fold.ts';
import { readJournal } from '#study/records/journal.ts';
import { viewSpace } from '#study/search/samplers/space-view.ts';
import type { Summary } from '#study/summary/summary-schema.ts';
import { compareConfigs } from '#triton/config/comparison.ts';
import { connectGrpc } from '#triton/control/connect.ts';
import { callCli } from '../support/call-cli.ts';
import { emulatorForTest, smallProfile } from '../support/emulator.ts';
import { freshDirectory, recordsOf, summaryOf } from '../support/run-directory.ts';

/**
 * Studies of tritune 0.1.0 on its emulator; `killed` ended with its first candidate on the server.
 */
const fixtures = join(import.meta.dirname, '../fixtures/journals-0.1.0');
const studies = ['feasible', 'grid', 'interrupted', 'killed', 'series/a', 'series/b'];
const reported = studies.filter((name) => name !== 'killed');

async function copyOf(name: string): Promise<string> {
  const directory = await freshDirectory();
  await cp(join(fixtures, name), directory, { recursive: true });
  return directory;
}

/** The emulator that `killed` ran on, and its model's config as it was. */
async function serverOfKilled() {
  const emulator = await emulatorForTest({ profile: smallProfile({ config: { name: 'a' } }) });
  const client = connectGrpc(emulator.grpcUrl);
  return { url: emulator.grpcUrl, client, original: await client.modelConfig('a') };
}

/** Sums may be in another order than they were: the last digits are nobody's. */
const rounded = <T>(value: T): T =>
  JSON.parse(JSON.stringify(value), (_, each: unknown) =>
    typeof each === 'number' ? Number(each.toPrecision(12)) : each,
  ) as T;

/**
 * Figures of one measurement. Another round of the final may represent a trial now: the median by
 * precision.
 */
const OF_A_ROUND = ['budgetLatencyMs', 'compared', 'latencyMs', 'stable', 'throughput', 'server', 'load'];

/** Figures at the usual speed of the machine, and what is judged by them. */
const AT_USUAL_SPEED = ['compared', 'feasible', 'chance'];
/** The ratio within which speeds are estimated as they were. */
const MAX_SPEED_RATIO = 1.15;

interface Reported {
  readonly best?: object | null;
  readonly speed?: Summary['speed'];
}

/**
 * Returns what must not change since: a margin is by the figure shown now, predictions and speeds
 * are of today's models, and a series had finals of several rounds.
 */
function lastingOf(reported: Reported, isOfSeries: boolean): object {
  const { best, speed } = reported;
  const changing = ['margin', 'speed', ...((speed?.corrected ?? 0) > 0 ? AT_USUAL_SPEED : [])];
  const kept = best && Object.entries(best).filter(([name]) => !isOfSeries || !OF_A_ROUND.includes(name));
  const lasting = { ...reported, ...(kept && { best: Object.fromEntries(kept) }) };
  return JSON.parse(
    JSON.stringify(lasting, (name, value: unknown) => {
      if (name !== 'predicted') return changing.includes(name) ? undefined : value;
      const { from, extrapolates } = value as { readonly from: number; readonly extrapolates: readonly string[] };
      return { from, extrapolates };
    }),
  ) as object;
}

/** Expects two speeds, or two figures at them, to be alike. */
function expectAlike(one: number | null | undefined, other: number | null): void {
  const ratio = (one ?? Number.NaN) / (other ?? Number.NaN);
  expect(Math.max(ratio, 1 / ratio)).toBeLessThan(MAX_SPEED_RATIO);
}

describe('a journal of 0.1.0', { timeout: 120_000 }, () => {
  it.each(studies)('has the candidates that its space has now: %s', async (name) => {
    const records = await readJournal(join(fixtures, name, 'journal.jsonl'));
    const { started } = foldStudy(records);
    expect(started).toMatchObject({ schemaVersion: 2, adapter: 'triton', original: { assignment: {} } });
    expect(toModelConfig(started.original).name).toBe(started.model);
    const view = viewSpace(spaceFromJson(started.space), started.original);
    const candidates = records.flatMap((record) => (record.type === 'trial-started' ? [record] : []));
    expect(candidates.length).toBeGreaterThan(0);
    for (const { role, candidate } of candidates) {
      const built = view.build(candidate.assignment);
      if (role === 'baseline') expect(candidate).toEqual(started.original);
      else expect(built).toEqual({ legal: true, candidate });
    }
  });

  it.each(reported)('is reported as it was: %s', async (name) => {
    const directory = await copyOf(name);
    const before = await summaryOf(directory);
    expect(await callCli(['report', directory])).toMatchObject({ code: 0 });
    // A later version may say more, and explain the same figures better.
    const { explanation, ...figures } = before;
    const after = await summaryOf(directory);
    const isOfSeries = name.startsWith('series');
    expect(rounded(after)).toMatchObject(rounded(lastingOf(figures, isOfSeries)));
    for (const figure of ['usual', 'lowest', 'highest'] as const)
      expectAlike(after.speed[figure], before.speed[figure]);
    if (before.speed.corrected === 0) expect(after.speed).toMatchObject({ corrected: 0, changes: [] });
    else if (before.best?.compared && !isOfSeries) {
      expectAlike(after.best?.compared?.throughput.value, before.best.compared.throughput.value);
      expectAlike(after.best?.compared?.budgetLatencyMs.value, before.best.compared.budgetLatencyMs.value);
    }
    expect(after.explanation?.trial).toBe(explanation?.trial);
    // Where the original is the best, or the nearest to the limits, nothing is emitted.
    const isEmitted = after.best?.trial !== after.baseline?.trial;
    const file = join(directory, 'best', before.model, 'config.pbtxt');
    expect(
      await stat(file).then(
        ({ size }) => size > 0,
        () => false,
      ),
    ).toBe(isEmitted);
  });

  it('is one of a series, too', async () => {
    const directory = await copyOf('series');
    const before = await readFile(join(directory, 'summary.json'), 'utf8');
    expect(await callCli(['report', directory])).toMatchObject({ code: 0 });
    const after = JSON.parse(await readFile(join(directory, 'summary.json'), 'utf8')) as { models: Reported[] };
    const { models } = JSON.parse(before) as { models: readonly Reported[] };
    expect(after.models).toMatchObject(models.map((model) => lastingOf(model, true)));
  });

  it.each(['feasible', 'interrupted', 'series'])(
    'leaves nothing to restore where the run did that: %s',
    async (name) => {
      const { code, stdout } = await callCli(['restore', await copyOf(name)]);
      expect(code).toBe(0);
      expect(stdout).toMatch(/nothing to do/);
    },
  );

  it('says what to put back', async () => {
    const { url, client, original } = await serverOfKilled();
    try {
      const directory = await copyOf('killed');
      const started = (await readJournal(join(directory, 'journal.jsonl'))).findLast(
        (record) => record.type === 'trial-started',
      );
      if (started?.type !== 'trial-started') throw new Error('no trial was started');
      await client.load('a', toModelConfig(started.candidate));
      expect(compareConfigs(original, await client.modelConfig('a'))).not.toEqual([]);
      const refused = await callCli(['restore', directory, '-u', url]);
      expect(refused).toMatchObject({
        code: 2,
        stderr: expect.stringContaining('has no mark of yours: tritune 0.2.0'),
      });
      expect(refused.stderr).toContain(`contacts ${url}`);
      expect(refused.stderr).toMatch(/RUN_UNTRUSTED: .*restore .* --trust-run/);
      expect(compareConfigs(original, await client.modelConfig('a'))).not.toEqual([]);
      expect(await callCli(['restore', directory, '-u', url, '--trust-run'])).toMatchObject({
        code: 0,
        stdout: expect.stringContaining("'a' has its original config again"),
      });
      expect(compareConfigs(original, await client.modelConfig('a'))).toEqual([]);
      expect((await callCli(['restore', directory, '-u', url])).stdout).toMatch(/nothing to do/);
    } finally {
      await client.close();
    }
  });

  it('does not take the config of somebody else for that of a candidate that was never built', async () => {
    const { url, client, original } = await serverOfKilled();
    try {
      const directory = await copyOf('killed');
      const candidate = { fingerprint: 'illegal-2', assignment: { max_batch_size: 9 }, config: {} };
      const trial = { at: '2026-11-25T22:23:00.000Z', runMs: 9_000, trial: 2 };
      const lines = [
        { ...trial, type: 'trial-finished', trial: 1, chosen: null, feasible: false, failure: null },
        { ...trial, type: 'trial-started', role: 'search', candidate, levels: { kind: 'search' } },
      ];
      await appendFile(join(directory, 'journal.jsonl'), lines.map((line) => `${JSON.stringify(line)}\n`).join(''));
      await client.load('a', { ...original, max_batch_size: 7 });
      expect(await callCli(['restore', directory, '-u', url, '--trust-run'])).toMatchObject({
        code: 4,
        stderr: expect.stringContaining('somebody has changed the config of'),
      });
    } finally {
      await client.close();
    }
  });

  it('goes on with --resume', async () => {
    const { url, client, original } = await serverOfKilled();
    try {
      const directory = await copyOf('killed');
      const before = await readFile(join(directory, 'journal.jsonl'), 'utf8');
      const { code, stderr } = await callCli([
        ...['tune', '--resume', directory, '--trust-run', '-u', url, '--max-trials', '1', '--ui', 'none'],
      ]);
      expect([0, 3], stderr).toContain(code);
      expect((await readFile(join(directory, 'journal.jsonl'), 'utf8')).startsWith(before)).toBe(true);
      const records = await recordsOf(directory);
      expect(records.filter(({ type }) => type === 'study-resumed')).toHaveLength(1);
      const summary = await summaryOf(directory);
      expect(summary).toMatchObject({ model: 'a', interrupted: false, counts: { trials: 2 } });
      expect(compareConfigs(original, await client.modelConfig('a'))).toEqual([]);
      expect(await callCli(['report', directory])).toMatchObject({ code: 0 });
      expect(await summaryOf(directory)).toEqual(summary);
    } finally {
      await client.close();
    }
  });
});
