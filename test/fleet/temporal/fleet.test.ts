import { writeFile } from 'node:fs/promises';
import { cpus } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { realClock } from '#base/clock.ts';
import { seededRandom } from '#base/random.ts';
import { loadProfile } from '#emulator/profile/profiles.ts';
import { openClient } from '#fleet/temporal/connection.ts';
import { startStudy } from '#fleet/temporal/studies.ts';
import { toSpec } from '#spec/spec-of-options.ts';
import { languageProfileFile } from '../../support/emulator.ts';
import { finishedTrials, kill, type Machine, MODEL, TestFleet, until } from '../../support/fleet.ts';
import { smallLanguageStudy, TALK } from '../../support/language/small-study.ts';
import { startCollector } from '../../support/otlp-collector.ts';
import { inShell, printedSteps } from '../../support/printed-commands.ts';

/** How often something is killed; more where a night allows it. */
const KILLS = Number(process.env.TRITUNE_KILLS ?? 4);
/** Enough that the study is not over before all of these. */
const TRIALS = 8 + KILLS;
/** Few levels, none of them measured to the last digit: no figure is looked at. */
const BUDGET = ['--latency-budget', '500', '--concurrency', '1:16', '--precision', '20'];

let fleet: TestFleet;
let original: readonly string[];
beforeAll(async () => {
  const demo = loadProfile('demo');
  fleet = await TestFleet.start({ profile: { ...demo, models: [...demo.models, ...languageProfileFile().models] } });
  original = await fleet.configs();
});
afterAll(() => fleet.close());

