import { rm, writeFile } from 'node:fs/promises';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { createProgram } from '#cli/program.ts';
import { createJournal } from '#study/records/journal.ts';
import type { StudyRecord } from '#study/records/records.ts';
import type { ModelConfig } from '#triton/config/model-config.ts';
import { printConfigText } from '#triton/config/printer.ts';
import { RUN_MARK, withRunMark } from '#triton/config/run-mark.ts';
import { createLabProgram } from '../../lab/program.ts';
import { dropIn, runCli, startCli, untilRecorded } from '../support/cli.ts';
import { freshDirectory, recordsOf } from '../support/run-directory.ts';
import { writeJournal } from '../support/write-journal.ts';
import { isOnServer, type OwnStage, runHere, shortRun, stageOf } from './own-stage.ts';

/** In place on the server, and loaded anew. */
const CANDIDATES = { 'its instance count': { instances: 4 }, 'its batch size': { max_batch_size: 4 } } as const;

interface Killed {
  readonly stage: OwnStage;
  readonly output: string;
  readonly original: ModelConfig;
}

/** A run of `m` that was killed while the server had its candidate. */
async function killedRun(candidate: object, models: readonly string[] = ['m']): Promise<Killed> {
  const stage = await stageOf(models);
  const original = await stage.client.modelConfig('m');
  const folder = await freshDirectory();
  const [output, candidates] = [join(folder, "it's a run"), join(folder, 'candidates.json')];
  await writeFile(candidates, JSON.stringify([candidate]));
  const running = startCli([...shortRun('m', stage.url, output), '--candidates', candidates]);
  await untilRecorded(output, running, isOnServer);
  running.child.kill('SIGKILL');
  await running.ended;
  expect(await stage.isOriginal('m')).toBe(false);
  return { stage, output, original };
}

/** The commands that take a config for the original one. */
const commandsOn = (url: string, output: string): Readonly<Record<string, readonly string[]>> => ({
  tune: shortRun('m', url, output),
  'tune --dry-run': [...shortRun('m', url, output), '--dry-run'],
  'tune, several models': shortRun('other,m', url, output),
  record: ['record', '-m', 'm', '-u', url, '-o', join(output, 'grid.json'), '--concurrency', '1'],
  profile: ['profile', '-m', 'm', '-u', url, '-i', 'grpc', '--request-count', '5'],
  capacity: ['capacity', '-m', 'm', '-u', url, '-i', 'grpc', '-l', '50', '--time-budget', '2s'],
  'config --load': ['config', '-m', 'm', '-u', url, '--max-queue-delay', '1ms', '--load'],
  doctor: ['doctor', '-m', 'm', '-u', url],
  'doctor without a model': ['doctor', '-u', url],
});

const refusedProfile = async (url: string, ...more: string[]) => {
  const { code, stderr } = await runHere([...(commandsOn(url, '').profile as string[]), ...more]);
  expect(code).toBe(2);
  return stderr;
};

