import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { realClock } from '../src/base/clock.ts';
import { messageOf } from '../src/base/errors.ts';
import { type Random, seededRandom } from '../src/base/random.ts';
import type { StudyRecord } from '../src/study/records/records.ts';
import type { RunningCli } from '../test/support/cli.ts';
import { finishedTrials, kill, type Machine, TestFleet } from '../test/support/fleet.ts';
import { killTriton } from '../test/support/kill-triton.ts';
import { makeModelRepository, startRealTriton } from '../test/support/real-triton.ts';

/**
 * Kills processes of a fleet at random while it tunes real Tritons: workers, agents, tuners, Temporal and Tritons. Every study must end, with each
 * trial recorded once and every model as it was. `node bench/fleet-kills.ts`, with TRITUNE_KILLS=50, TRITUNE_BENCH_SEED=1, TRITUNE_BENCH_TRIALS=16,
 * TRITUNE_BENCH_STUDIES=1, the number of studies that are started at once and share the servers, and TRITUNE_BENCH_BETWEEN_MS=8000.
 */
const KILLS = Number(process.env.TRITUNE_KILLS ?? 50);
const STUDIES = Number(process.env.TRITUNE_BENCH_STUDIES ?? 1);
const SEED = Number(process.env.TRITUNE_BENCH_SEED ?? 1);
const TRIALS = Number(process.env.TRITUNE_BENCH_TRIALS ?? 16);
/** The maximum random delays between two kills, and until a killed process is started again. */
const BETWEEN_MS = Number(process.env.TRITUNE_BENCH_BETWEEN_MS ?? 8_000);
const AWAY_MS = 5_000;
/** A study that has not ended this long after the last kill, or after the end of the study before it, counts as hung. */
const LIMIT_MS = 420_000;
const MODEL = 'sleeper';
const SPACE = `
name: kills
parameters:
  instances: [1, 2, 3, 4]
  max_batch_size: [1, 2, 4, 8, 16]
  dynamic_batching: [on]
  queue_delay_us: [0, 500, 1000]
`;

const kinds = ['worker', 'agent', 'tuner', 'temporal', 'triton'] as const;
type Kind = (typeof kinds)[number];

const modelRepository = await makeModelRepository();
const fleet = await TestFleet.start({
  ...{ servers: 3, agents: 2, model: MODEL },
  startTriton: async (ports) => {
    const { grpcUrl } = await startRealTriton(modelRepository, { loadModels: [MODEL], ports });
    return { kill: () => killTriton(grpcUrl) };
  },
});
const spaceFile = join(fleet.folder, 'space.yaml');
await writeFile(spaceFile, SPACE);
const before = await fleet.configs();

interface Study {
  readonly name: string;
  tuner: RunningCli;
}

const startStudy = (name: string): Study => ({
  name,
  tuner: fleet.tune(
    name,
    ...['--space', spaceFile, '--sampler', 'random', '--max-trials', String(TRIALS)],
    ...['--concurrency', '1:8', '--precision', '20', '--latency-budget', '50'],
  ),
});

const random = seededRandom(SEED);
const order: Kind[] = [];
const counts = new Map<Kind, number>();
let [killedSoFar, studies] = [0, 0];
const faults: string[] = [];
const startMs = performance.now();
try {
  while (killedSoFar < KILLS) await atOnce(Array.from({ length: STUDIES }, () => `study-${++studies}`));
} catch (error) {
  faults.push(messageOf(error));
} finally {
  await fleet.close();
}
const minutes = (performance.now() - startMs) / 60_000;
const byKind = [...counts].map(([kind, count]) => `${kind} ${count}`).join(', ');
if (fleet.endedByThemselves > 0) faults.push(`${fleet.endedByThemselves} workers or agents ended by themselves`);
console.log(`${killedSoFar} kills in ${studies} studies and ${minutes.toFixed(1)} minutes: ${byKind}`);
console.log(faults.length === 0 ? 'no fault' : `${faults.join('\n')}\n${fleet.folder}\n${fleet.said}`);
process.exitCode = faults.length === 0 ? 0 : 1;

/** Studies that begin at once, with kills while any of them runs. */
async function atOnce(names: readonly string[]): Promise<void> {
  const all = names.map(startStudy);
  for (const name of names)
    await within(120_000, `${name} does not start`, async () => (await fleet.statusOf(name)) ?? null);
  while (killedSoFar < KILLS && (await running(names)).length > 0) {
    await realClock.sleep(BETWEEN_MS * random.float());
    await killOne(all);
  }
  for (const study of all) await judge(study);
  faults.push(...(await faultsOfServers()));
}

/** The studies that run, or of which Temporal says nothing now. */
async function running(names: readonly string[]): Promise<readonly string[]> {
  const statuses = await Promise.all(names.map((name) => fleet.statusOf(name)));
  return names.filter((_, at) => (statuses[at] ?? 'RUNNING') === 'RUNNING');
}

