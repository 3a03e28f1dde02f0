import { access, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { median } from 'simple-statistics';
import { launchLocal } from '#launch/local-server.ts';
import type { LaunchedServer } from '#launch/types.ts';
import { type Judged, judgePicks, type Pick } from './holdout-judge.ts';
import { gridFile, type Holdout, holdoutRepository, holdouts } from './holdout-subjects.ts';
import { type Swept, sweep } from './holdout-sweep.ts';
import { neutralClient } from './neutral-client.ts';
import { tuneRun } from './tune-run.ts';

/**
 * What studies are worth on models that the search was never changed by: `npm run bench:holdouts`.
 * Six real models, each swept once by a neutral client (`h2load`); the grids are kept in
 * `holdouts/grids`. Each is tuned with three seeds, and what the studies pick is then measured in
 * turn with the four best configs of the grid. About eight minutes for a model, and ten more where
 * it must be swept.
 *
 * - `TRITUNE_BENCH_MODELS` chooses some of them.
 * - `TRITUNE_BENCH_ROUNDS` (3) is how often each config is measured.
 * - `TRITUNE_BENCH_SEEDS` (1,2,3) are those of the studies; none: models are swept only.
 */
const { env } = process;
const SUBJECTS = holdouts(env.TRITUNE_BENCH_MODELS?.split(','));
const ROUNDS = Number(env.TRITUNE_BENCH_ROUNDS ?? 3);
const SEEDS = (env.TRITUNE_BENCH_SEEDS ?? '1,2,3').split(',').filter(Boolean).map(Number);

const root = resolve(import.meta.dirname, '..');
const installDirectory = join(root, '.triton');
const modelRepository = await holdoutRepository();
const scratch = await mkdtemp(join(tmpdir(), 'tritune-holdouts-'));
const neutral = await neutralClient(join(installDirectory, 'peers', 'h2load'));

async function withServer<T>(model: string, work: (server: LaunchedServer) => Promise<T>): Promise<T> {
  const server = await launchLocal({ modelRepository, installDirectory, logDirectory: scratch, loadModels: [model] });
  return work(server).finally(() => server.stop());
}

/** The grid of a model: swept once, then read. */
async function gridOf(subject: Holdout): Promise<Swept[]> {
  const file = gridFile(subject.model);
  const isThere = await access(file).then(
    () => true,
    () => false,
  );
  if (isThere) return JSON.parse(await readFile(file, 'utf8')) as Swept[];
  const grid = await withServer(subject.model, (server) => sweep(subject, ROUNDS, neutral, server));
  await mkdir(dirname(file), { recursive: true });
  await writeFile(file, `[\n${grid.map((each) => JSON.stringify(each)).join(',\n')}\n]\n`);
  return grid;
}

async function picksOf({ model, budgetMs, spaceFile }: Holdout): Promise<Pick[]> {
  const picks: Pick[] = [];
  for (const seed of SEEDS) {
    const { directory, seconds, summary } = await withServer(model, (server) =>
      tuneRun(join(root, 'dist/cli/main.js'), server, model, budgetMs, ['--space', spaceFile, '--seed', `${seed}`]),
    );
    const { best } = summary;
    console.log(`${model}, seed ${seed}: ${seconds.toFixed(0)} s, ${directory}${best ? '' : ', nothing recommended'}`);
    if (best) picks.push({ seed, seconds, best });
  }
  return picks;
}

try {
  const all: Judged[] = [];
  for (const subject of SUBJECTS) {
    const grid = await gridOf(subject);
    const picks = await picksOf(subject);
    if (picks.length === 0) continue;
    const judged = await withServer(subject.model, (server) =>
      judgePicks(subject, grid, picks, { rounds: ROUNDS, neutral, server }),
    );
    for (const each of judged) console.log(lineOf(subject, each));
    all.push(...judged);
  }
  if (all.length > 0) console.log(`\n${closing(all)}`);
} finally {
  await rm(scratch, { recursive: true });
  await rm(modelRepository, { recursive: true });
}

function lineOf({ model, budgetMs }: Holdout, { pick, worth, recommended, keepsBudget }: Judged): string {
  const { best, seed, seconds } = pick;
  const settings = Object.entries(best.assignment).map(([name, set]) => `${name}=${String(set)}`);
  const config = settings.join(' ') || 'the original config';
  const late = keepsBudget ? '' : ' (late)';
  return `${model}, ${budgetMs} ms, seed ${seed}: worth ${worth.toFixed(2)}, at the recommended level ${recommended.toFixed(2)}${late}; ${config}, concurrency ${best.load.value}; ${seconds.toFixed(0)} s`;
}

function closing(all: readonly Judged[]): string {
  const figure = (name: string, of: (each: Judged) => number): string => {
    const values = all.map(of);
    return `${name}: median ${median(values).toFixed(2)}, worst ${Math.min(...values).toFixed(2)}`;
  };
  const kept = all.filter(({ keepsBudget }) => keepsBudget).length;
  return [
    figure("config's worth over the grid's best (0.97, 0.90)", ({ worth }) => worth),
    figure('recommended level over it (0.97, 0.90)', ({ recommended }) => recommended),
    `budget kept: ${kept} of ${all.length}`,
  ].join('\n');
}
