import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { realClock } from '#base/clock.ts';
import { formatMessage } from '#base/errors.ts';
import { pick, type Random, seededRandom, shuffle } from '#base/random.ts';
import type { StudyRecord } from '#study/records/records.ts';
import type { RunningCli } from '../../test/support/cli.ts';
import { finishedTrials, kill, TestFleet } from '../../test/support/fleet.ts';
import { killTriton } from '../../test/support/kill-triton.ts';
import { makeModelRepository, startRealTriton } from '../../test/support/real-triton.ts';
import type { Harm, Result } from './results.ts';

/**
 * Kills processes of a fleet at random while it tunes real Tritons: workers, agents, tuners,
 * Temporal and Tritons. Every study must end, with each trial recorded once and every model as it
 * was.
 */
const TRIALS = Number(process.env.TRITUNE_BENCH_TRIALS ?? 16);
/** Studies that are started at once, and share the servers. */
const STUDIES = Number(process.env.TRITUNE_BENCH_STUDIES ?? 1);
/** The maximum random delays between two kills, and until a killed process is started again. */
const BETWEEN_MS = Number(process.env.TRITUNE_BENCH_BETWEEN_MS ?? 8_000);
const AWAY_MS = 5_000;
/**
 * A study that has not ended this long after the last kill, or after the end of the study before
 * it, counts as hung.
 */
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

/** The processes of a fleet. */
export const processes = ['worker', 'agent', 'tuner', 'temporal', 'triton'] as const;
type Process = (typeof processes)[number];

type Fault = Result['faults'][number];

interface Study {
  readonly name: string;
  tuner: RunningCli;
}

/** Kills processes of one fleet. */
export class FleetKills {
  readonly #fleet: TestFleet;
  readonly #spaceFile: string;
  readonly #before: readonly string[];
  readonly #random: Random;
  readonly #most: number;
  readonly #order: Process[] = [];
  readonly #killed: Process[] = [];
  readonly #faults: Fault[] = [];
  readonly #startMs = performance.now();
  #studies = 0;

  private constructor(fleet: TestFleet, spaceFile: string, before: readonly string[], seed: number, most: number) {
    this.#fleet = fleet;
    this.#spaceFile = spaceFile;
    this.#before = before;
    this.#random = seededRandom(seed);
    this.#most = most;
  }

  /** Returns the processes that were killed, `most` of them, and what was wrong then. */
  static async run(seed: number, most: number): Promise<{ killed: readonly Process[]; faults: readonly Fault[] }> {
    const modelRepository = await makeModelRepository();
    const fleet = await TestFleet.start({
      servers: 3,
      agents: 2,
      model: MODEL,
      startTriton: async (ports) => {
        const { grpcUrl } = await startRealTriton(modelRepository, { loadModels: [MODEL], ports });
        return { kill: () => killTriton(grpcUrl) };
      },
    });
    const spaceFile = join(fleet.folder, 'space.yaml');
    await writeFile(spaceFile, SPACE);
    return new FleetKills(fleet, spaceFile, await fleet.configs(), seed, most).#run();
  }

  async #run(): Promise<{ killed: readonly Process[]; faults: readonly Fault[] }> {
    try {
      while (this.#killed.length < this.#most)
        await this.#atOnce(Array.from({ length: STUDIES }, () => `study-${++this.#studies}`));
    } catch (error) {
      this.#fault('other', formatMessage(error));
    } finally {
      await this.#fleet.close();
    }
    const { endedByThemselves, folder, said } = this.#fleet;
    if (endedByThemselves > 0) this.#fault('other', `${endedByThemselves} workers or agents ended by themselves`);
    if (this.#faults.length > 0) console.log(`${folder}\n${said}`);
    return { killed: this.#killed, faults: this.#faults };
  }

  #fault(harm: Harm, what: string): void {
    this.#faults.push({ harm, what });
  }

  #startStudy(name: string): Study {
    const tuner = this.#fleet.tune(
      name,
      ...['--space', this.#spaceFile, '--sampler', 'random', '--max-trials', String(TRIALS)],
      ...['--concurrency', '1:8', '--precision', '20', '--latency-budget', '50'],
    );
    return { name, tuner };
  }