describe('what a killed run left', { timeout: 120_000 }, () => {
  it.each(Object.entries(CANDIDATES))('of %s is taken for the original config by no command', async (_, candidate) => {
    const { stage, output } = await killedRun(candidate, ['m', 'other']);
    const left = await stage.client.modelConfig('m');
    const next = join(await freshDirectory(), 'next');
    const quoted = `'${output.replace("'", `'\\''`)}'`;
    for (const [name, args] of Object.entries(commandsOn(stage.url, next))) {
      const { code, stdout, stderr } = await runHere(args, name === 'record' ? createLabProgram : createProgram);
      expect.soft([name, code]).toEqual([name, 2]);
      expect.soft(stdout + stderr, name).toContain('MODEL_LEFT_CHANGED: ');
      expect.soft(stdout + stderr, name).toContain(`a run that was killed left 'm' changed (tritune restore ${quoted}`);
    }
    expect(await stage.client.modelConfig('m')).toEqual(left);
    expect(await recordsOf(next)).toEqual([]);
    expect((await runHere(['restore', output])).code).toBe(0);
    expect(await stage.isOriginal('m')).toBe(true);
    expect(await stage.client.runMark('m')).toBeNull();
    expect((await runHere(commandsOn(stage.url, next).profile as string[])).code).toBe(0);
  });

  it('is restored by --restore-first, so that the run after it has the true original', async () => {
    const { stage, output, original } = await killedRun(CANDIDATES['its batch size']);
    const next = join(await freshDirectory(), 'next');
    const { code, stderr } = await runHere([...shortRun('m', stage.url, next), '--restore-first']);
    expect(code).toBe(0);
    expect(stderr).toContain("restored first: 'm' has its original config again");
    expect(await stage.isOriginal('m')).toBe(true);
    const [started] = await recordsOf(next);
    expect(started).toMatchObject({ original: { value: { models: { m: original } } } });
    expect((await recordsOf(output)).at(-1)).toMatchObject({ type: 'model-restored', verified: true });
    const records = JSON.stringify([await recordsOf(output), await recordsOf(next)]);
    expect(records).toContain('max_batch_size');
    expect(records).not.toContain(RUN_MARK);
  });

  it('is found while a load of its final is still under way, after which the server has another config', async () => {
    const { stage, output, original } = await killedRun(CANDIDATES['its instance count']);
    const at = new Date(0).toISOString();
    const failure = { kind: 'init-failed', reason: 'made up' } as const;
    const finished: StudyRecord = { type: 'trial-finished', at, trial: 1, chosen: null, feasible: false, failure };
    await writeJournal(join(output, 'journal.jsonl'), [...(await recordsOf(output)), finished]);
    // The load has not ended yet.
    await stage.client.load('m', original);
    expect(await refusedProfile(stage.url)).toContain('MODEL_LEFT_CHANGED');
  });

  it('is named although its journal is gone, with how to load the config of the repository', async () => {
    const { stage, output, original } = await killedRun(CANDIDATES['its instance count']);
    await rm(output, { recursive: true });
    expect(await refusedProfile(stage.url, '--restore-first')).toMatch(
      /left 'm' changed, and its journal in .* is gone .*tritune config -m m .*--from .*--load/,
    );
    const file = join(await freshDirectory(), 'config.pbtxt');
    await writeFile(file, printConfigText(original));
    expect((await runHere(['config', '-m', 'm', '-u', stage.url, '--from', file, '--load'])).code).toBe(0);
    expect((await runHere(commandsOn(stage.url, '').profile as string[])).code).toBe(0);
  });

  it('on the server from another machine is named with that machine', async () => {
    const stage = await stageOf();
    const config = await stage.client.modelConfig('m');
    const mark = { host: 'gpu-box', directory: '/home/me/runs/m 1' };
    await stage.client.load('m', withRunMark(config, mark));
    // All that anyone reads is the config without it.
    expect(await stage.isOriginal('m')).toBe(true);
    expect(await refusedProfile(stage.url, '--restore-first')).toMatch(
      /a run of tritune on gpu-box changed 'm', and was killed or is still running \(.*tritune restore '\/home\/me\/runs\/m 1' there.*--from/,
    );
    const file = join(await freshDirectory(), 'config.pbtxt');
    await writeFile(file, printConfigText(config));
    expect((await runHere(['config', '-m', 'm', '-u', stage.url, '--from', file, '--load'])).code).toBe(0);
    expect(await stage.client.runMark('m')).toBeNull();
  });

  it('is not taken for a killed one while the run goes on, wherever its lock is', async () => {
    const stage = await stageOf();
    const directory = await freshDirectory();
    const journal = await createJournal(join(directory, 'journal.jsonl'));
    const config = await stage.client.modelConfig('m');
    await stage.client.load('m', withRunMark(config, { host: hostname(), directory }));
    expect(await refusedProfile(stage.url)).toContain(
      `MODEL_LOCKED: another run of tritune is tuning 'm', in ${directory} (`,
    );
    await journal.close();
    expect(await refusedProfile(stage.url)).toContain('MODEL_LEFT_CHANGED');
  });

  it('is only warned of by the drop-in for perf_analyzer', async () => {
    const stage = await stageOf();
    const mark = { host: 'gpu-box', directory: '/home/me/runs/m' };
    await stage.client.load('m', withRunMark(await stage.client.modelConfig('m'), mark));
    const args = ['-m', 'm', '-u', stage.url, '-i', 'grpc', '--request-count', '5'];
    const { code, stderr } = await runCli(args, { program: dropIn });
    expect([code, stderr]).toEqual([
      0,
      expect.stringContaining('warning: MODEL_LEFT_CHANGED: a run of tritune on gpu-box'),
    ]);
  });
});
