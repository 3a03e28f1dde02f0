import { mkdtemp, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { configDocuments } from '#adapter/triton/documents.ts';
import { holdModels } from '#adapter/triton/hold-model.ts';
import { restoreRun } from '#app/restore-study.ts';
import type { Faults } from '#emulator/faults.ts';
import { closingLines } from '#headless/closing.ts';
import { writeRun } from '#report/write-run.ts';
import { createJournal } from '#study/records/journal.ts';
import { connectGrpc } from '#triton/control/connect.ts';
import { createLabProgram } from '../../lab/program.ts';
import { goalOf, originalConfig, studyStarted } from '../study/builders.ts';
import { emulatorForTest, everyKindProfile } from '../support/emulator.ts';
import { freshDirectory, recordsOf } from '../support/run-directory.ts';
import { everyCandidate, play, space, untilItStops, World } from '../tuner/world.ts';
import { lastLineOf, runHere, shortRun, stageOf, untilOnServer } from './own-stage.ts';

describe('the last line of a run', { timeout: 180_000 }, () => {
  it('says when the model could not be put back, which `restore` can when the reason is gone', async () => {
    const faults: Faults = {};
    const stage = await stageOf(['m'], faults);
    const output = join(await freshDirectory(), 'run');
    const run = runHere(shortRun('m', stage.url, output, '--max-outage', '1s'));
    await untilOnServer(output);
    faults.refuseLoad = () => 'no memory left for it';
    const { code, stdout, stderr } = await run;
    expect(code).toBe(4);
    expect(lastLineOf(stdout)).toMatch(
      /^model {6}NOT as it was: 'm' could not be put back as it was: .*no memory left/,
    );
    expect(lastLineOf(stderr)).toMatch(/^tritune: RESTORE_FAILED: .*no memory left.*tritune restore/);
    expect(await stage.isOriginal('m')).toBe(false);
    faults.refuseLoad = () => null;
    const next = join(await freshDirectory(), 'next');
    expect((await runHere(shortRun('m', stage.url, next))).stderr).toMatch(/MODEL_LEFT_CHANGED: .*tritune restore /);
    expect((await runHere(['restore', output])).code).toBe(0);
    expect(await stage.isOriginal('m')).toBe(true);
  });
});

const ENDLESS = ['--sampler', 'grid', '--max-trials', '300'];

describe('two tuners on one model', { timeout: 90_000 }, () => {
  it('exclude each other on one machine, whatever they call the server, and so do restore and config --load', async () => {
    const stage = await stageOf(['m', 'other']);
    const port = stage.url.slice(stage.url.lastIndexOf(':'));
    const letGo = await holdModels(['m'], { url: stage.url, controlUrl: stage.url });
    const refusal = {
      code: 2,
      stderr: expect.stringMatching(
        new RegExp(`^tritune: MODEL_LOCKED: .*process ${process.pid} on [^\\n]*'m' on localhost${port} `, 'm'),
      ),
    };
    const output = join(await freshDirectory(), 'run');
    try {
      expect(await runHere(shortRun('m', `localhost${port}`, output))).toMatchObject(refusal);
      expect(await recordsOf(output)).toEqual([]);
      const load = ['config', '-m', 'm', '-u', stage.url, '--max-batch-size', '2', '--load'];
      expect(await runHere(load)).toMatchObject(refusal);
      const series = shortRun('other,m', stage.url, output);
      expect(await runHere(series)).toMatchObject({
        code: 2,
        stderr: expect.stringMatching(/MODEL_LOCKED: model 'm': /),
      });
      await expect(
        restoreRun(await killedRun(stage.url), { how: 'config', force: true, tell: () => undefined }),
      ).rejects.toMatchObject({
        code: 'MODEL_LOCKED',
      });
      expect(await stage.isOriginal('m')).toBe(true);
      (await holdModels(['other'], { url: stage.url, controlUrl: stage.url }))();
    } finally {
      letGo();
    }
    (await holdModels(['m'], { url: stage.url, controlUrl: stage.url }))();
  });

  it('find each other out across machines, and the second does not put back what the first had on the server', async () => {
    const stage = await stageOf();
    const [first, second] = [join(await freshDirectory(), 'first'), join(await freshDirectory(), 'second')];
    // What differs in instances only has no mark on the server.
    const space = join(await freshDirectory(), 'space.yaml');
    const drop = '[max_batch_size, dynamic_batching, queue_delay_us, preferred_batch_size]';
    await writeFile(space, `name: instances\nextends: python\ndrop: ${drop}\n`);
    const instances = [...ENDLESS, '--space', space];
    const one = runHere(shortRun('m', stage.url, first, ...instances));
    await untilOnServer(first);
    // To have another directory for such files is to be another machine.
    vi.stubEnv('TMPDIR', await mkdtemp(join(tmpdir(), 'tritune-elsewhere-')));
    onTestFinished(() => void vi.unstubAllEnvs());
    const two = runHere(shortRun('m', stage.url, second, ...instances));
    for (const { code, stderr } of await Promise.all([one, two])) {
      expect(code, stderr).toBe(4);
      expect(stderr).toMatch(/FOREIGN_TRAFFIC|MODEL_LOCKED|CONFIG_MISMATCH/);
    }
    expect(await stage.isOriginal('m')).toBe(true);
  });
});

/** The directory of a run that was killed before it put the model back. */
async function killedRun(url: string): Promise<string> {
  const directory = await freshDirectory();
  const journal = await createJournal(join(directory, 'journal.jsonl'));
  const { server } = studyStarted(goalOf(8));
  await journal.append(studyStarted(goalOf(8), { server: { ...server, url, controlUrl: url } }));
  await journal.close();
  return directory;
}

describe('--protect', { timeout: 180_000 }, () => {
  /**
   * The models `m`, `second`, `seq`, `stream`, and `chain`, which is made of the first two; and
   * what was done to any.
   */
  async function protectedStage() {
    const touched: string[] = [];
    const delayLoadMs: Faults['delayLoadMs'] = ({ model }) => {
      touched.push(model);
      return 0;
    };
    const emulator = await emulatorForTest({ profile: everyKindProfile(), faults: { delayLoadMs } });
    const states = async () => {
      const client = connectGrpc(emulator.grpcUrl);
      const index = await client.index();
      await client.close();
      return index.map(({ name, state }) => `${name} ${state}`);
    };
    const before = await states();
    touched.length = 0;
    return { url: emulator.grpcUrl, touched, isUntouched: async () => expect(await states()).toEqual(before) };
  }

  const refused = (words: string) => ({
    code: 2,
    stderr: expect.stringMatching(new RegExp(`^tritune: USAGE: [^\\n]*${words}: nothing was changed [^\\n]+\\n$`)),
  });

  it('refuses what would change a protected model, before anything is changed', async () => {
    const { url, touched, isUntouched } = await protectedStage();
    const tune = async (models: string, ...protect: string[]) => {
      const output = join(await freshDirectory(), 'run');
      return runHere(shortRun(models, url, output, ...protect.flatMap((name) => ['--protect', name])));
    };
    expect(await tune('m', 'seq,m')).toMatchObject(refused("'m' is protected"));
    expect(await tune('stream,seq', 'm', 'seq')).toMatchObject(refused("'seq' is protected"));
    expect(await tune('m', 'chain')).toMatchObject(refused("'chain' is protected, and 'm' is part of it"));
    expect(await tune('stream,second', 'chain')).toMatchObject(
      refused("model 'second': 'chain' is protected, and 'second' is part of it"),
    );
    expect(await tune('chain', 'second')).toMatchObject(
      refused("'second' is protected, and loading the ensemble 'chain' loads it too"),
    );
    expect(await tune('m', 'sec')).toMatchObject({
      code: 2,
      stderr: expect.stringMatching(
        /MODEL_UNKNOWN: the server has no model 'sec' to protect \(its models are .*second/,
      ),
    });
    expect(await runHere(['record', '-m', 'm', '-u', url, '--protect', 'm'], createLabProgram)).toMatchObject(
      refused("'m' is protected"),
    );
    expect(touched).toEqual([]);
    await isUntouched();
  });

  it('holds for config --load and for restore too, and lets pass what touches none', async () => {
    const { url, touched, isUntouched } = await protectedStage();
    const load = (model: string, protect: string) =>
      runHere(['config', '-m', model, '-u', url, '--max-batch-size', '4', '--load', '--protect', protect]);
    expect(await load('m', 'm')).toMatchObject(refused("'m' is protected"));
    expect(await load('m', 'chain')).toMatchObject({
      ...refused('.*'),
      stderr: expect.stringContaining("'chain' is pro"),
    });
    const restore = (protect: string[]) =>
      killedRun(url).then((run) => restoreRun(run, { how: 'config', force: true, tell: () => undefined, protect }));
    await expect(restore(['m'])).rejects.toMatchObject({
      code: 'USAGE',
      message: "'m' is protected: nothing was changed",
    });
    await expect(restore(['chain'])).rejects.toMatchObject({ code: 'USAGE' });
    expect(touched).toEqual([]);
    await isUntouched();
    expect((await load('seq', 'chain,stream')).code).toBe(0);
    expect(touched).toEqual(['seq']);
  });
});

describe('a best config that does worse than the original in the final', () => {
  it('is not what the run ends with: nothing is emitted, and the original serves', async () => {
    const world = new World();
    const { sampler, hasStopped } = untilItStops(everyCandidate(space));
    const worse = { value: 20, low: 19, high: 21 };
    world.bend = (measurement, config) =>
      hasStopped() && config !== originalConfig ? { ...measurement, throughput: worse } : measurement;
    const { state } = await play({ world, parts: { sampler } });
    if (!state) throw new Error('the run failed');
    expect(world.served).toBe(originalConfig);
    const { summary, files } = await writeRun(state, await freshDirectory(), (best) =>
      configDocuments(best, 'm', (name) => name),
    );
    expect(summary).toMatchObject({
      best: { trial: 0 },
      gain: { ratio: 1 },
      rejected: { trial: expect.any(Number) },
      restored: { verified: true },
    });
    expect(state.finals.map(({ trial }) => trial)).toContain(summary.rejected?.trial);
    expect(summary.rejected?.trial).not.toBe(0);
    expect(summary.verdict).toBe('nothing-better');
    expect(files.config).toBeNull();
    const lines = closingLines(summary, {});
    expect(lines.join('\n')).toContain('result     Your config is as good as anything tried');
    expect(lines.at(-1)).toBe('model      put back');
  });
});