  /** Studies that begin at once, with kills while any of them runs. */
  async #atOnce(names: readonly string[]): Promise<void> {
    const all = names.map((name) => this.#startStudy(name));
    for (const name of names)
      await within(120_000, `${name} does not start`, async () => (await this.#fleet.statusOf(name)) ?? null);
    while (this.#killed.length < this.#most && (await this.#running(names)).length > 0) {
      await realClock.sleep(BETWEEN_MS * this.#random.float());
      await this.#killOne(all);
    }
    for (const study of all) await this.#judge(study);
    await this.#checkServers();
  }

  /** The studies that run, or of which Temporal says nothing now. */
  async #running(names: readonly string[]): Promise<readonly string[]> {
    const statuses = await Promise.all(names.map((name) => this.#fleet.statusOf(name)));
    return names.filter((_, at) => (statuses[at] ?? 'RUNNING') === 'RUNNING');
  }

  /** Waits for the end of a study, and looks for faults. */
  async #judge(study: Study): Promise<void> {
    const { name } = study;
    // Studies that share servers end one after the other.
    const status = await within(LIMIT_MS, `${name} does not end`, async () => {
      const now = await this.#fleet.statusOf(name);
      return now === undefined || now === 'RUNNING' ? null : now;
    });
    await kill(study.tuner);
    const attached = await this.#fleet.attach(name).ended;
    await this.#checkRecords(name);
    if (status !== 'COMPLETED') this.#fault('other', `${name} ended as ${status}`);
    if (attached.code !== 0 && attached.code !== 3)
      this.#fault('other', `attach ended with ${attached.code}: ${attached.stderr.trim()}`);
    console.log(`${name}: ${status}, ${this.#killed.length} kills so far, ${this.#faults.length} faults`);
  }

  /** Kills one process. All kinds take turns, in a new random order for each round. */
  async #killOne(all: readonly Study[]): Promise<void> {
    if (this.#order.length === 0) this.#order.push(...shuffle([...processes], this.#random));
    const kind = this.#order.pop() as Process;
    const rest = (): Promise<void> => realClock.sleep(AWAY_MS * this.#random.float());
    const machines = this.#fleet.machines.filter(({ agent }) => kind !== 'agent' || agent !== null);
    const machine = pick(machines, this.#random);
    const study = pick(all, this.#random);
    switch (kind) {
      case 'tuner':
        await kill(study.tuner);
        await rest();
        study.tuner = this.#fleet.attach(study.name);
        break;
      case 'temporal':
        await this.#fleet.killTemporal(rest);
        break;
      case 'triton':
        await machine.triton.kill();
        await rest();
        machine.triton = await this.#fleet.startTriton(machine);
        break;
      case 'agent':
        await kill(machine.agent as RunningCli);
        await rest();
        machine.agent = this.#fleet.startAgent(machine);
        break;
      case 'worker':
        await kill(machine.worker);
        await rest();
        machine.worker = this.#fleet.startWorker(machine);
    }
    const progress = await Promise.all(
      all.map(async ({ name }) => finishedTrials(await this.#fleet.journalOf(name)).length),
    );
    const seconds = ((performance.now() - this.#startMs) / 1000).toFixed(0);
    console.log(`${seconds} s: killed ${kind} (${machine.server}); trials so far: ${progress.join(', ')}`);
    this.#killed.push(kind);
  }

  async #checkRecords(name: string): Promise<void> {
    const records = await this.#fleet.journalOf(name);
    const finished = finishedTrials(records);
    const lost = (what: string): void => this.#fault('lost', `${name}: ${what}`);
    if (new Set(finished).size !== finished.length) lost('a trial finished twice');
    if (finished.length !== TRIALS) lost(`${finished.length} trials finished, not ${TRIALS}`);
    for (const [work, count] of twice(records)) lost(`${work} is recorded ${count} times`);
    const left = records.filter(({ type }) => type === 'server-left').length;
    const failed = records.filter((record) => record.type === 'trial-finished' && record.failure !== null).length;
    console.log(`${name}: ${finished.length} trials, ${failed} of them failed; servers were lost ${left} times`);
    const end = records.at(-1);
    if (end?.type !== 'study-finished') lost(`the journal ends with ${end?.type}`);
    const mirrored = await this.#fleet.watched(name);
    if (mirrored.length !== records.length) lost(`${mirrored.length} of ${records.length} records were watched`);
    const restored = records.findLast((record) => record.type === 'model-restored');
    if (restored?.type !== 'model-restored' || !restored.verified)
      this.#fault('unrestored', `${name}: ${JSON.stringify(restored)}`);
  }

  async #checkServers(): Promise<void> {
    for (const [at, config] of (await this.#fleet.configs()).entries())
      if (config !== this.#before[at])
        this.#fault('unrestored', `${this.#fleet.machines[at]?.server} has another config: ${config}`);
  }
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
