import { type ChildProcess, fork, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { median } from 'simple-statistics';
import { withDeadline } from '#base/abort.ts';
import { TrituneError } from '#base/errors.ts';
import type { Measurement } from '#profiler/measurement.ts';
import { AIPERF, aiperfOptions, writeTokenizer } from './aiperf.ts';

/**
 * The load generator's own CPU for each token of a streamed reply, beside AIPerf's, on a server
 * that does next to nothing: `npm run bench:language-client`. `TRITUNE_BENCH_AIPERF` is the path of
 * its command (`pip install aiperf==0.13.*` in an environment of its own); without it only ours is
 * measured. Each client runs twice, for few and for many requests, and what the many cost more is
 * divided by their tokens: starting, and making prompts, is nobody's figure. Then it reads a
 * thousand streams at once in one thread. `TRITUNE_BENCH_ROUNDS` (3) sets the number of rounds, of
 * about a minute each.
 */
const ROUNDS = Number(process.env.TRITUNE_BENCH_ROUNDS ?? 3);
const TICK_MS = 20;
/** Tokens of a prompt and of its reply. */
const [INPUT, TOKENS] = [100, 64];
const CONCURRENCY = 64;
const [FEW, MANY] = [2 * CONCURRENCY, 12 * CONCURRENCY];
const STREAMS = 1000;
const DEADLINE_MS = 120_000;
/** Linux counts CPU in hundredths of a second. */
const TICKS_PER_S = 100;

const main = resolve(import.meta.dirname, '../src/cli/main.ts');

interface Client {
  readonly name: string;
  readonly command: (url: string, requests: number, directory: string) => readonly string[];
}

const ask = (url: string, concurrency: number, requests: number, json: string): readonly string[] => [
  ...[process.execPath, main, 'profile', '--endpoint', 'openai-chat', '-u', url, '-m', 'm', '--json', json],
  ...['--input-tokens', `${INPUT}`, '--output-tokens', `${TOKENS}`],
  ...['--concurrency-range', `${concurrency}`, '--request-count', `${requests}`],
];

const ours: Client = {
  name: 'tritune',
  command: (url, requests, directory) => ask(url, CONCURRENCY, requests, join(directory, 'out.json')),
};

const aiperf = (command: string, tokenizer: string): Client => ({
  name: 'aiperf',
  command: (url, requests, directory) => [
    ...[command, ...aiperfOptions(url, 'm', tokenizer, directory), '--num-dataset-entries', '64'],
    ...['--concurrency', `${CONCURRENCY}`, '--request-count', `${requests}`, '--isl', `${INPUT}`, '--osl', `${TOKENS}`],
  ],
});

/**
 * CPU seconds of all processes that this one started and that have ended, and of those that they
 * started.
 */
function endedCpuS(): number {
  const fields = readFileSync('/proc/self/stat', 'utf8').split(') ')[1]?.split(' ') ?? [];
  const [user, system] = [fields[13], fields[14]].map(Number) as [number, number];
  return (user + system) / TICKS_PER_S;
}

async function run(args: readonly string[]): Promise<number> {
  const [file, ...rest] = args as [string, ...string[]];
  const before = endedCpuS();
  const child = spawn(file, rest, { stdio: ['ignore', 'ignore', 'pipe'] });
  let said = '';
  child.stderr.on('data', (bytes: Buffer) => {
    said += String(bytes);
  });
  const [code] = (await withDeadline(once(child, 'close'), DEADLINE_MS, () => {
    child.kill('SIGKILL');
    return failed(`${file} did not end`);
  })) as [number | null];
  if (code !== 0) throw failed(`${file} ended with ${code}: ${said.slice(-500)}`);
  return endedCpuS() - before;
}

const failed = (what: string): TrituneError => new TrituneError('LAUNCH_FAILED', what, 'run it by hand');

async function startServer(): Promise<{ readonly url: string; readonly server: ChildProcess }> {
  const server = fork(join(import.meta.dirname, 'language-server.ts'), {
    execPath: process.execPath,
    env: { ...process.env, TICK_MS: `${TICK_MS}` },
  });
  const [port] = (await withDeadline(once(server, 'message'), 5000, () => failed('the server did not start'))) as [
    number,
  ];
  return { url: `127.0.0.1:${port}`, server };
}

/** Microseconds of CPU for each token of those that the many requests have more. */
async function cpuUsPerToken(client: Client, url: string): Promise<number> {
  const directory = await mkdtemp(join(tmpdir(), 'tritune-language-'));
  try {
    const few = await run(client.command(url, FEW, directory));
    const many = await run(client.command(url, MANY, directory));
    return ((many - few) / ((MANY - FEW) * TOKENS)) * 1e6;
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
}

async function thousandStreams(url: string): Promise<void> {
  const directory = await mkdtemp(join(tmpdir(), 'tritune-streams-'));
  const json = join(directory, 'out.json');
  try {
    await run(ask(url, STREAMS, 8 * STREAMS, json));
    const { levels } = JSON.parse(await readFile(json, 'utf8')) as { levels: [Measurement] };
    const [{ tokens, client, errorRate, durationMs }] = levels;
    const rate = tokens?.outputTokensPerSecond.value ?? 0;
    const perToken = client.cpuUsPerRequest / (tokens?.outputTokens.mean ?? 1);
    console.log(
      `${STREAMS} streams at once: ${Math.round(rate)} tokens/s for ${(durationMs / 1e3).toFixed(1)} s, ${(100 * errorRate).toFixed(2)} % failed, ` +
        `${perToken.toFixed(1)} us of CPU a token: ${((rate * perToken) / 1e6).toFixed(2)} of a core, ${client.bound ? `bound: ${client.reason}` : 'not the limit'}; ` +
        `ITL p50 ${tokens?.itlMs.p50.toFixed(1)} ms of ${TICK_MS}, p99 ${tokens?.itlMs.p99.toFixed(1)}`,
    );
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
}

const { url, server } = await startServer();
const scratch = await mkdtemp(join(tmpdir(), 'tritune-tokenizer-'));
try {
  if (AIPERF !== undefined) await writeTokenizer(AIPERF, scratch);
  const clients = [ours, ...(AIPERF === undefined ? [] : [aiperf(AIPERF, scratch)])];
  const figures = clients.map((): number[] => []);
  for (let round = 0; round < ROUNDS; round++) {
    for (const [index, client] of clients.entries()) figures[index]?.push(await cpuUsPerToken(client, url));
    console.log(clients.map(({ name }, index) => `${name} ${figures[index]?.at(-1)?.toFixed(1)} us`).join(', '));
  }
  for (const [index, { name }] of clients.entries()) {
    console.log(`${name}: ${median(figures[index] as number[]).toFixed(1)} us of CPU a token`);
  }
  const [own, theirs] = figures;
  if (own && theirs) {
    const ratios = own.map((us, round) => us / (theirs[round] as number));
    console.log(
      `ratio ${median(ratios).toFixed(3)} (${Math.min(...ratios).toFixed(3)} to ${Math.max(...ratios).toFixed(3)})`,
    );
  }
  await thousandStreams(url);
} finally {
  server.disconnect();
  await rm(scratch, { recursive: true, force: true });
}
