import { spawn } from 'node:child_process';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { LaunchedServer } from '#launch/types.ts';
import type { Measurement } from '#profiler/measurement.ts';
import type { ModelConfig } from '#triton/config/model-config.ts';
import { connectGrpc } from '#triton/control/connect.ts';
import { outputOf } from './client-run.ts';
import type { NeutralClient } from './neutral-client.ts';
import type { ClientReading } from './readings.ts';
import type { Program } from './truth-study.ts';

/** Times the recommended level. */
export const AROUND_BEST = [0.7, 0.85, 1, 1.2, 1.45, 1.75];
export const AROUND_BASELINE = [0.85, 1, 1.2];
const SETTLE_SLICE_SECONDS = 2.5;
const READING_SECONDS = 1.8;

/** A config that is measured again, and what was read of it. */
export interface Side {
  readonly config: ModelConfig;
  /** Requests in flight. */
  readonly recommended: number;
  /** infer/s, as somebody said; only for how long the first reading takes. */
  readonly expected: number;
  /** The build that reads it too, at the recommended level; null where none does. */
  readonly own: Program | null;
  readonly levels: readonly number[];
  readonly neutral: Map<number, ClientReading[]>;
  readonly ours: ClientReading[];
}

export interface Court {
  readonly neutral: NeutralClient;
  readonly server: LaunchedServer;
  readonly model: string;
  /** After a full load, under traffic, before anything counts. */
  readonly settleMs: number;
}

/** The recommended level and those around it. */
export function levelsAround(recommended: number, factors: readonly number[]): number[] {
  const levels = factors.map((factor) => Math.max(1, Math.round(factor * recommended)));
  return [...new Set([...levels, recommended])].sort((a, b) => a - b);
}

/**
 * Measures all sides in so many rounds, there and back: A B, B A, A B. What stands at a turn stays
 * loaded; every other load is followed by traffic at the recommended level before anything counts.
 */
export async function judge(sides: readonly Side[], rounds: number, court: Court): Promise<void> {
  let loaded: Side | null = null;
  for (let round = 0; round < rounds; round++) {
    const isBack = round % 2 === 1;
    for (const side of isBack ? [...sides].reverse() : sides) {
      if (side !== loaded) await settle(side, court);
      loaded = side;
      await visit(side, isBack, court);
    }
  }
}

/** Loads a config and keeps the server busy until its first seconds are over. */
async function settle(
  { config, recommended, expected }: Side,
  { neutral, server, model, settleMs }: Court,
): Promise<void> {
  const control = connectGrpc(server.grpcUrl, { loadTimeoutMs: 60_000 });
  await control.load(model, config);
  await control.close();
  const endMs = performance.now() + settleMs;
  let perSecond = expected;
  for (let leftMs = settleMs; leftMs > 0; leftMs = endMs - performance.now()) {
    const seconds = Math.min(SETTLE_SLICE_SECONDS, leftMs / 1e3);
    perSecond = (await neutral(server.grpcUrl, model, recommended, { seconds, perSecond })).throughput;
  }
}

/**
 * One reading at every level, and at the recommended one by our client too, next to the other's.
 */
async function visit(side: Side, isBack: boolean, court: Court): Promise<void> {
  const { neutral, server, model } = court;
  let perSecond = side.expected;
  for (const level of isBack ? [...side.levels].reverse() : side.levels) {
    const isOurs = level === side.recommended && side.own !== null;
    if (isOurs && isBack) side.ours.push(await byOurs(side.own as Program, perSecond, level, court));
    const reading = await neutral(server.grpcUrl, model, level, { seconds: READING_SECONDS, perSecond });
    perSecond = reading.throughput;
    side.neutral.set(level, [...(side.neutral.get(level) ?? []), reading]);
    if (isOurs && !isBack) side.ours.push(await byOurs(side.own as Program, perSecond, level, court));
  }
}

/** What `tritune profile` of that build says of as many requests. */
async function byOurs(
  { file }: Program,
  perSecond: number,
  level: number,
  { server, model }: Court,
): Promise<ClientReading> {
  const scratch = await mkdtemp(join(tmpdir(), 'tritune-truth-'));
  const json = join(scratch, 'r.json');
  const where = ['-m', model, '-u', server.grpcUrl, '-i', 'grpc', '--json', json];
  const requests = Math.ceil(READING_SECONDS * perSecond);
  const load = ['--concurrency-range', `${level}`, '--request-count', `${requests}`];
  await outputOf(spawn(process.execPath, [file, 'profile', ...where, ...load], { stdio: ['ignore', 'pipe', 'pipe'] }));
  const { levels } = JSON.parse(await readFile(json, 'utf8')) as { readonly levels: readonly Measurement[] };
  await rm(scratch, { recursive: true });
  const [measured] = levels as [Measurement];
  return { throughput: measured.throughput.value, p99Ms: measured.latencyMs.p99 };
}
