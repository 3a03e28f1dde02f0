import { cp } from 'node:fs/promises';
import { join } from 'node:path';
import { makeModelRepository } from '../test/support/real-triton.ts';

/**
 * A budget that decides much, and one that leaves room, in milliseconds of p99; both above what a
 * busy machine of two cores does by itself.
 */
interface Budgets {
  readonly tight: number;
  readonly loose: number;
}

/**
 * Models of different kinds: two that sleep, two that compute on the cores that everything shares,
 * and one of large inputs.
 */
const BUDGETS_MS: Readonly<Record<string, Budgets>> = {
  sleeper: { tight: 10, loose: 30 },
  mlp_onnx: { tight: 10, loose: 30 },
  image: { tight: 20, loose: 60 },
  buckets: { tight: 15, loose: 50 },
  turns: { tight: 15, loose: 50 },
};
/** Of those, the ones that only benches have. */
const BENCH_MODELS = ['image', 'buckets', 'turns'];

/** What one study is of. */
export interface Subject {
  readonly model: string;
  readonly budgetMs: number;
}

/** Every model with every budget; all of them where none are named. */
export function subjects(models: readonly string[] | undefined, budgets: readonly string[] | undefined): Subject[] {
  return (models ?? Object.keys(BUDGETS_MS)).flatMap((model) => {
    const known = BUDGETS_MS[model];
    if (!known) throw new Error(`no model ${model}: ${Object.keys(BUDGETS_MS).join(', ')}`);
    return (budgets ?? Object.keys(known)).map((name) => {
      const budgetMs = known[name as keyof Budgets];
      if (budgetMs === undefined) throw new Error(`no budget ${name}: ${Object.keys(known).join(', ')}`);
      return { model, budgetMs };
    });
  });
}

/** A fresh model repository with all of them; the caller removes it. */
export async function truthRepository(): Promise<string> {
  const repository = await makeModelRepository();
  for (const model of BENCH_MODELS) {
    await cp(join(import.meta.dirname, 'models', model), join(repository, model), { recursive: true });
  }
  return repository;
}
