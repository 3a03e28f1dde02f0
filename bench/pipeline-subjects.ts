import type { StudySpecInput } from '#spec/study-spec.ts';

/**
 * Models of the real-server suite that are tuned together, and the part of their space that is
 * searched exhaustively.
 */
export interface PipelineSubject {
  readonly name: string;
  /** Models to load when the server starts. */
  readonly loaded: readonly string[];
  readonly study: StudySpecInput;
  /** Levels of the exhaustive search. */
  readonly levels: readonly number[];
}

const batching = (...instances: number[]) => ({
  parameters: { instances, dynamic_batching: [false, true] },
});
const instances = (...values: number[]) => ({ parameters: { instances: values } });

const searched = { concurrency: { low: 1, high: 64 } };

const all: readonly PipelineSubject[] = [
  {
    // One stage batches well, one not at all, one has a fixed cost.
    name: 'ensemble',
    loaded: ['judge'],
    study: {
      model: 'judge',
      goal: { latencyBudgetMs: 40 },
      space: { members: { tokenizer: instances(1, 2, 3), encoder: batching(1, 2), head: batching(1, 2) } },
      levels: searched,
    },
    levels: [4, 16, 48],
  },
  {
    name: 'bls',
    loaded: ['find_and_name', 'detector', 'classifier'],
    study: {
      model: 'find_and_name',
      together: { blsComposing: { find_and_name: ['detector', 'classifier'] } },
      goal: { latencyBudgetMs: 60 },
      space: {
        members: { find_and_name: instances(1, 2, 4), detector: batching(1), classifier: batching(1, 2) },
      },
      levels: searched,
    },
    levels: [2, 6, 16],
  },
  {
    // They take turns on one device.
    name: 'tenants',
    loaded: ['tenant_large', 'tenant_small'],
    study: {
      model: 'tenant_large',
      together: { models: ['tenant_large', 'tenant_small'] },
      goal: { modelBudgetsMs: { tenant_large: 120, tenant_small: 60 } },
      space: { members: { tenant_large: batching(1, 2), tenant_small: batching(1, 2) } },
      levels: searched,
    },
    levels: [4, 16, 48],
  },
];

/** Errors: for a name that none of them has. */
export function pipelineSubjects(names: readonly string[] = all.map(({ name }) => name)): readonly PipelineSubject[] {
  return names.map((name) => {
    const found = all.find((subject) => subject.name === name);
    if (!found) throw new Error(`no subject ${name}: ${all.map((subject) => subject.name).join(', ')}`);
    return found;
  });
}
