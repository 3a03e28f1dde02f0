import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { median } from 'simple-statistics';
import { launchEmulator } from '#launch/emulator-server.ts';
import type { Measurement } from '#profiler/measurement.ts';
import { AIPERF, aiperfOptions, writeTokenizer } from './aiperf.ts';

/**
 * Times of tokens by tritune and by AIPerf, in turn, on the same server with the same prompts:
 * `npm run bench:language-agreement`, with `TRITUNE_BENCH_AIPERF` as for `language-client.ts`. The
 * server is the emulator, or the one that `TRITUNE_BENCH_SERVER` (HOST:PORT) names. Prints the
 * ratio of the medians, ours to theirs. `TRITUNE_BENCH_ROUNDS` (3), of about a minute each.
 */
const ROUNDS = Number(process.env.TRITUNE_BENCH_ROUNDS ?? 3);
const CONCURRENCY = 4;
const REQUESTS = 60;
const REPLY_TOKENS = 32;
const LIMIT_MS = 240_000;

const run = promisify(execFile);
const main = resolve(import.meta.dirname, '../src/cli/main.ts');

/**
 * Medians in milliseconds. What AIPerf calls its inter-token latency is the time per output token
 * here, and its inter-chunk latency the gap.
 */
interface Medians {
  readonly ttft: number;
  readonly itl: number;
  readonly tpot: number;
  readonly e2e: number;
}

const load = ['--concurrency', `${CONCURRENCY}`, '--request-count', `${REQUESTS}`];

async function ours(url: string, model: string, prompts: string, output: string): Promise<Medians> {
  const json = join(output, 'tritune.json');
  const what = ['profile', '--endpoint', 'openai-chat', '-u', url, '-m', model, '--prompt-file', prompts];
  await run(process.execPath, [main, ...what, '--ignore-eos', ...load, '--json', json], { timeout: LIMIT_MS });
  const { levels } = JSON.parse(await readFile(json, 'utf8')) as { levels: [Measurement] };
  const { tokens, latencyMs } = levels[0];
  if (!tokens) throw new Error('there are no figures of tokens');
  return { ttft: tokens.ttftMs.p50, itl: tokens.itlMs.p50, tpot: tokens.tpotMs.p50, e2e: latencyMs.p50 };
}

async function theirs(aiperf: string, url: string, model: string, prompts: string, output: string): Promise<Medians> {
  const tokenizer = join(output, 'tokenizer');
  await writeTokenizer(aiperf, tokenizer);
  const file = ['--input-file', prompts, '--custom-dataset-type', 'single_turn', '--extra-inputs', 'ignore_eos:true'];
  const args = [...aiperfOptions(url, model, tokenizer, output), ...file, ...load, '--warmup-request-count', '8'];
  await run(aiperf, args, { timeout: LIMIT_MS, maxBuffer: 2 ** 26 });
  type Metric = { readonly p50: number };
  const figures = JSON.parse(await readFile(join(output, 'profile_export_aiperf.json'), 'utf8')) as {
    readonly [name in
      | 'time_to_first_token'
      | 'inter_token_latency'
      | 'inter_chunk_latency'
      | 'request_latency']?: Metric;
  };
  const of = (name: keyof typeof figures): number => figures[name]?.p50 ?? Number.NaN;
  return {
    ttft: of('time_to_first_token'),
    itl: of('inter_chunk_latency'),
    tpot: of('inter_token_latency'),
    e2e: of('request_latency'),
  };
}

const inWords = (medians: Medians): string =>
  Object.entries(medians)
    .map(([name, ms]) => `${name} ${(ms as number).toFixed(2)}`)
    .join(', ');

if (AIPERF === undefined) throw new Error('name its command with TRITUNE_BENCH_AIPERF');
const scratch = await mkdtemp(join(tmpdir(), 'tritune-agreement-'));
const given = process.env.TRITUNE_BENCH_SERVER;
const emulator =
  given === undefined ? await launchEmulator({ script: main, profile: 'llama-7b-a10', logDirectory: scratch }) : null;
const url = given ?? (emulator as NonNullable<typeof emulator>).httpUrl;
const model = process.env.TRITUNE_BENCH_MODEL ?? 'llama';
try {
  const prompts = join(scratch, 'prompts.jsonl');
  const lines = Array.from({ length: 64 }, (_, number) => {
    const text = Array.from(
      { length: 100 },
      (__, word) => ['time', 'water', 'house', 'people'][(number + word * word) % 4],
    );
    return JSON.stringify({ text: `${number} ${text.join(' ')}`, output_length: REPLY_TOKENS });
  });
  await writeFile(prompts, `${lines.join('\n')}\n`);
  const rounds: (readonly [Medians, Medians])[] = [];
  for (let round = 0; round < ROUNDS; round++) {
    const output = await mkdtemp(join(scratch, 'round-'));
    const own = await ours(url, model, prompts, output);
    const peer = await theirs(AIPERF, url, model, prompts, output);
    console.log(`tritune: ${inWords(own)}\nAIPerf:  ${inWords(peer)}`);
    rounds.push([own, peer]);
  }
  for (const name of ['ttft', 'itl', 'tpot', 'e2e'] as const) {
    const ratios = rounds.map(([own, peer]) => own[name] / peer[name]);
    const range = `${Math.min(...ratios).toFixed(3)} to ${Math.max(...ratios).toFixed(3)}`;
    console.log(`${name}: ratio of the medians ${median(ratios).toFixed(3)} (${range})`);
  }
} finally {
  await emulator?.stop();
  await rm(scratch, { recursive: true, force: true });
}
