import { spawn } from 'node:child_process';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { median } from 'simple-statistics';
import type { LaunchedServer } from '#launch/types.ts';
import type { ModelConfig } from '#triton/config/model-config.ts';
import { connectGrpc } from '#triton/control/connect.ts';
import { outputOf } from './client-run.ts';
import type { NeutralClient } from './neutral-client.ts';
import type { perfAnalyzer } from './peers.ts';
import { bestByRound, bestWithin, type ClientReading, computeMedian, inWords } from './readings.ts';

/** A recommendation, and how long it took. */
export interface Advice {
  readonly by: string;
  readonly seconds: number;
  readonly config: ModelConfig;
  /** Configs of other models, which are loaded before it. */
  readonly members?: readonly ModelConfig[];
  readonly concurrency: number;
  /** Its own claims: infer/s and p99 in ms. */
  readonly claims: string;
}

type PerfAnalyzer = Awaited<ReturnType<typeof perfAnalyzer>>;

/** The judge, and the server. */
interface Court {
  readonly neutral: NeutralClient;
  readonly peer: PerfAnalyzer;
  readonly server: LaunchedServer;
  readonly model: string;
}

/**
 * Times a recommended level: a config is judged by what it serves within the budget, at whichever
 * of these.
 */
const AROUND = [0.25, 0.35, 0.5, 0.7, 1, 1.4];
/** Levels nearer to each other than this are one, but for the recommended ones. */
const APART = 1.12;

/** The same for all: a config is no better for having been recommended at a higher level. */
export function levelsFor(advices: readonly Advice[]): number[] {
  const recommended = advices.map(({ concurrency }) => concurrency);
  const around = recommended.flatMap((each) => AROUND.map((factor) => Math.max(1, Math.round(factor * each))));
  const levels = [...new Set(recommended)];
  for (const level of around) {
    if (levels.every((each) => Math.max(each / level, level / each) > APART)) levels.push(level);
  }
  return levels.sort((a, b) => a - b);
}

/** Readings of an advice, by level, one of each round; perf_analyzer's apart. */
interface Judgement {
  readonly neutral: Map<number, ClientReading[]>;
  readonly nvidia: ClientReading[];
}

/** A recommendation, and its measurements. */
export interface Judged {
  readonly advice: Advice;
  readonly judgement: Judgement;
}

export const unjudged = (advice: Advice): Judged => ({ advice, judgement: { neutral: new Map(), nvidia: [] } });

/** Loads the recommendation and measures it once at each of the levels. */
export async function judge(
  { advice, judgement }: Judged,
  levels: readonly number[],
  { server, model, ...judges }: Court,
): Promise<void> {
  const control = connectGrpc(server.grpcUrl, { loadTimeoutMs: 60_000 });
  for (const member of advice.members ?? []) await control.load(member.name ?? '', member);
  await control.load(model, advice.config);
  await control.close();
  for (const level of levels) {
    const readings = judgement.neutral.get(level) ?? [];
    judgement.neutral.set(level, [...readings, await judges.neutral(server.grpcUrl, model, level)]);
  }
  judgement.nvidia.push(await byPerfAnalyzer(judges.peer, server, model, advice.concurrency));
}

async function byPerfAnalyzer(
  peer: PerfAnalyzer,
  server: LaunchedServer,
  model: string,
  concurrency: number,
): Promise<ClientReading> {
  const scratch = await mkdtemp(join(tmpdir(), 'tritune-judge-'));
  const csv = join(scratch, 'r.csv');
  const target = ['-m', model, '-u', server.grpcUrl, '-i', 'grpc', '--async', '--max-threads', '2', '-f', csv];
  const windows = ['-p', '1500', '-r', '3', '-s', '999', '--concurrency-range', `${concurrency}`];
  const env = { ...process.env, LD_LIBRARY_PATH: peer.libraryDirectory };
  await outputOf(spawn(peer.file, [...target, ...windows], { env, stdio: ['ignore', 'pipe', 'pipe'] }));
  const [header, row] = (await readFile(csv, 'utf8'))
    .trim()
    .split('\n')
    .map((line) => line.split(','));
  await rm(scratch, { recursive: true });
  const column = (name: string): number => Number(row?.[header?.indexOf(name) ?? -1]);
  return { throughput: column('Inferences/Second'), p99Ms: column('p99 latency') / 1e3 };
}

/** Compares two that were judged in turn, round by round. */
export function ratioLine(one: Judged, other: Judged, budgetMs: number): string {
  const theirs = bestByRound(other.judgement.neutral, budgetMs);
  const ratios = bestByRound(one.judgement.neutral, budgetMs).map(
    (served, round) => served / (theirs[round] ?? Number.NaN),
  );
  const [least, most] = [Math.min(...ratios), Math.max(...ratios)].map((ratio) => ratio.toFixed(2));
  const time = (one.advice.seconds / other.advice.seconds).toFixed(2);
  const served = `${median(ratios).toFixed(2)} (${least} to ${most} by round)`;
  return `${one.advice.by} / ${other.advice.by}: served within the budget ${served}, time ${time}`;
}

export function report({ advice, judgement }: Judged, budgetMs: number): string[] {
  const { by, seconds, config, members = [config], concurrency, claims } = advice;
  const { neutral, nvidia } = judgement;
  const levels = [...neutral].map(([level, readings]) => ({ level, ...computeMedian(readings) }));
  const own = levels.find(({ level }) => level === concurrency);
  const best = bestWithin(levels, budgetMs);
  return [
    `${by}: ${seconds.toFixed(0)} s; ${members.map(settingsIn).join('; ')}, concurrency ${concurrency}`,
    `  it says                        ${claims}`,
    `  neutral client                 ${own ? inWords(own) : ''}`,
    `  within the budget at best      ${best ? `${inWords(best)} at concurrency ${best.level}` : 'nothing'}`,
    `  perf_analyzer                  ${inWords(computeMedian(nvidia))}`,
  ];
}

const settingsIn = ({
  name,
  instance_group: groups = [],
  max_batch_size: batch,
  dynamic_batching: joins,
}: ModelConfig) =>
  `${name} ${groups.map(({ count }) => count).join('+')} instances, batch ${batch}${joins ? '' : ', not batched'}`;
