import { readdirSync } from 'node:fs';
import { cp, mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { loadSpace } from '#space/source/load.ts';
import type { Assignment, SearchSpace } from '#space/types.ts';

const directory = join(import.meta.dirname, 'holdouts');

/**
 * The p99 budget of each model, in milliseconds. Chosen before any measurement: about five
 * requests' latency.
 */
const BUDGET_MS: Readonly<Record<string, number>> = {
  convnet: 20,
  quantised: 15,
  pooling: 30,
  downstream: 25,
  ranker: 30,
  refill: 40,
};
/**
 * The swept part of the space, and the requests in flight. Parameters not listed take all of their
 * values.
 */
const SWEPT: Readonly<Record<string, readonly unknown[]>> = {
  max_batch_size: [1, 8, 32],
  queue_delay_us: [0, 2000],
  instances: [1, 2, 4],
};
export const LEVELS = [1, 4, 12, 32, 96];

/** A real model that did not influence the search. */
export interface Holdout {
  readonly model: string;
  readonly budgetMs: number;
  /** What a study may set. */
  readonly spaceFile: string;
  readonly space: SearchSpace;
}

/** Returns the hold-outs with these names; all without names. */
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

/** Creates a fresh model repository with all of them; the caller removes it. */
export async function holdoutRepository(): Promise<string> {
  const repository = await mkdtemp(join(tmpdir(), 'tritune-holdouts-'));
  for (const model of Object.keys(BUDGET_MS)) {
    await cp(join(directory, model), join(repository, model), { recursive: true });
  }
  return repository;
}

/** Returns the path of a model's swept grid. */
export const gridFile = (model: string): string => join(directory, 'grids', `${model}.json`);