describe('a fleet on a real Temporal', () => {
  it('tunes over two servers, and leaves both as they were', async () => {
    const collector = await startCollector();
    const sent = ['--otlp', collector.url];
    const { code, stdout, stderr } = await fleet.tune('whole', ...BUDGET, '--max-trials', '4', ...sent).ended;
    expect(stderr).not.toContain('INTERNAL');
    expect(code).toBe(0);
    expect(stdout).toContain('has its original config again');
    const records = await fleet.journalOf('whole');
    const starts = records.flatMap((record) => (record.type === 'trial-started' ? [record.server] : []));
    expect(new Set(starts).size).toBe(2);
    expect(finishedTrials(records)).toEqual([1, 2, 3, 4]);
    const spans = collector.spans().map(({ name }) => name);
    expect(spans).toEqual(expect.arrayContaining(['study', 'trial 1', 'trial 4']));
    const joined = records.flatMap((record) => (record.type === 'server-joined' ? [record.machine?.cores] : []));
    expect(joined).toEqual([cpus().length, cpus().length]);
    // What was watched is what the keeper has.
    expect(await fleet.watched('whole')).toEqual(records);
    expect(await fleet.configs()).toEqual(original);
  });

  it('prints commands at the end that work as they stand', async () => {
    const { stdout } = await fleet.tune('next', ...BUDGET, '--max-trials', '1').ended;
    const steps = printedSteps(stdout).filter(({ label }) => !label.startsWith('tune a model of your server'));
    expect(steps.length).toBeGreaterThan(0);
    for (const { label, command } of steps) {
      if (command === null) continue;
      const { code, output } = await inShell(command, fleet.folder);
      // Whether two runs on a busy machine tell a regression apart is not the question here.
      expect(label === 'in each build' ? [0, 5, 6] : [0], `${command}\n${output}`).toContain(code);
    }
    expect(await fleet.configs()).toEqual(original);
  });

  it('tunes under a workload, and ends a study that is stopped with every server put back', async () => {
    const file = join(fleet.folder, 'even.yaml');
    const phases = [{ durationS: 1, arrivals: { process: 'constant', perSecond: 40 } }];
    await writeFile(file, JSON.stringify({ workloadVersion: 1, name: 'even', phases }));
    const limits = ['--latency-budget', '500', '--request-rate', '40:40', '--max-trials', '50'];
    const started = await fleet.tune('stopped', '--workload', file, ...limits, '--detach').ended;
    expect([started.code, started.stderr]).toEqual([0, '']);
    await until(async () => finishedTrials(await fleet.journalOf('stopped')).length > 1);
    await fleet.tritune('fleet', 'stop', 'stopped', '--now', ...fleet.where).ended;
    expect(await fleet.ended('stopped')).toBe('COMPLETED');
    const records = await fleet.journalOf('stopped');
    expect(records[0]).toMatchObject({ type: 'study-started', workloads: { of: [{ name: 'even' }] } });
    const measured = records.flatMap((record) => (record.type === 'trial-measured' ? [record.measurement] : []));
    expect(measured.length).toBeGreaterThan(2);
    for (const { level, requests } of measured) {
      expect(level).toMatchObject({ mode: 'request-rate', value: 40 });
      // Whole passes of a second, for five seconds at least.
      expect(requests).toBeGreaterThan(150);
    }
    expect(records.at(-1)).toMatchObject({ type: 'study-finished', interrupted: true });
    expect(await fleet.configs()).toEqual(original);
  });

  it('tunes a language model by its tokens', async () => {
    const before = await fleet.configs(TALK);
    const asked = ['-m', TALK, '--endpoint', 'triton-grpc', ...(await smallLanguageStudy(fleet.folder))];
    const { code, stdout, stderr } = await fleet.tune('text', ...asked, '--max-trials', '2').ended;
    expect(code, stderr).toBe(0);
    expect(stdout).toContain('has its original config again');
    const records = await fleet.journalOf('text');
    expect(finishedTrials(records)).toEqual([1, 2]);
    const measured = records.flatMap((record) => (record.type === 'trial-measured' ? [record.measurement] : []));
    expect(new Set(measured.map(({ tokens }) => tokens?.outputTokens.mean))).toEqual(new Set([4]));
    expect(await fleet.configs(TALK)).toEqual(before);
  });

  it('goes on in another history when one has become long', async () => {
    const { client, close } = await openClient(fleet.at);
    const levels = { concurrency: { low: 1, high: 16 }, precision: 20 };
    const asked = { model: MODEL, latencyBudget: 500, ...levels, maxTrials: 8, sampler: 'random' };
    const order = { study: 'long', group: 'test', spec: toSpec(asked), commandLine: [] };
    await startStudy(client, order, { historyLimit: { events: 100, bytes: 2 ** 20 } });
    expect(await fleet.ended('long')).toBe('COMPLETED');
    const { count } = await client.workflow.count("WorkflowId = 'long'");
    await close();
    expect(count).toBeGreaterThan(1);
    expect(finishedTrials(await fleet.journalOf('long'))).toEqual([1, 2, 3, 4, 5, 6, 7, 8]);
    expect(await fleet.configs()).toEqual(original);
  });

  it(`records each trial once and puts every server back, whatever of ${KILLS} is killed meanwhile`, async () => {
    const random = seededRandom(1);
    const tuner = fleet.tune('chaos', ...BUDGET, '--max-trials', String(TRIALS), '--sampler', 'random');
    await until(async () => finishedTrials(await fleet.journalOf('chaos')).length > 0);
    await kill(tuner);
    for (let killed = 0; killed < KILLS; killed++) {
      const machine = fleet.machines[random.int(0, fleet.machines.length - 1)] as Machine;
      const which = random.float();
      if (which < 1 / 4) await fleet.killTemporal();
      else if (which < 1 / 2) {
        await machine.triton.kill();
        machine.triton = await fleet.startTriton(machine);
      } else {
        await kill(machine.worker);
        machine.worker = fleet.startWorker(machine);
      }
      await realClock.sleep(5_000 * random.float());
    }
    expect(await fleet.ended('chaos')).toBe('COMPLETED');
    const records = await fleet.journalOf('chaos');
    const finished = finishedTrials(records);
    expect(new Set(finished).size).toBe(finished.length);
    expect(finished.length).toBe(TRIALS);
    expect(records.at(-2)).toMatchObject({ type: 'model-restored', verified: true });
    expect(await fleet.configs()).toEqual(original);
  });
});
