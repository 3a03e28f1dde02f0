import { fork, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { cpus } from 'node:os';
import { join, resolve } from 'node:path';
import { median } from 'simple-statistics';
import { withDeadline } from '#base/abort.ts';
import { realClock } from '#base/clock.ts';
import { TrituneError } from '#base/errors.ts';
import { NS_PER_S, NS_PER_US } from '#base/units.ts';
import { cpuNsOf, outputOf } from './client-run.ts';
import { type HttpClient, type HttpReport, httpClients, RUN_S } from './http-peers.ts';

/**
 * Our plain-HTTP mode, hey, wrk and autocannon in turn on a server that does nothing:
 * `npm run bench:http`. Figures are medians; a ratio is the median of the ratios of each round,
 * with their range. `TRITUNE_BENCH_ROUNDS` (3) sets the number of rounds; they take about 35
 * seconds each.
 */
const ROUNDS = Number(process.env.TRITUNE_BENCH_ROUNDS ?? 3);
const CONCURRENCIES = [1, 64] as const;
/** Clients start as they do for users; nothing before this counts. */
const SETTLE_MS = 1000;
const OBSERVED_MS = 2200;
const POLL_MS = 25;
const DEADLINE_MS = (RUN_S + 10) * 1000;

interface Reading extends HttpReport {
  readonly perSecond: number;
  readonly cpuUs: number;
}

interface Figure {
  readonly name: string;
  readonly unit: string;
  readonly higher: boolean;
  readonly of: (reading: Reading) => number;
  /** Who prints it finely enough to be compared with. */
  readonly against: readonly string[];
}

const figures: readonly Figure[] = [
  { name: 'throughput', unit: '/s', higher: true, of: (r) => r.perSecond, against: ['hey', 'wrk', 'autocannon'] },
  { name: 'CPU per request', unit: 'us', higher: false, of: (r) => r.cpuUs, against: ['hey', 'wrk', 'autocannon'] },
  { name: 'p50 latency', unit: 'us', higher: false, of: (r) => r.p50Us, against: ['wrk'] },
  // wrk adds to its latencies what it supposes that stalls kept it from sending: they are no longer
  // those of its requests.
  { name: 'p99 latency', unit: 'us', higher: false, of: (r) => r.p99Us, against: ['hey'] },
];

const server = fork(join(import.meta.dirname, 'http-server.ts'), { execPath: process.execPath });
const told = async (): Promise<number> => {
  const [value] = (await withDeadline(once(server, 'message'), 5000, () => silent)) as [number];
  return value;
};
const silent = new TrituneError('LAUNCH_FAILED', 'the null server does not answer', 'see whether it was ended');
const answered = (): Promise<number> => {
  const answer = told();
  server.send('count');
  return answer;
};

/** Runs a client to its end, and observes its CPU and the server's count meanwhile. */
async function read(client: HttpClient, url: string, concurrency: number): Promise<Reading> {
  const before = await answered();
  const [file, ...args] = client.command(url, concurrency) as [string, ...string[]];
  const child = spawn(file, args, { env: { ...process.env, ...client.env }, stdio: ['ignore', 'pipe', 'pipe'] });
  const deadline = setTimeout(() => child.kill('SIGKILL'), DEADLINE_MS);
  try {
    const output = outputOf(child);
    const [stdout, seen] = await Promise.all([output, observe(child.pid as number, before)]);
    return { ...client.reportOf(stdout), ...seen };
  } finally {
    clearTimeout(deadline);
    child.kill('SIGKILL');
  }
}

async function observe(pid: number, before: number): Promise<Pick<Reading, 'perSecond' | 'cpuUs'>> {
  const startNs = realClock.nowNs();
  while ((await answered()) === before) {
    if (realClock.nowNs() - startNs > RUN_S * NS_PER_S) throw new Error('the client sent nothing');
    await realClock.sleep(POLL_MS);
  }
  await realClock.sleep(SETTLE_MS);
  const sample = async () => {
    const requests = await answered();
    return { atNs: realClock.nowNs(), requests, cpuNs: await cpuNsOf(pid) };
  };
  const first = await sample();
  await realClock.sleep(OBSERVED_MS);
  const last = await sample();
  const requests = last.requests - first.requests;
  return {
    perSecond: (requests * NS_PER_S) / (last.atNs - first.atNs),
    cpuUs: (last.cpuNs - first.cpuNs) / requests / NS_PER_US,
  };
}

type Readings = ReadonlyMap<string, Reading[]>;

/**
 * One row of the table: every client's median, and us against the best of those that can be
 * compared with.
 */
function toRow(figure: Figure, concurrency: number, readings: Readings, names: readonly string[]): string {
  const values = (name: string): number[] => (readings.get(name) ?? []).map(figure.of);
  const cell = (name: string): string => `${brief(median(values(name)))} ${figure.unit}`;
  const rivals = figure.against.filter((name) => names.includes(name));
  const cells = [`${figure.name}, ${concurrency} in flight`, ...names.map(cell)];
  if (rivals.length === 0) return line([...cells, '']);
  const best = rivals.reduce((a, b) => (median(values(b)) > median(values(a)) === figure.higher ? b : a));
  const ratios = values('tritune').map((value, round) => value / (values(best)[round] as number));
  const range = `${Math.min(...ratios).toFixed(2)} to ${Math.max(...ratios).toFixed(2)}`;
  return line([...cells, `${median(ratios).toFixed(2)} (${range}) of ${best}`]);
}

const line = (cells: readonly string[]): string => `| ${cells.join(' | ')} |`;
const brief = (value: number): string => (value >= 100 ? value.toFixed(0) : value.toPrecision(3));

try {
  const url = `http://127.0.0.1:${await told()}/`;
  const directory = resolve(import.meta.dirname, '../.triton/peers/http');
  const clients = await httpClients(directory, (note) => console.log(note));
  const names = clients.map(({ name }) => name);
  const all = CONCURRENCIES.map((concurrency) => ({
    concurrency,
    readings: new Map<string, Reading[]>(names.map((name) => [name, []])),
  }));
  for (let round = 0; round < ROUNDS; round++) {
    const [load] = (await readFile('/proc/loadavg', 'utf8')).split(' ');
    console.log(`round ${round + 1} of ${ROUNDS}, load average ${load}`);
    for (const { concurrency, readings } of all) {
      for (const client of round % 2 === 0 ? clients : clients.toReversed()) {
        readings.get(client.name)?.push(await read(client, url, concurrency));
      }
    }
  }
  const processor = cpus()[0]?.model ?? 'processor unknown';
  console.log(`\n${cpus().length} cores (${processor}), ${ROUNDS} rounds, ${new Date().toISOString().slice(0, 10)}\n`);
  const header = ['figure', ...names, 'ratio to the best (range)'];
  console.log(line(header));
  console.log(line(header.map(() => '---')));
  for (const { concurrency, readings } of all) {
    for (const figure of figures) console.log(toRow(figure, concurrency, readings, names));
  }
} finally {
  server.disconnect();
}
