import { cp, mkdtemp, readFile, rm } from 'node:fs/promises';
import { cpus, tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { launchLocal } from '#launch/local-server.ts';
import { installTriton } from '#launch/triton-install.ts';
import type { LaunchedServer } from '#launch/types.ts';
import { connectHttp } from '#triton/control/connect.ts';
import {
  type Experiment,
  experiments,
  type OurMode,
  openLoopLoad,
  openLoopModes,
  type PeerMode,
} from './client-experiments.ts';
import { type Load, type Reading, read, startOurs } from './client-run.ts';
import { type Contender, compare, openLoopRows, printTable, type Row } from './client-table.ts';
import { type PerfAnalyzer, perfAnalyzer, startPerfAnalyzer } from './peers.ts';

/**
 * Our load generator and NVIDIA's perf_analyzer in turn on one real Triton: `npm run bench:client`.
 * Figures are medians; a ratio is the median of the ratios of each round, with their range, as the
 * machine may change between rounds. `TRITUNE_BENCH_ROUNDS` (3) sets the number of rounds; they
 * take about 100 seconds each.
 */
const ROUNDS = Number(process.env.TRITUNE_BENCH_ROUNDS ?? 3);
const ATTEMPTS = 2;

const installDirectory = resolve(import.meta.dirname, '../.triton');
const models = join(import.meta.dirname, 'models');

/** The server of all runs. After a peer has ended it, a new one starts. */
class Bench {
  readonly #scratch: string;
  readonly #peer: PerfAnalyzer;
  #server: LaunchedServer | null = null;
  restarts = 0;

  constructor(scratch: string, peer: PerfAnalyzer) {
    this.#scratch = scratch;
    this.#peer = peer;
  }

  /**
   * Runs one client once. Repeats a failed run once. Returns null if the peer fails again; we must
   * not.
   */
  async run(load: Load, mode: OurMode | PeerMode): Promise<Reading | null> {
    for (let attempt = 1; attempt <= ATTEMPTS; attempt++) {
      const server = await this.#liveServer();
      const url = load.protocol === 'grpc' ? server.grpcUrl : server.httpUrl;
      try {
        return await read(server, load.model, () =>
          mode.by === 'us' ? startOurs(url, load, mode) : startPerfAnalyzer(this.#peer, url, load, mode.options),
        );
      } catch (error) {
        console.log(`  failed: ${mode.by}, ${mode.name}, on ${load.model} over ${load.protocol}: ${String(error)}`);
        if (mode.by === 'us' && attempt === ATTEMPTS) throw error;
      }
    }
    return null;
  }

  async close(): Promise<void> {
    await this.#server?.stop();
  }

  async #liveServer(): Promise<LaunchedServer> {
    if (this.#server && (await isLive(this.#server))) return this.#server;
    if (this.#server) {
      this.restarts++;
      await this.#server.stop();
    }
    this.#server = await launchLocal({
      modelRepository: join(this.#scratch, 'models'),
      installDirectory,
      logDirectory: this.#scratch,
      loadModels: ['floats64', 'image'],
    });
    return this.#server;
  }
}

async function isLive(server: LaunchedServer): Promise<boolean> {
  const client = connectHttp(server.httpUrl, { defaultTimeoutMs: 3000 });
  try {
    return await client.live();
  } catch {
    return false;
  } finally {
    await client.close();
  }
}

/** Runs all contenders of an experiment once, in this order or in reverse. */
async function runRound(bench: Bench, load: Load, contenders: readonly Contender[], round: number): Promise<void> {
  for (const { mode, readings } of round % 2 === 0 ? contenders : contenders.toReversed()) {
    readings.push(await bench.run(load, mode));
  }
}

const contendersOf = ({ figures }: Experiment): Contender[] => {
  const modes = new Set(figures.flatMap(({ ours, modes }) => [ours, ...modes]));
  return [...modes].map((mode) => ({ mode, readings: [] }));
};

async function measure(bench: Bench): Promise<Row[]> {
  const all = experiments.map((experiment) => ({ ...experiment, contenders: contendersOf(experiment) }));
  const openLoop: Contender[] = openLoopModes.map((mode) => ({ mode, readings: [] }));
  let halfCapacity: Load | undefined;
  for (let round = 0; round < ROUNDS; round++) {
    const [load] = (await readFile('/proc/loadavg', 'utf8')).split(' ');
    console.log(`round ${round + 1} of ${ROUNDS}, load average ${load}`);
    for (const experiment of all) await runRound(bench, experiment.load, experiment.contenders, round);
    const [ours] = all.flatMap(({ contenders }) => contenders.flatMap(({ readings }) => readings));
    halfCapacity ??= openLoopLoad((ours as Reading).perSecond);
    await runRound(bench, halfCapacity, openLoop, round);
  }
  return [
    ...all.flatMap(({ figures, contenders }) => figures.map((figure) => compare(figure, contenders))),
    ...openLoopRows(halfCapacity?.perSecond as number, openLoop),
  ];
}

const install = await installTriton({ directory: installDirectory, onStep: (step) => console.log(step) });
const scratch = await mkdtemp(join(tmpdir(), 'tritune-bench-'));
// A copy, because the server's Python leaves compiled files next to the models.
await cp(models, join(scratch, 'models'), { recursive: true });
const bench = new Bench(scratch, await perfAnalyzer(install));
try {
  const rows = await measure(bench);
  const processor = cpus()[0]?.model ?? 'processor unknown';
  console.log(`\n${cpus().length} cores (${processor}), ${ROUNDS} rounds, ${new Date().toISOString().slice(0, 10)}`);
  if (bench.restarts > 0) console.log(`the server died and was started anew ${bench.restarts} times`);
  printTable(rows);
} finally {
  await bench.close();
  await rm(scratch, { recursive: true });
}
