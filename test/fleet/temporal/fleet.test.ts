import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { realClock } from '../../../src/base/clock.ts';
import { seededRandom } from '../../../src/base/random.ts';
import { openClient } from '../../../src/fleet/temporal/connection.ts';
import { listStudies, startStudy } from '../../../src/fleet/temporal/studies.ts';
import { freePorts } from '../../../src/launch/free-ports.ts';
import { specOf } from '../../../src/spec/spec-of-options.ts';
import type { StudyRecord } from '../../../src/study/records/records.ts';
import { connectGrpc } from '../../../src/triton/control/connect.ts';
import { freshDirectory, type RunningCli, runCli, startCli } from '../../support/cli.ts';
import { startTemporal, type TemporalServer } from '../../support/temporal-server.ts';

/** How often something is killed; more where a night allows it. */
const KILLS = Number(process.env.TRITUNE_KILLS ?? 4);
/** Enough that the study is not over before all of these. */
const TRIALS = 8 + KILLS;
const GROUP = 'test';
const MODEL = 'yolov7';
const payloadKey = Buffer.alloc(32, 7).toString('base64');
const env = { FLEET_KEY: payloadKey };
const keyOption = ['--payload-key-env', 'FLEET_KEY'];

/** A server of the fleet: an emulator in a process of its own, and its worker. */
interface Machine {
  readonly port: number;
  readonly others: readonly number[];
  emulator: RunningCli;
  worker: RunningCli;
}

let folder: string;
let temporal: TemporalServer;
let temporalPort: number;
let temporalAddress: string;
const machines: Machine[] = [];

const startEmulator = (grpcPort: number, others: readonly number[]): RunningCli =>
  startCli(
    ['emulate', '-p', 'demo', ...ports('grpc', grpcPort), ...ports('http', others[0]), ...ports('metrics', others[1])],
    {},
  );
const ports = (name: string, port: number | undefined): readonly string[] => [`--${name}-port`, String(port)];

const startWorker = (port: number): RunningCli =>
  startCli(
    [
      ...['fleet', 'worker', '--server', `localhost:${port}`, '--group', GROUP, '--temporal', temporalAddress],
      ...['--state', join(folder, `state-${port}`), ...keyOption],
    ],
    { env },
  );

const tune = (study: string, ...more: readonly string[]): RunningCli =>
  startCli(
    [
      ...['tune', '--fleet', temporalAddress, '--group', GROUP, '--study', study, '-m', MODEL, '--ui', 'lines'],
      ...['--latency-budget', '20', '-o', join(folder, study), ...keyOption, ...more],
    ],
    { env },
  );

async function kill({ child, ended }: RunningCli): Promise<void> {
  child.kill('SIGKILL');
  await ended;
}

/** The journal of a study, where its keeper has it. */
async function journalOf(study: string): Promise<readonly StudyRecord[]> {
  for (const { port } of machines) {
    const path = join(folder, `state-${port}`, 'studies', study, 'journal.jsonl');
    const text = await readFile(path, 'utf8').catch(() => null);
    if (text !== null)
      return text
        .trim()
        .split('\n')
        .map((line) => JSON.parse(line) as StudyRecord);
  }
  throw new Error(`no machine keeps the journal of ${study}`);
}

const finishedTrials = (records: readonly StudyRecord[]): readonly number[] =>
  records.flatMap((record) => (record.type === 'trial-finished' && record.trial > 0 ? [record.trial] : []));

/** The instances that a server's model has now: the profile's original has one. */
async function instancesOn(port: number): Promise<number> {
  const client = connectGrpc(`localhost:${port}`);
  try {
    const { instance_group: groups = [] } = await client.modelConfig(MODEL);
    return groups.reduce((sum, { count = 1 }) => sum + count, 0);
  } finally {
    await client.close();
  }
}

beforeAll(async () => {
  folder = await freshDirectory();
  const [port = 0, ...free] = await freePorts(10);
  temporalPort = port;
  temporal = await startTemporal(join(folder, 'temporal.db'), temporalPort);
  temporalAddress = temporal.address;
  for (let at = 0; at < 2; at++) {
    const [grpc = 0, http = 0, metrics = 0] = free.slice(3 * at, 3 * at + 3);
    const others = [http, metrics];
    machines.push({ port: grpc, others, emulator: startEmulator(grpc, others), worker: startWorker(grpc) });
  }
});

afterAll(async () => {
  await Promise.all(machines.flatMap(({ emulator, worker }) => [kill(emulator), kill(worker)]));
  await temporal.kill();
});

