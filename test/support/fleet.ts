import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { realClock } from '#base/clock.ts';
import { openClient } from '#fleet/temporal/connection.ts';
import { listStudies } from '#fleet/temporal/studies.ts';
import { freePorts } from '#launch/free-ports.ts';
import type { StudyRecord } from '#study/records/records.ts';
import { connectGrpc } from '#triton/control/connect.ts';
import { type RunningCli, startCli } from './cli.ts';
import { freshDirectory } from './run-directory.ts';
import { startTemporal, type TemporalServer } from './temporal-server.ts';
import { recordIn } from './write-journal.ts';

/** What is emulated unless a test serves something else. */
export const MODEL = 'yolov7';
const GROUP = 'test';
const KEY = Buffer.alloc(32, 7);
/** What agents and workers share: nothing of it may be written down anywhere. */
export const AGENT_TOKEN = 'the-token-of-agents-in-tests';

/** A process that can end as in a crash. */
export interface Mortal {
  kill(): Promise<void>;
}

interface Ports {
  readonly grpc: number;
  readonly http: number;
  readonly metrics: number;
}

/** A server of the fleet, its worker, and the agent that sends to it, if one does. */
export interface Machine {
  readonly ports: Ports;
  /** HOST:PORT, as its worker and its agent name it. */
  readonly server: string;
  readonly agentAddress: string | null;
  readonly state: string;
  triton: Mortal;
  worker: RunningCli;
  agent: RunningCli | null;
}

type Place = Omit<Machine, 'triton' | 'worker' | 'agent'>;

/** How the processes of a fleet are started. */
export interface FleetSetting {
  readonly servers?: number;
  /** So many servers are sent to by an agent of their own. */
  readonly agents?: number;
  readonly model?: string;
  /** What the emulators serve, as a profile's file has it; the demo if not given. */
  readonly profile?: object;
  /** By which workers send; gRPC if not given. */
  readonly protocol?: 'http';
  /** Starts a Triton with the model at these ports; an emulator if not given. */
  readonly startTriton?: (ports: Ports) => Promise<Mortal>;
  /** Of Temporal as the commands reach it, where something stands before it. */
  readonly front?: (temporal: string) => Promise<string>;
  /** Options of all commands that speak with Temporal. */
  readonly options?: readonly string[];
  readonly workerOptions?: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  /** false: Temporal is told all as it is. */
  readonly isEncrypted?: boolean;
}

/**
 * Temporal's dev server, servers of a model, their workers and agents, each in a process of its
 * own.
 */
export class TestFleet {
  readonly folder: string;
  readonly machines: Machine[] = [];
  temporal: TemporalServer;
  /** Workers and agents that ended without being killed. */
  endedByThemselves = 0;
  readonly #setting: FleetSetting;
  readonly #address: string;
  #said = '';

  private constructor(folder: string, setting: FleetSetting, temporal: TemporalServer, address: string) {
    this.folder = folder;
    this.#setting = setting;
    this.temporal = temporal;
    this.#address = address;
  }

