import { existsSync } from 'node:fs';
import { readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { type EmulatorProfile, emulatorSchema } from '#emulator/profile/schema.ts';
import { compareConfigs } from '#triton/config/comparison.ts';
import { connectGrpc } from '#triton/control/connect.ts';
import { isOnServer, lastLineOf, runHere } from '../faults/own-stage.ts';
import { startCli, untilRecorded } from '../support/cli.ts';
import { emulatorForTest, everyKindProfile } from '../support/emulator.ts';
import { freshDirectory, recordsOf, summaryOf } from '../support/run-directory.ts';

/**
 * The ensemble `outer` of `first` and `chain`, an ensemble of `m` and `second`; and `caller`, which
 * calls `m` by BLS.
 */
function nestedProfile(): EmulatorProfile {
  const { models, ensembles = [], ...profile } = everyKindProfile();
  const [m] = models;
  const [chain] = ensembles;
  const named = (name: string, more: object = {}) => ({ ...m, config: { ...m?.config, name }, ...more });
  const step = (model_name: string, input: string, output: string) => ({
    model_name,
    model_version: -1,
    input_map: { IN: input },
    output_map: { OUT: output },
  });
  const steps = [step('first', 'IN', 'x'), step('chain', 'x', 'OUT')];
  const outer = { ...chain?.config, name: 'outer', ensemble_scheduling: { step: steps } };
  return emulatorSchema.parse({
    ...profile,
    models: [...models, named('first'), named('caller', { bls: { requests: 'in-turn', stages: [[{ model: 'm' }]] } })],
    ensembles: [...ensembles, { config: outer }],
  });
}

const MODELS = ['m', 'second', 'first', 'chain', 'outer', 'caller'];

/** Without a final. */
const short = ['--time-budget', '2s'];

async function stageOf(candidates: readonly object[], unloaded: readonly string[] = []) {
  const emulator = await emulatorForTest({ profile: nestedProfile() });
  const client = connectGrpc(emulator.grpcUrl);
  const before = new Map(
    await Promise.all(MODELS.map(async (name) => [name, await client.modelConfig(name)] as const)),
  );
  for (const name of unloaded) await client.unload(name);
  const directory = await freshDirectory();
  const list = join(directory, 'candidates.json');
  await writeFile(list, JSON.stringify(candidates));
  const output = join(directory, 'run');
  const given = ['-u', emulator.grpcUrl, '-o', output, '--concurrency', '2:2', '--precision', '30'];
  const isAsBefore = async (): Promise<boolean> => {
    const served = new Set((await client.index()).flatMap(({ name, state }) => (state === 'READY' ? [name] : [])));
    const isSame = async (name: string) =>
      unloaded.includes(name)
        ? !served.has(name)
        : served.has(name) && compareConfigs(before.get(name) ?? {}, await client.modelConfig(name)).length === 0;
    return (await Promise.all(MODELS.map(isSame))).every(Boolean);
  };
  const args = ['tune', ...given, '--sampler', 'manual', '--candidates', list];
  return { client, directory, output, args, given, isAsBefore };
}

describe('a pipeline', { timeout: 180_000 }, () => {
  it('is tuned with all that it is made of; after a kill all of it is put back, and the resumed study ends it', async () => {
    const small = { 'm/max_batch_size': 2, 'second/instances': 2, 'first/instances': 3 };
    const { client, output, args, isAsBefore } = await stageOf([small]);
    const running = startCli([...args, '-m', 'outer']);
    await untilRecorded(output, running, isOnServer);
    running.child.kill('SIGKILL');
    await running.ended;
    expect(await isAsBefore()).toBe(false);
    const batches = await Promise.all(['m', 'chain', 'outer'].map((name) => client.modelConfig(name)));
    expect(batches.map(({ max_batch_size }) => max_batch_size)).toEqual([2, 2, 2]);
    expect(await runHere(['restore', output])).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(/'first' has .*'m' has .*'second' has .*'chain' has .*'outer' has its original/),
    });
    expect(await isAsBefore()).toBe(true);

    const { code, stdout } = await runHere(['tune', '--resume', output]);
    expect(code).toBe(0);
    expect(stdout).toMatch(/trial 1:\n {4}m: max_batch_size=2\n {4}second: instances=2\n {4}first: instances=3\n/);
    expect(lastLineOf(stdout)).toMatch(/^model +'first' has its original config/);
    expect(await isAsBefore()).toBe(true);

    const [started] = await recordsOf(output);
    expect(started).toMatchObject({
      model: 'outer',
      topology: {
        stages: ['first', 'm', 'second'],
        fronts: [{ model: 'outer', steps: [{ stage: 'first' }, { steps: [{ stage: 'm' }, { stage: 'second' }] }] }],
      },
      original: { value: { models: { first: {}, m: {}, second: {} }, others: { chain: {}, outer: {} } } },
      space: { members: { first: { name: 'python' }, m: {}, second: {} } },
    });
    const { topology, best } = await summaryOf(output);
    expect(topology?.stages).toEqual(['first', 'm', 'second']);
    const trial = best?.trial === 1 ? best : null;
    if (trial) {
      expect(trial.models?.m).toMatchObject({
        assignment: { max_batch_size: 2 },
        config: { name: 'm', max_batch_size: 2 },
      });
      expect(trial.models?.outer).toMatchObject({ assignment: {}, config: { max_batch_size: 2 } });
    }
    // Which of the two is the best depends on the machine; only a better one is emitted.
    expect(existsSync(join(output, 'best'))).toBe(trial !== null);
    if (trial) {
      expect(stdout).toMatch(/^config +\S+\/best \(first, m, second/m);
      expect(await readdir(join(output, 'best'))).toEqual(expect.arrayContaining(['first', 'm', 'second']));
      expect(await readFile(join(output, 'best', 'm', 'config.pbtxt'), 'utf8')).toContain('name: "m"');
    }
    expect(await readFile(join(output, 'results.csv'), 'utf8')).toMatch(/m\/max_batch_size,second\/instances/);
    expect((await runHere(['report', output])).code).toBe(0);
  });

  it('that was not loaded is unloaded again, with what was loaded for it alone', async () => {
    const { output, args, isAsBefore } = await stageOf([{ 'first/instances': 2 }], ['outer', 'first']);
    expect(await isAsBefore()).toBe(true);
    expect((await runHere([...args, ...short, '-m', 'outer'])).code).toBe(0);
    expect(await isAsBefore()).toBe(true);
    expect((await recordsOf(output))[0]).toMatchObject({ wasLoaded: false, unloadedOthers: ['first'] });
  });

  it('takes the space of an ensemble for each of its models, and names a model that it has not', async () => {
    const { directory, given } = await stageOf([]);
    const space = join(directory, 'of-ensemble.yaml');
    const plan = async (members: string) => {
      await writeFile(space, `members: ${members}`);
      return runHere(['tune', ...given, '-m', 'outer', '--space', space, '--dry-run']);
    };
    const { stdout } = await plan('{ chain: { parameters: { instances: [1, 2] } } }');
    for (const model of ['m', 'second']) expect(stdout).toContain(`2 valid candidates for model '${model}'`);
    expect(stdout).not.toContain("2 valid candidates for model 'first'");
    expect(await plan('{ chian: { parameters: { instances: [1] } } }')).toMatchObject({
      code: 2,
      stderr: expect.stringMatching(/SPACE_INVALID: a search space names 'chian', which is not in the study/),
    });
  });

  it('of a BLS model has the models that are named, each with a space of its own', async () => {
    const { directory, given, output, args, isAsBefore } = await stageOf([{ 'caller/instances': 2, 'm/instances': 2 }]);
    const space = join(directory, 'space.yaml');
    await writeFile(space, 'members: { m: { parameters: { instances: [1, 2] } } }');
    const asked = ['-m', 'caller', '--bls-composing', 'm', '--space', space];
    expect((await runHere([...args, ...short, ...asked])).code).toBe(0);
    expect(await isAsBefore()).toBe(true);
    expect((await recordsOf(output))[0]).toMatchObject({
      topology: { stages: ['caller', 'm'], calls: { caller: ['m'] } },
      space: { members: { caller: { name: 'python' }, m: { parameters: { instances: {} } } } },
    });
    const dry = await runHere(['tune', ...given, ...asked, '--dry-run']);
    expect(dry.stdout).toMatch(/for model 'caller'[\s\S]*2 valid candidates for model 'm'/);
    expect(await isAsBefore()).toBe(true);
    const wrong = await runHere([
      'tune',
      ...given,
      '-o',
      join(directory, 'wrong'),
      '-m',
      'caller',
      '--bls-composing',
      'chain=m',
    ]);
    expect(wrong).toMatchObject({ code: 2, stderr: expect.stringMatching(/'chain' is not in this study/) });
  });

  it('keeps models as large as an ensemble of somebody else needs them', async () => {
    const { args, output } = await stageOf([{ 'm/max_batch_size': 2 }]);
    const asked = ['-m', 'caller', '--bls-composing', 'm'];
    expect(await runHere([...args, ...asked])).toMatchObject({
      code: 2,
      stderr: expect.stringMatching(/m: ensemble 'chain' takes batches of 8, and so must every model in it/),
    });
    expect(await readdir(output).catch(() => [])).toEqual([]);
  });
});
