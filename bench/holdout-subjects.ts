import { readdirSync } from 'node:fs';
import { cp, mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { loadSpace } from '../src/space/source/load.ts';
import type { Assignment, SearchSpace } from '../src/space/types.ts';

const directory = join(import.meta.dirname, 'holdouts');

/** p99 that each must keep, in milliseconds. Chosen before anything was measured: about five requests' latency. */
const BUDGET_MS: Readonly<Record<string, number>> = {
  convnet: 20,
  quantised: 15,
  pooling: 30,
  downstream: 25,
  ranker: 30,
  refill: 40,
};
/** The part of the space that is swept, and the requests in flight. A parameter that is not named has all of its values. */
const SWEPT: Readonly<Record<string, readonly unknown[]>> = {
  max_batch_size: [1, 8, 32],
  queue_delay_us: [0, 2000],
  instances: [1, 2, 4],
};
export const LEVELS = [1, 4, 12, 32, 96];

/** A real model that the search was not changed by. */
export interface Holdout {
  readonly model: string;
  readonly budgetMs: number;
  /** What a study may set. */
  readonly spaceFile: string;
  readonly space: SearchSpace;
}

/** Those of the names; all where none are named. */
export function holdouts(names: readonly string[] = Object.keys(BUDGET_MS)): Holdout[] {
  const files = new Set(readdirSync(directory));
  return names.map((model) => {
    const budgetMs = BUDGET_MS[model];
    if (budgetMs === undefined) throw new Error(`no hold-out ${model}: ${Object.keys(BUDGET_MS).join(', ')}`);
    const own = `${model}.yaml`;
    const spaceFile = join(directory, files.has(own) ? own : 'space.yaml');
    return { model, budgetMs, spaceFile, space: loadSpace(spaceFile) };
  });
}

export const isSwept = (assignment: Assignment): boolean =>
  Object.entries(assignment).every(([name, value]) => SWEPT[name]?.includes(value) ?? true);

/** A fresh model repository with all of them; the caller removes it. */
export async function holdoutRepository(): Promise<string> {
  const repository = await mkdtemp(join(tmpdir(), 'tritune-holdouts-'));
  for (const model of Object.keys(BUDGET_MS)) {
    await cp(join(directory, model), join(repository, model), { recursive: true });
  }
  return repository;
}

/** Where what was swept is kept. */
export const gridFile = (model: string): string => join(directory, 'grids', `${model}.json`);