describe('a fleet on a real Temporal', () => {
  it('tunes over two servers, and leaves both as they were', async () => {
    const { code, stdout, stderr } = await tune('whole', '--max-trials', '4').ended;
    expect(stderr).not.toContain('INTERNAL');
    expect(code).toBe(0);
    expect(stdout).toContain('has its original config again');
    const records = await journalOf('whole');
    const starts = records.flatMap((record) => (record.type === 'trial-started' ? [record.server] : []));
    expect(new Set(starts).size).toBe(2);
    expect(finishedTrials(records).toSorted()).toEqual([1, 2, 3, 4]);
    // What was watched is what the keeper has.
    const mirrored = (await readFile(join(folder, 'whole', 'journal.jsonl'), 'utf8')).trim().split('\n');
    expect(mirrored.length).toBe(records.length);
    for (const { port } of machines) expect(await instancesOn(port)).toBe(1);
  });

  it('shows nothing of a study in what Temporal keeps', async () => {
    const { stdout } = await runCli(['fleet', 'status', '--temporal', temporalAddress, ...keyOption], { env });
    expect(stdout).toMatch(/whole {2}group test {2}completed/);
    const database = await readFile(join(folder, 'temporal.db'), 'latin1');
    const writeAhead = await readFile(join(folder, 'temporal.db-wal'), 'latin1').catch(() => '');
    for (const secret of ['max_batch_size', 'latencyBudgetMs', MODEL])
      expect(database + writeAhead).not.toContain(secret);
  });

  it('ends a study that is stopped, with every server put back', async () => {
    const { code } = await tune('stopped', '--max-trials', '50', '--detach').ended;
    expect(code).toBe(0);
    await until(async () => finishedTrials(await journalOf('stopped').catch(() => [])).length > 1);
    await runCli(['fleet', 'stop', 'stopped', '--now', '--temporal', temporalAddress, ...keyOption], { env });
    await until(async () => (await statusOf('stopped')) === 'COMPLETED');
    const records = await journalOf('stopped');
    expect(records.at(-1)).toMatchObject({ type: 'study-finished', interrupted: true });
    for (const { port } of machines) expect(await instancesOn(port)).toBe(1);
  });

  it('goes on in another history when one has become long', async () => {
    const { client, close } = await openClient(at());
    const asked = { model: MODEL, latencyBudget: 20, maxTrials: 8, sampler: 'random' };
    const order = { study: 'long', group: GROUP, spec: specOf(asked), commandLine: [] };
    await startStudy(client, order, { historyLimit: { events: 100, bytes: 2 ** 20 } });
    await until(async () => (await statusOf('long')) === 'COMPLETED');
    const { count } = await client.workflow.count("WorkflowId = 'long'");
    await close();
    expect(count).toBeGreaterThan(1);
    const finished = finishedTrials(await journalOf('long'));
    expect(finished.toSorted((a, b) => a - b)).toEqual([1, 2, 3, 4, 5, 6, 7, 8]);
    for (const { port } of machines) expect(await instancesOn(port)).toBe(1);
  });

  it(`records each trial once and puts every server back, whatever of ${KILLS} is killed meanwhile`, async () => {
    const random = seededRandom(1);
    const tuner = tune('chaos', '--max-trials', String(TRIALS), '--sampler', 'random');
    await until(async () => finishedTrials(await journalOf('chaos').catch(() => [])).length > 0);
    await kill(tuner);
    for (let killed = 0; killed < KILLS; killed++) {
      const machine = machines[random.int(0, machines.length - 1)] as Machine;
      const which = random.float();
      if (which < 1 / 4) {
        await temporal.kill();
        temporal = await startTemporal(join(folder, 'temporal.db'), temporalPort);
      } else if (which < 1 / 2) {
        await kill(machine.emulator);
        machine.emulator = startEmulator(machine.port, machine.others);
      } else {
        await kill(machine.worker);
        machine.worker = startWorker(machine.port);
      }
      await realClock.sleep(5_000 * random.float());
    }
    await until(async () => (await statusOf('chaos')) === 'COMPLETED');
    const records = await journalOf('chaos');
    const finished = finishedTrials(records);
    expect(new Set(finished).size).toBe(finished.length);
    expect(finished.length).toBe(TRIALS);
    expect(records.at(-2)).toMatchObject({ type: 'model-restored', verified: true });
    for (const { port } of machines) expect(await instancesOn(port)).toBe(1);
  });
});

const at = () => ({ address: temporalAddress, namespace: 'default', payloadKey: Buffer.alloc(32, 7) });

async function statusOf(study: string): Promise<string | undefined> {
  try {
    const { client, close } = await openClient(at());
    try {
      return (await listStudies(client)).find((each) => each.study === study)?.status;
    } finally {
      await close();
    }
  } catch {
    return undefined;
  }
}

async function until(holds: () => Promise<boolean>): Promise<void> {
  while (!(await holds())) await realClock.sleep(500);
}
