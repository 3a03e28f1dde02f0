import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { writeRun } from '#report/write-run.ts';
import { foldStudy } from '#study/records/fold.ts';
import { checkRecord } from '#study/records/record-schema.ts';
import type { StudyRecord } from '#study/records/records.ts';
import { makeSampler, type SamplerName } from '#study/search/samplers/registry.ts';
import { adapterConformance } from '#testing/adapter-conformance.ts';
import { tune } from '#tuner/tune.ts';
import { goalOf, studyStarted } from '../study/builders.ts';
import { callCli } from '../support/call-cli.ts';
import { freshDirectory } from '../support/run-directory.ts';
import { writeJournal } from '../support/write-journal.ts';
import { KnobServer, knobSpace } from './knobs.ts';

const goal = goalOf(20);
const levels = { mode: 'concurrency', low: 1, high: 32 } as const;

/** A whole study of the server that is no Triton: what its journal gives back. */
async function studied(sampler: SamplerName): Promise<readonly StudyRecord[]> {
  const { adapter, clock } = new KnobServer();
  const {
    type: _,
    at: __,
    ...study
  } = studyStarted(goal, {
    adapter: adapter.name,
    model: 'knobs',
    server: adapter.identity,
    original: adapter.original,
    levels,
  });
  const lines: string[] = [];
  await tune(
    {
      study,
      maxTrials: 12,
      timeBudgetMs: Number.POSITIVE_INFINITY,
      finalRounds: 2,
      allowForeignTraffic: false,
      earlier: [],
    },
    {
      adapter,
      clock,
      sampler: makeSampler(sampler, knobSpace, { seed: 1, goal, levels }),
      journal: { append: async (record) => void lines.push(JSON.stringify(record)) },
    },
    () => undefined,
    new AbortController().signal,
  );
  return lines.map((line) => {
    const checked = checkRecord(JSON.parse(line));
    if ('fault' in checked) throw new Error(checked.fault);
    return checked.record;
  });
}

describe('a server that is no Triton', () => {
  const subject = {
    open: async () => ({ adapter: new KnobServer().adapter, close: async () => undefined }),
    assignments: [
      { cache: 'large', threads: 2 },
      { cache: 'large', threads: 4 },
    ],
    illegal: { cache: 'small', threads: 8 },
    refused: { cache: 'small', threads: 4 },
    level: { mode: 'concurrency', value: 4 },
  } as const;
  it.each(adapterConformance(subject).map(({ name, run }) => [name, run] as const))('%s', async (_, run) => {
    await run();
  });

  it.each<SamplerName>(['grid', 'random', 'tpe'])('is tuned by the sampler %s', async (sampler) => {
    const state = foldStudy(await studied(sampler));
    expect(state.started).toMatchObject({ adapter: 'knobs', original: { value: { threads: 1, cache: 'small' } } });
    expect(state.best?.candidate.value).toEqual({ threads: 8, cache: 'large' });
    expect(state.restored?.verified).toBe(true);
  });

  it('is searched by the queueing sampler too, to which each of its settings is a category', async () => {
    const state = foldStudy(await studied('queueing'));
    const searched = state.trials.filter(({ role }) => role === 'search');
    expect(searched.length).toBeGreaterThan(0);
    expect(searched.every(({ measurements, failure }) => measurements.length > 0 || failure !== null)).toBe(true);
    expect(state.finished?.interrupted).toBe(false);
    expect(state.restored?.verified).toBe(true);
  });

  it('has documents, with its own in the place of a config.pbtxt', async () => {
    const directory = await freshDirectory();
    const { adapter } = new KnobServer();
    const { summary, files } = await writeRun(foldStudy(await studied('grid')), directory, adapter.documents);
    expect(summary.best).toMatchObject({ config: { threads: 8, cache: 'large' } });
    expect(files.config).toBe(join(directory, 'best', 'knobs.json'));
    expect(JSON.parse(await readFile(files.config as string, 'utf8'))).toEqual({ threads: 8, cache: 'large' });
    expect(await readFile(files.report, 'utf8')).toContain('<code>threads</code>: 1 → <strong>8</strong>');
  });

  it('is reported by the command line, which says that it cannot restore or resume it', async () => {
    const directory = await freshDirectory();
    await writeJournal(join(directory, 'journal.jsonl'), await studied('grid'));
    expect(await callCli(['report', directory])).toMatchObject({ code: 0 });
    for (const args of [
      ['restore', '--force', directory],
      ['tune', '--resume', directory, '--ui', 'none'],
    ]) {
      const { code, stderr } = await callCli(args);
      expect({ code, stderr }).toMatchObject({
        code: 2,
        stderr: expect.stringMatching(/UNSUPPORTED: the study used the adapter 'knobs'/),
      });
    }
  });
});
