import { readdirSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { basename, join } from 'node:path';
import type { ParseArgsOptionsConfig } from 'node:util';
import { isMainThread, Worker } from 'node:worker_threads';
import { pipelineProblem } from '../lab/pipelines/pipeline-problem.ts';
import { pipelineAt } from '../lab/pipelines/pipelines.ts';
import type { TestProblem } from '../lab/problems/problem.ts';
import { recordedGrids, toGrid } from '../lab/problems/problems.ts';
import { scenario } from '../lab/problems/scenarios.ts';

/**
 * Options that choose the problems of a benchmark of the sampler: `--models 200-247` are made-up
 * models, `--recorded` the built-in grids, `--grids DIR` grid files, `--pipelines 0,4,8` made-up
 * pipelines. `--seeds 1-4` plays each with these seeds; a made-up model is played with one of them.
 */
export const problemOptions = {
  models: { type: 'string' },
  recorded: { type: 'boolean', default: false },
  grids: { type: 'string', multiple: true, default: [] },
  pipelines: { type: 'string' },
  seeds: { type: 'string', default: '1' },
  threads: { type: 'string', default: String(availableParallelism()) },
} satisfies ParseArgsOptionsConfig;

interface ProblemChoice {
  readonly models?: string | undefined;
  readonly recorded: boolean;
  readonly grids: readonly string[];
  readonly pipelines?: string | undefined;
  readonly seeds: string;
}

/** The kinds of problems, with their titles. */
export const KINDS = {
  model: 'made-up models',
  recorded: 'recorded grids',
  grid: 'grids',
  pipeline: 'made-up pipelines',
};
export type Kind = keyof typeof KINDS;

/** A problem with the seed that it is played with. */
export interface Task {
  readonly kind: Kind;
  /** The number of a made-up model or pipeline, the index of a recorded grid, or a grid's file. */
  readonly name: string;
  readonly seed: number;
}

/** Returns `3-5` as 3, 4, 5, and `0,4` as 0, 4. */
function numbersIn(list: string): number[] {
  return list.split(',').flatMap((part) => {
    const [first = 0, last = first] = part.split('-').map(Number);
    return Array.from({ length: last - first + 1 }, (_, index) => first + index);
  });
}

/** Lists what the options choose, each with its seed. */
export function listTasks(options: ProblemChoice): Task[] {
  const seeds = numbersIn(options.seeds);
  const models = options.models ? numbersIn(options.models) : [];
  const pipelines = options.pipelines ? numbersIn(options.pipelines) : [];
  const files = options.grids.flatMap((folder) =>
    readdirSync(folder)
      .filter((file) => file.endsWith('.json'))
      .sort()
      .map((file) => join(folder, file)),
  );
  const recorded = options.recorded ? recordedGrids().map((_, index) => String(index)) : [];
  return [
    ...models.map((number, index): Task => {
      return { kind: 'model', name: String(number), seed: seeds[index % seeds.length] ?? 1 };
    }),
    ...seeds.flatMap((seed): Task[] => [
      ...recorded.map((name): Task => ({ kind: 'recorded', name, seed })),
      ...files.map((name): Task => ({ kind: 'grid', name, seed })),
      ...pipelines.map((number): Task => ({ kind: 'pipeline', name: String(number), seed })),
    ]),
  ];
}

/** Errors: those of reading a grid's file. */
export function openProblem({ kind, name }: Task): TestProblem {
  if (kind === 'pipeline') return pipelineProblem(pipelineAt(Number(name)));
  if (kind === 'model') return scenario(Number(name));
  if (kind === 'recorded') return recordedGrids()[Number(name)] as TestProblem;
  // The same name is that of another grid in another folder.
  return { ...toGrid(name), name: `${basename(join(name, '..'))}/${basename(name, '.json')}` };
}

/**
 * Plays tasks on threads, each of which runs the program at `url` with its part of them. `tell`
 * gets every message.
 */
export async function playOnThreads<Part, Row>(
  url: string,
  tasks: readonly Part[],
  threads: number,
  tell: (row: Row) => void,
): Promise<void> {
  if (!isMainThread) throw new Error('a thread starts no others');
  const count = Math.min(tasks.length, threads);
  await Promise.all(
    Array.from({ length: count }, (_, thread) => {
      const part = tasks.filter((_, index) => index % count === thread);
      const worker = new Worker(new URL(url), { workerData: part, argv: process.argv.slice(2) });
      worker.on('message', tell);
      return new Promise<void>((done, fail) => {
        worker.on('error', fail);
        worker.on('exit', (code) => (code === 0 ? done() : fail(new Error(`a thread ended with ${code}`))));
      });
    }),
  );
}
