import { cp, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { median, min } from 'simple-statistics';
import { NS_PER_S, NS_PER_US } from '#base/units.ts';
import { launchLocal } from '#launch/local-server.ts';
import type { LaunchedServer } from '#launch/types.ts';
import type { Measurement } from '#profiler/measurement.ts';
import { readJournal } from '#study/records/journal.ts';
import { type Reading, read, startOurs } from './client-run.ts';
import { tuneRun } from './tune-run.ts';

/**
 * CPU per request of the load generator in the measurements of a study, beside the same load
 * generator alone in a process: `npm run bench:study-cost`. Compared are the levels at which a
 * study measured the original config, which both then send to in the same minutes.
 */
interface Subject {
  readonly model: string;
  /** Values in its input. */
  readonly floats: number;
  readonly budgetMs: number;
}

const SUBJECTS: readonly Subject[] = [
  { model: 'buckets', floats: 64, budgetMs: 15 },
  { model: 'turns', floats: 8, budgetMs: 15 },
  { model: 'floats64', floats: 64, budgetMs: 10 },
  { model: 'image', floats: 153_600, budgetMs: 20 },
];
const ROUNDS = Number(process.env.TRITUNE_BENCH_ROUNDS ?? 2);
const RUNS_ALONE = 3;
const program = resolve(import.meta.dirname, '../dist/cli/main.js');

/** The measurements of the original config, by concurrency. */
async function measuredOriginal(directory: string): Promise<Map<number, Measurement[]>> {
  const records = await readJournal(join(directory, 'journal.jsonl'));
  const measured = records.flatMap((record) =>
    (record.type === 'trial-measured' || record.type === 'final-measured') && record.trial === 0
      ? [record.measurement]
      : [],
  );
  return Map.groupBy(measured, ({ level }) => level.value);
}

async function runsAlone(server: LaunchedServer, { model, floats }: Subject, concurrency: number): Promise<Reading[]> {
  const load = { protocol: 'grpc', model, floats, concurrency } as const;
  const readings: Reading[] = [];
  for (let run = 0; run < RUNS_ALONE; run++) {
    readings.push(await read(server, model, () => startOurs(server.grpcUrl, load, { by: 'us', name: 'unary' })));
  }
  return readings;
}

/**
 * Prints a line for each level; returns its ratios for the threads that send, and for the whole
 * process.
 */
async function compareStudy(server: LaunchedServer, subject: Subject): Promise<(readonly [number, number])[]> {
  const { directory } = await tuneRun(program, server, subject.model, subject.budgetMs);
  const ratios: (readonly [number, number])[] = [];
  for (const [concurrency, measured] of await measuredOriginal(directory)) {
    const sendingUs = median(measured.map(({ client }) => client.cpuUsPerRequest));
    const besideUs = median(
      measured.map(({ client, sendRate }) => ((client.besideCpuShare ?? 0) * NS_PER_S) / NS_PER_US / sendRate),
    );
    const alone = await runsAlone(server, subject, concurrency);
    const aloneUs = median(alone.map(({ cpuUs }) => cpuUs));
    const rates = [median(measured.map(({ sendRate }) => sendRate)), median(alone.map(({ perSecond }) => perSecond))];
    const ratio = [sendingUs / aloneUs, (sendingUs + besideUs) / aloneUs] as const;
    ratios.push(ratio);
    const [requests, cpu] = [
      rates.map((rate) => rate.toFixed(0)),
      [sendingUs, besideUs, aloneUs].map((us) => us.toFixed(1)),
    ];
    console.log(
      `${subject.model}, ${concurrency} in flight: ${requests.join(' and ')} /s; us a request: sending ${cpu[0]}, beside ${cpu[1]}, alone ${cpu[2]}; ratio ${ratio[0].toFixed(2)}`,
    );
  }
  return ratios;
}

const scratch = await mkdtemp(join(tmpdir(), 'tritune-study-cost-'));
await cp(join(import.meta.dirname, 'models'), join(scratch, 'models'), { recursive: true });
const ratios: (readonly [number, number])[] = [];
for (let round = 0; round < ROUNDS; round++) {
  for (const subject of SUBJECTS) {
    const server = await launchLocal({
      modelRepository: join(scratch, 'models'),
      installDirectory: resolve(import.meta.dirname, '../.triton'),
      logDirectory: scratch,
      loadModels: [subject.model],
    });
    ratios.push(...(await compareStudy(server, subject).finally(() => server.stop())));
  }
}
await rm(scratch, { recursive: true });
const sending = ratios.map(([ratio]) => ratio);
console.log(
  `${ratios.length} levels: sending / alone ${median(sending).toFixed(2)} (${min(sending).toFixed(2)} to ${Math.max(...sending).toFixed(2)}), at most 1.3; whole process / alone ${median(ratios.map(([, ratio]) => ratio)).toFixed(2)}`,
);