/** Waits for the end of a study, and looks for faults. */
async function judge(study: Study): Promise<void> {
  const { name } = study;
  // Studies that share servers end one after the other.
  const status = await within(LIMIT_MS, `${name} does not end`, async () => {
    const now = await fleet.statusOf(name);
    return now === undefined || now === 'RUNNING' ? null : now;
  });
  await kill(study.tuner);
  const attached = await fleet.attach(name).ended;
  const found = [...(await faultsOf(name))];
  if (status !== 'COMPLETED') found.push(`ended as ${status}`);
  if (attached.code !== 0 && attached.code !== 3)
    found.push(`attach ended with ${attached.code}: ${attached.stderr.trim()}`);
  faults.push(...found.map((fault) => `${name}: ${fault}`));
  console.log(`${name}: ${status}, ${killedSoFar} kills so far; ${found.join('; ') || 'as it should be'}`);
}

/** Kills one process. All kinds take turns, in a new random order for each round. */
async function killOne(all: readonly Study[]): Promise<void> {
  if (order.length === 0) order.push(...shuffled(kinds, random));
  const kind = order.pop() as Kind;
  const rest = (): Promise<void> => realClock.sleep(AWAY_MS * random.float());
  const machines = fleet.machines.filter(({ agent }) => kind !== 'agent' || agent !== null);
  const machine = machines[random.int(0, machines.length - 1)] as Machine;
  const study = all[random.int(0, all.length - 1)] as Study;
  switch (kind) {
    case 'tuner':
      await kill(study.tuner);
      await rest();
      study.tuner = fleet.attach(study.name);
      break;
    case 'temporal':
      await fleet.killTemporal(rest);
      break;
    case 'triton':
      await machine.triton.kill();
      await rest();
      machine.triton = await fleet.startTriton(machine);
      break;
    case 'agent':
      await kill(machine.agent as RunningCli);
      await rest();
      machine.agent = fleet.startAgent(machine);
      break;
    case 'worker':
      await kill(machine.worker);
      await rest();
      machine.worker = fleet.startWorker(machine);
  }
  const progress = await Promise.all(all.map(async ({ name }) => finishedTrials(await fleet.journalOf(name)).length));
  const seconds = ((performance.now() - startMs) / 1000).toFixed(0);
  console.log(`${seconds} s: killed ${kind} (${machine.server}); trials so far: ${progress.join(', ')}`);
  counts.set(kind, (counts.get(kind) ?? 0) + 1);
  killedSoFar++;
}

function shuffled<T>(all: readonly T[], { float }: Pick<Random, 'float'>): T[] {
  return all
    .map((each) => ({ each, at: float() }))
    .sort((a, b) => a.at - b.at)
    .map(({ each }) => each);
}

/** Returns the faults of the records. */
async function faultsOf(name: string): Promise<readonly string[]> {
  const records = await fleet.journalOf(name);
  const found: string[] = [];
  const finished = finishedTrials(records);
  if (new Set(finished).size !== finished.length) found.push('a trial finished twice');
  if (finished.length !== TRIALS) found.push(`${finished.length} trials finished, not ${TRIALS}`);
  for (const [work, count] of twice(records)) found.push(`${work} is recorded ${count} times`);
  const lost = records.filter(({ type }) => type === 'server-left').length;
  const failed = records.filter((record) => record.type === 'trial-finished' && record.failure !== null).length;
  console.log(`${name}: ${finished.length} trials, ${failed} of them failed; servers were lost ${lost} times`);
  const end = records.at(-1);
  if (end?.type !== 'study-finished') found.push(`the journal ends with ${end?.type}`);
  const restored = records.findLast((record) => record.type === 'model-restored');
  if (restored?.type !== 'model-restored' || !restored.verified)
    found.push(`not restored: ${JSON.stringify(restored)}`);
  const mirrored = await fleet.watched(name);
  if (mirrored.length !== records.length) found.push(`${mirrored.length} of ${records.length} records were watched`);
  return found;
}

/** Returns measurements of one piece of work that were recorded twice. */
function twice(records: readonly StudyRecord[]): ReadonlyMap<string, number> {
  const counted = new Map<string, number>();
  for (const record of records) {
    if (!('work' in record) || !('measurement' in record)) continue;
    const key = `${record.work} ${JSON.stringify(record.measurement)}`;
    counted.set(key, (counted.get(key) ?? 0) + 1);
  }
  return new Map([...counted].filter(([, count]) => count > 1).map(([key, count]) => [key.slice(0, 40), count]));
}

async function faultsOfServers(): Promise<readonly string[]> {
  const now = await fleet.configs();
  return now.flatMap((config, at) =>
    config === before[at] ? [] : [`${fleet.machines[at]?.server} has another config: ${config}`],
  );
}

/** Polls until there is a result. Errors: the fault, if that takes longer. */
async function within<T>(limitMs: number, fault: string, look: () => Promise<T | null>): Promise<T> {
  const endMs = performance.now() + limitMs;
  for (;;) {
    const found = await look();
    if (found !== null) return found;
    if (performance.now() > endMs) throw new Error(fault);
    await realClock.sleep(500);
  }
}
