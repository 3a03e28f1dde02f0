import { parametersIn } from '../condition.ts';
import type { Parameter } from '../types.ts';
import type { JoinedSpace } from './inherit.ts';
import { spaceInvalid } from './source-fault.ts';

const rank = { expensive: 0, reload: 1, 'in-place': 2 } as const;

/** The possible values of the others depend on the model. */
const computeRank = ({ cases, change }: Parameter): number =>
  cases.some(({ options }) => options.some(({ model }) => model !== undefined)) ? -1 : rank[change];

/**
 * Orders the parameters for choosing: the one that chooses a model first; those that a condition
 * reads before the parameter with the condition; and otherwise the most expensive change first, so
 * that enumeration varies the cheap in-place changes fastest. Errors: SPACE_INVALID for circular
 * conditions.
 */
export function orderParameters(parameters: readonly Parameter[], joined: JoinedSpace): Parameter[] {
  const ordered: Parameter[] = [];
  const waiting = new Set(parameters);
  const chosen = new Set<string>();
  const inSpace = new Set(parameters.map(({ name }) => name));
  const isReady = (parameter: Parameter): boolean =>
    conditionsOn(parameter).every((name) => chosen.has(name) || !inSpace.has(name));
  while (waiting.size > 0) {
    const next = [...waiting].filter(isReady).sort((a, b) => computeRank(a) - computeRank(b))[0];
    if (next === undefined) throw circleFault([...waiting], joined);
    waiting.delete(next);
    chosen.add(next.name);
    ordered.push(next);
  }
  return ordered;
}

function conditionsOn(parameter: Parameter): string[] {
  return parameter.cases.flatMap(({ when }) => parametersIn(when));
}

function circleFault(circle: readonly Parameter[], joined: JoinedSpace): Error {
  const names = circle.map(({ name }) => `'${name}'`).join(', ');
  const at = joined.parameters.get(circle[0]?.name ?? '')?.findPlace('when');
  const reason = `the conditions of ${names} depend on each other in a circle`;
  return spaceInvalid(at?.place ?? { label: joined.name, position: () => null }, at?.path ?? [], reason);
}
