import { TrituneError } from '#base/errors.ts';
import { listed } from '#base/format.ts';
import type { Topology } from '#space/topology.ts';
import type { Goal } from '../types.ts';
import { nameOfModel, partsOfName } from './metrics/of-model.ts';

/**
 * Returns the latency budget in milliseconds of each model that has one in the goal; the smallest
 * if there are several.
 */
export function budgetsOfModels({ constraints }: Pick<Goal, 'constraints'>): Readonly<Record<string, number>> {
  const budgets = new Map<string, number>();
  for (const { metric, relation, value } of constraints) {
    const { base, model } = partsOfName(metric);
    if (base !== 'latency' || relation !== '<=' || model === undefined) continue;
    budgets.set(model, Math.min(value, budgets.get(model) ?? Number.POSITIVE_INFINITY));
  }
  return Object.fromEntries(budgets);
}

/**
 * Returns the goal after checking its metrics of single models against the models that are tuned
 * together; without a topology there are none. Constraints on the only front apply to the whole.
 * Errors: USAGE for another model.
 */
export function goalOverModels(goal: Goal, topology: Topology | undefined): Goal {
  const over = <T extends { readonly metric: string }>(term: T): T => ({
    ...term,
    metric: metricOver(term.metric, topology),
  });
  const { forRate } = goal.cost ?? {};
  for (const model of typeof forRate === 'object' ? Object.keys(forRate) : [])
    metricOver(nameOfModel('throughput', model), topology);
  return { ...goal, constraints: goal.constraints.map(over), objectives: goal.objectives.map(over) };
}

function metricOver(name: string, topology: Topology | undefined): string {
  const { base, model } = partsOfName(name);
  if (model === undefined) return name;
  if (!topology) throw unknown(name, model, 'the study tunes only one model', `write ${base}`);
  const { fronts, stages } = topology;
  const known = [...new Set([...fronts.map((front) => front.model), ...stages])];
  if (!known.includes(model))
    throw unknown(name, model, 'it is not tuned in this study', `the models are ${listed(known)}`);
  return fronts.length === 1 && fronts[0]?.model === model ? base : name;
}

const unknown = (name: string, model: string, why: string, hint: string): TrituneError =>
  new TrituneError('USAGE', `'${name}' is about '${model}', but ${why}`, hint);
