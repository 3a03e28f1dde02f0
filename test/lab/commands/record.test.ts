import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { connectGrpc } from '#triton/control/connect.ts';
import { toGrid } from '../../../lab/problems/problems.ts';
import { checkRecording, type Recording } from '../../../lab/recording/recording.ts';
import { goalOf, studyStarted } from '../../study/builders.ts';
import { callLab } from '../../support/call-cli.ts';
import { startCli, untilRecorded } from '../../support/cli.ts';
import { emulatorForTest, smallProfile } from '../../support/emulator.ts';
import { freshDirectory, recordsOf } from '../../support/run-directory.ts';
import { writeJournal } from '../../support/write-journal.ts';

const labProgram = join(import.meta.dirname, '../../../lab/tritune-lab.ts');

const SPACE = 'name: four\nparameters:\n  instances: [1, 2]\n  max_batch_size: [4, 8]\n  dynamic_batching: [on]\n';

/**
 * A recording of an emulator's model `m`: four candidates beside the original config, at levels 1
 * and 4 unless told otherwise.
 */
async function recorder(url: string, levels = '1,4') {
  const directory = await freshDirectory();
  const [space, grid] = [join(directory, 'space.yaml'), join(directory, 'grid.json')];
  await writeFile(space, SPACE);
  const quick = ['--concurrency', levels, '--windows', '2', '--window', '20ms'];
  return {
    grid,
    journal: join(directory, 'grid.recording'),
    args: ['record', '-m', 'm', '-u', url, '--space', space, ...quick, '-o', grid],
    read: async (): Promise<Recording> => checkRecording(JSON.parse(await readFile(grid, 'utf8')), grid),
  };
}

const modelConfig = async (url: string) => {
  const client = connectGrpc(url);
  try {
    return await client.modelConfig('m');
  } finally {
    await client.close();
  }
};

/** The points that a journal has measurements of, as `fingerprint level`. */
async function measuredPoints(directory: string): Promise<string[]> {
  const records = await recordsOf(directory);
  const names = new Map<number, string>();
  return records.flatMap((record) => {
    if (record.type === 'trial-started') names.set(record.trial, record.candidate.fingerprint);
    return record.type === 'trial-measured' ? [`${names.get(record.trial)} ${record.measurement.level.value}`] : [];
  });
}