  static async start(setting: FleetSetting = {}): Promise<TestFleet> {
    const { servers = 2, agents = 0, front } = setting;
    const folder = await freshDirectory();
    const temporal = await startTemporal(databaseIn(folder));
    const free = await freePorts(3 * servers + agents);
    const fleet = new TestFleet(folder, setting, temporal, (await front?.(temporal.address)) ?? temporal.address);
    await writeFile(join(folder, 'agents.token'), AGENT_TOKEN);
    if (setting.profile) await writeFile(fleet.#profile, JSON.stringify(setting.profile));
    const agentPorts = free.splice(3 * servers);
    for (let at = 0; at < servers; at++) {
      const [grpc = 0, http = 0, metrics = 0] = free.slice(3 * at, 3 * at + 3);
      const agentPort = agentPorts[at];
      await fleet.#add({ grpc, http, metrics }, agentPort === undefined ? null : `127.0.0.1:${agentPort}`);
    }
    return fleet;
  }

  /** Options with which a command reaches this fleet's Temporal. */
  get where(): readonly string[] {
    return ['--temporal', this.#address, ...this.#options];
  }

  get env(): Readonly<Record<string, string>> {
    return { TRITUNE_TEST_KEY: KEY.toString('base64'), ...this.#setting.env };
  }

  /** Temporal itself, past what may stand before it. */
  get at() {
    return { address: this.temporal.address, namespace: 'default', payloadKey: this.#isEncrypted ? KEY : null };
  }

  /** The last that workers and agents have said that were killed. */
  get said(): string {
    return this.#said;
  }

  /** A command of tritune in a process of its own. */
  tritune(...args: readonly string[]): RunningCli {
    return startCli(args, { env: this.env });
  }

  tune(study: string, ...more: readonly string[]): RunningCli {
    const { model = MODEL } = this.#setting;
    const where = ['--temporal', this.#address, '--group', GROUP, '-o', this.outputOf(study), ...this.#options];
    const named = more.includes('-m') ? [] : ['-m', model];
    return this.tritune('tune', ...where, '--study', study, ...named, '--ui', 'lines', ...more);
  }

  attach(study: string): RunningCli {
    return this.tritune('fleet', 'attach', study, '--ui', 'lines', '-o', this.outputOf(study), ...this.where);
  }

  outputOf(study: string): string {
    return join(this.folder, 'watched', study);
  }

  async #add(ports: Ports, agentAddress: string | null): Promise<void> {
    const state = join(this.folder, `state-${ports.grpc}`);
    const { protocol = 'grpc' } = this.#setting;
    const place = { ports, server: `127.0.0.1:${ports[protocol]}`, agentAddress, state };
    const triton = await this.startTriton(place);
    const agent = agentAddress === null ? null : this.startAgent(place);
    this.machines.push({ ...place, triton, agent, worker: this.startWorker(place) });
  }

  startTriton({ ports }: Place): Promise<Mortal> {
    return this.#setting.startTriton?.(ports) ?? startEmulator(ports, this.#setting.profile ? this.#profile : 'demo');
  }

  startAgent({ agentAddress, server }: Place): RunningCli {
    const token = ['--token-file', join(this.folder, 'agents.token')];
    return this.#heard(startCli(['fleet', 'agent', '--listen', `${agentAddress}`, ...token, '--allow-target', server]));
  }

  startWorker({ ports, server, agentAddress, state }: Place): RunningCli {
    const token = ['--agent-token-file', join(this.folder, 'agents.token')];
    // Machines of tests are busy; what is looked at is not how sure a clock is.
    const agents = agentAddress === null ? [] : ['--agents', agentAddress, ...token, '--agent-clock-limit-ms', '1000'];
    const { protocol, workerOptions = [] } = this.#setting;
    const through = protocol ? ['--protocol', protocol, '--control-url', `127.0.0.1:${ports.grpc}`] : [];
    const own = ['--server', server, ...through, '--group', GROUP, '--state', state, ...workerOptions];
    return this.#heard(this.tritune('fleet', 'worker', ...own, ...agents, ...this.where));
  }

  #heard(running: RunningCli): RunningCli {
    void running.ended.then(({ stderr, signal }) => {
      if (signal !== 'SIGKILL') this.endedByThemselves++;
      this.#said = `${this.#said}${stderr}`.slice(-MAX_SAID);
    });
    return running;
  }

  /** Kills Temporal's server; `between` passes before it is started again. */
  async killTemporal(between: () => Promise<void> = () => Promise.resolve()): Promise<void> {
    await this.temporal.kill();
    await between();
    this.temporal = await startTemporal(databaseIn(this.folder), this.temporal.address);
  }

  /**
   * The journal of a study, where its keeper has it; none while no keeper has. Errors: two keepers
   * have it.
   */
  async journalOf(study: string): Promise<readonly StudyRecord[]> {
    const paths = this.machines.map(({ state }) => join(state, 'studies', study, 'journal.jsonl'));
    const kept = (await Promise.all(paths.map(recordsIn))).filter((records) => records.length > 0);
    if (kept.length > 1) throw new Error(`${kept.length} machines keep the journal of ${study}`);
    return kept[0] ?? [];
  }

  /** The machine whose worker keeps the journal of a study: which it is, is chance. */
  async keeperOf(study: string): Promise<Machine> {
    for (const machine of this.machines) {
      const records = await recordsIn(join(machine.state, 'studies', study, 'journal.jsonl'));
      if (records.length > 0) return machine;
    }
    throw new Error(`no machine keeps the journal of ${study}`);
  }

  watched(study: string): Promise<readonly StudyRecord[]> {
    return recordsIn(join(this.outputOf(study), 'journal.jsonl'));
  }

  /** As Temporal says it; undefined while it does not answer, or knows no such study. */
  async statusOf(study: string): Promise<string | undefined> {
    try {
      const { client, close } = await openClient(this.at);
      try {
        return (await listStudies(client)).find((each) => each.study === study)?.status;
      } finally {
        await close();
      }
    } catch {
      return undefined;
    }
  }

  /** Waits for the end of a study, and returns how Temporal calls it. */
  async ended(study: string): Promise<string> {
    for (;;) {
      const status = await this.statusOf(study);
      if (status !== undefined && status !== 'RUNNING') return status;
      await realClock.sleep(LOOK_MS);
    }
  }

  /** The config that each server has of a model now, as text. */
  configs(model = this.#setting.model ?? MODEL): Promise<readonly string[]> {
    return Promise.all(
      this.machines.map(async ({ ports }) => {
        const client = connectGrpc(`127.0.0.1:${ports.grpc}`);
        try {
          return JSON.stringify(await client.modelConfig(model));
        } finally {
          await client.close();
        }
      }),
    );
  }

  async close(): Promise<void> {
    for (const { worker, agent, triton } of this.machines) {
      await kill(worker);
      if (agent) await kill(agent);
      await triton.kill();
    }
    await this.temporal.kill();
  }

  get #profile(): string {
    return join(this.folder, 'profile.yaml');
  }

  get #isEncrypted(): boolean {
    return this.#setting.isEncrypted ?? true;
  }

  get #options(): readonly string[] {
    const key = this.#isEncrypted ? ['--payload-key-env', 'TRITUNE_TEST_KEY'] : [];
    return [...key, ...(this.#setting.options ?? [])];
  }
}

const MAX_SAID = 20_000;
const LOOK_MS = 300;

const databaseIn = (folder: string): string => join(folder, 'temporal.db');

/** Resolves when it says that it listens. `profile`: a name or a file. */
async function startEmulator(ports: Ports, profile: string): Promise<Mortal> {
  const options = Object.entries(ports).flatMap(([name, port]) => [`--${name}-port`, `${port}`]);
  const running = startCli(['emulate', '-p', profile, ...options]);
  await Promise.race([new Promise((listening) => running.child.stdout?.once('data', listening)), running.ended]);
  return { kill: () => kill(running) };
}

async function recordsIn(path: string): Promise<readonly StudyRecord[]> {
  const text = await readFile(path, 'utf8').catch(() => '');
  return text.split('\n').flatMap((line) => (line.endsWith('}') ? [recordIn(line)] : []));
}

/** Ends a process as a crash does. */
export async function kill({ child, ended }: RunningCli): Promise<void> {
  child.kill('SIGKILL');
  await ended;
}

/** Waits for what comes sooner or later; the test's own limit ends it. */
export async function until(holds: () => Promise<boolean>): Promise<void> {
  while (!(await holds())) await realClock.sleep(LOOK_MS);
}

/** The numbers of the trials that have ended, rising; one that ended twice is there twice. */
export const finishedTrials = (records: readonly StudyRecord[]): readonly number[] =>
  records
    .flatMap((record) => (record.type === 'trial-finished' && record.trial > 0 ? [record.trial] : []))
    .toSorted((a, b) => a - b);
