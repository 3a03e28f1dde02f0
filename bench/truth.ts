import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { launchLocal } from '#launch/local-server.ts';
import type { LaunchedServer } from '#launch/types.ts';
import type { SummaryPoint } from '#study/summary/point-schema.ts';
import { neutralClient } from './neutral-client.ts';
import { type Found, found } from './truth-figures.ts';
import { AROUND_BASELINE, AROUND_BEST, judge, levelsAround, type Side } from './truth-judge.ts';
import { type Program, type Study, study } from './truth-study.ts';
import { type Subject, subjects, truthRepository } from './truth-subjects.ts';
import { linesOf, rowsOf, tableOf, wallTimeRow } from './truth-table.ts';

/**
 * How far to believe a study: `npm run bench:truth`. Five models with two budgets each are tuned on
 * a real Triton. Some minutes after each study, when the next one has run, its best config and the
 * original one are loaded in turn, there and back, and measured by a neutral client (`h2load`) at
 * the recommended level and its neighbours. Counting begins ten seconds after a load, and ratios
 * are taken within rounds. About 25 minutes for all ten.
 *
 * - `TRITUNE_BENCH_MODELS` (sleeper,mlp_onnx,image,buckets,turns) and `TRITUNE_BENCH_BUDGETS`
 *   (tight,loose) choose the studies.
 * - `TRITUNE_BENCH_ROUNDS` (3) is how often each config is measured again.
 * - `TRITUNE_BENCH_PROGRAM` is the `dist/cli/main.js` that is looked at, this checkout's when not
 *   given.
 * - `TRITUNE_BENCH_BEFORE` is that of an earlier build: it runs the same studies, in turn, and its
 *   recommendation is measured too.
 */
const { env } = process;
const SUBJECTS = subjects(env.TRITUNE_BENCH_MODELS?.split(','), env.TRITUNE_BENCH_BUDGETS?.split(','));
const ROUNDS = Number(env.TRITUNE_BENCH_ROUNDS ?? 3);
const SETTLE_MS = 10_000;

const root = resolve(import.meta.dirname, '..');
const installDirectory = join(root, '.triton');
const now: Program = { by: 'this build', file: resolve(env.TRITUNE_BENCH_PROGRAM ?? join(root, 'dist/cli/main.js')) };
const before: Program | null = env.TRITUNE_BENCH_BEFORE
  ? { by: 'the earlier build', file: resolve(env.TRITUNE_BENCH_BEFORE) }
  : null;

const modelRepository = await truthRepository();
const scratch = await mkdtemp(join(tmpdir(), 'tritune-truth-'));
const neutral = await neutralClient(join(installDirectory, 'peers', 'h2load'));

async function withServer<T>(model: string, work: (server: LaunchedServer) => Promise<T>): Promise<T> {
  const server = await launchLocal({ modelRepository, installDirectory, logDirectory: scratch, loadModels: [model] });
  return work(server).finally(() => server.stop());
}

/** The studies of one subject by all builds, each on a server of its own. */
async function studiesOf(subject: Subject, isBack: boolean): Promise<Study[]> {
  const programs = before ? [now, before] : [now];
  const studies: Study[] = [];
  for (const program of isBack ? programs.reverse() : programs) {
    studies.push(await withServer(subject.model, (server) => study(program, server, subject)));
  }
  return studies.sort((a, b) => Number(b.program === now) - Number(a.program === now));
}

const sideOf = (point: SummaryPoint, own: Program | null, levels: readonly number[]): Side => ({
  config: point.config,
  recommended: point.load.value,
  expected: point.throughput.value ?? 0,
  own,
  levels,
  neutral: new Map(),
  ours: [],
});

/** Measures again what the builds recommend for a subject. */
async function lookAgain(subject: Subject, studies: readonly Study[]): Promise<Found[]> {
  const bests = studies.map(({ program, summary: { best } }) =>
    best ? sideOf(best, program, levelsAround(best.load.value, AROUND_BEST)) : undefined,
  );
  const baselines = studies.map(({ summary }) => summary.baseline ?? undefined);
  const [first] = baselines.flatMap((each) => each ?? []);
  const levels = baselines.flatMap((each) => (each ? levelsAround(each.load.value, AROUND_BASELINE) : []));
  const baseline =
    first &&
    sideOf(
      first,
      null,
      [...new Set(levels)].sort((a, b) => a - b),
    );
  const sides = [...bests, baseline].filter((side) => side !== undefined);
  const startMs = Date.now();
  await withServer(subject.model, (server) =>
    judge(sides, ROUNDS, { neutral, server, model: subject.model, settleMs: SETTLE_MS }),
  );
  const judgedMs = (startMs + Date.now()) / 2;
  return studies.map((each, index) => {
    const level = baselines[index]?.load.value;
    const beside = baseline && level !== undefined ? { side: baseline, level } : undefined;
    const outcome = found(subject, each, bests[index], beside, judgedMs);
    console.log(`\n${linesOf(outcome).join('\n')}\n`);
    return outcome;
  });
}

try {
  const startMs = performance.now();
  const all: Found[] = [];
  let waiting: (() => Promise<Found[]>) | null = null;
  for (const [index, subject] of SUBJECTS.entries()) {
    const studies = await studiesOf(subject, index % 2 === 1);
    all.push(...((await waiting?.()) ?? []));
    waiting = () => lookAgain(subject, studies);
  }
  all.push(...((await waiting?.()) ?? []));
  const by = (program: Program): Found[] => all.filter((each) => each.study.program === program);
  console.log(tableOf(now.by, [...rowsOf(by(now)), ...(before ? [wallTimeRow(by(now), by(before))] : [])]));
  if (before) console.log(`\n${tableOf(before.by, rowsOf(by(before)))}`);
  console.log(`\n${SUBJECTS.length} studies in ${((performance.now() - startMs) / 60e3).toFixed(1)} minutes`);
} finally {
  await rm(scratch, { recursive: true });
  await rm(modelRepository, { recursive: true });
}