describe('tritune-lab record', () => {
  it('measures everything as often as asked, puts the model back, and writes what bench-search replays', async () => {
    const { grpcUrl } = await emulatorForTest({ profile: smallProfile() });
    const before = await modelConfig(grpcUrl);
    const { args, grid, read } = await recorder(grpcUrl);
    const outcome = await callLab([...args, '--repeats', '2']);
    expect(outcome).toMatchObject({ code: 0, stderr: '' });
    expect(outcome.stdout).toContain('10 points of 5 candidates of m');
    expect(await modelConfig(grpcUrl)).toEqual(before);

    const recording = await read();
    expect(recording).toMatchObject({ complete: true, model: 'm', repeats: 2, levels: { values: [1, 4] } });
    expect(recording).toMatchObject({ server: { emulated: 'small' }, machine: { servedHere: true } });
    expect(recording.candidates[0]).toMatchObject({ assignment: {}, differs: {}, failure: null });
    const points = recording.candidates.flatMap((each) => each.points);
    for (const { readings, throughput, server } of points) {
      expect(readings).toBe(2);
      expect(throughput.low).toBeLessThanOrEqual(throughput.value);
      expect(server?.batches.length).toBeGreaterThan(0);
    }
    const doubled = recording.candidates.find(({ assignment }) => assignment.instances === 2);
    expect(doubled?.differs).toHaveProperty(['instance_group[0].count'], 2);

    const testProblem = toGrid(grid);
    expect([...testProblem.space.assignments()]).toHaveLength(4);
    for (const { assignment, points } of recording.candidates) {
      const built = testProblem.space.build(assignment as { instances: number });
      if (!built.legal) throw new Error(built.reason);
      expect(testProblem.refusal(built.candidate)).toBeNull();
      for (const { level, throughput, server } of points) {
        const truth = testProblem.truth(built.candidate, level);
        expect(truth.throughput).toBe(throughput.value);
        expect(truth.queueUs).toBe(server?.queueUs);
        expect(truth.batches.map(({ size, meanExecutionUs }) => [size, meanExecutionUs])).toEqual(
          server?.batches.map(([size, , us]) => [size, us]),
        );
      }
    }
    expect(testProblem.noise.throughput).toBeGreaterThan(0);

    const contest = await callLab([
      'bench-search',
      '--grid',
      grid,
      '--scenarios',
      '0',
      '--measurements',
      '3',
      '--samplers',
      'queueing,random',
    ]);
    expect(contest).toMatchObject({ code: 0, stderr: '' });
    expect(contest.stdout).toMatch(/recorded on real servers[\s\S]*queueing/);
    expect(contest.stdout).not.toContain('made-up');
  }, 180_000);

  it('is interrupted with the model put back and what there is written, and goes on without repeating a point', async () => {
    const { grpcUrl } = await emulatorForTest({ profile: smallProfile() });
    const before = await modelConfig(grpcUrl);
    const { args, journal, read } = await recorder(grpcUrl);
    const running = startCli(args, { program: labProgram });
    await untilRecorded(journal, running, (record) => record.type === 'trial-finished' && record.trial >= 2);
    running.child.kill('SIGINT');
    const outcome = await running.ended;
    expect(outcome.code).toBe(130);
    expect(outcome.stderr).toContain(`--resume ${journal}`);
    expect(await modelConfig(grpcUrl)).toEqual(before);
    await expect(read()).rejects.toThrow(/is incomplete/);
    const first = await measuredPoints(journal);
    expect(first.length).toBeLessThan(10);

    expect(await callLab(args)).toMatchObject({ code: 2, stderr: expect.stringContaining('OUTPUT_EXISTS') });
    expect(await callLab(['record', '--resume', journal])).toMatchObject({ code: 0, stderr: '' });
    const all = await measuredPoints(journal);
    expect(new Set(all).size).toBe(10);
    expect(all.slice(0, first.length)).toEqual(first);
    expect(all).toHaveLength(10);
    expect((await read()).candidates.flatMap(({ points }) => points)).toHaveLength(10);
    expect(await modelConfig(grpcUrl)).toEqual(before);
  }, 180_000);

  it('writes down what the server refuses, with its words', async () => {
    const faults = { load: [{ what: 'out-of-memory', when: { 'instance_group.count': 2 } }] };
    const { grpcUrl } = await emulatorForTest({ profile: smallProfile({ model: { faults } }) });
    const { args, grid, read } = await recorder(grpcUrl, '1');
    expect(await callLab(args)).toMatchObject({ code: 0 });
    const refused = (await read()).candidates.filter(({ failure }) => failure !== null);
    expect(refused.map(({ assignment }) => assignment.instances)).toEqual([2, 2]);
    expect(refused.every(({ points }) => points.length === 0)).toBe(true);
    const testProblem = toGrid(grid);
    const built = testProblem.space.build(refused[0]?.assignment as { instances: number });
    expect(built.legal && testProblem.refusal(built.candidate)).toMatch(/memory/);
  }, 180_000);

  it('says what it would take, and changes nothing', async () => {
    const { grpcUrl } = await emulatorForTest({ profile: smallProfile() });
    const { args, grid } = await recorder(grpcUrl, '1:4');
    const outcome = await callLab([...args, '--repeats', '2', '--dry-run']);
    expect(outcome).toMatchObject({ code: 0, stderr: '' });
    expect(outcome.stdout).toMatch(/5 candidates.* at 1, 2, 4 requests in flight, 2 times: 30 points/);
    await expect(readFile(grid)).rejects.toThrow();
  });

  it('takes no directory of a tuning run, and bench-search no file that is no grid', async () => {
    const output = await freshDirectory();
    const journal = join(output, 'journal.jsonl');
    await writeJournal(journal, [studyStarted(goalOf(null))]);
    const outcome = await callLab(['record', '--resume', output]);
    expect(outcome).toMatchObject({ code: 2, stderr: expect.stringMatching(/USAGE: .*not a recording/) });
    await writeFile(journal, '{}');
    const contest = await callLab(['bench-search', '--grid', journal]);
    expect(contest).toMatchObject({ code: 2, stderr: expect.stringMatching(/INPUT_INVALID: .*not a recorded grid/) });
  });
});
