import { canonicalJson } from '#base/json.ts';
import type { Random } from '#base/random.ts';
import { bindSpace } from './bound-space.ts';
import { allowedOptions, type Narrowing } from './narrowing.ts';
import { optionsFor } from './options.ts';
import type { Assignment, Candidate, ParameterValue, SearchSpace } from './types.ts';

/**
 * Returns the wanted values if their parameter applies and may have them; every other parameter
 * that applies gets a random one of its values. null if the narrowing leaves a parameter no value.
 * The space's rules may still forbid the result: `buildCandidate` checks them.
 */
export function completeAssignment(
  space: SearchSpace,
  base: Candidate,
  assignment: Assignment,
  random: Random,
  narrowing: Narrowing = {},
): Assignment | null {
  const bound = bindSpace(space, base);
  const chosen: Record<string, ParameterValue> = {};
  for (const { name } of space.parameters) {
    const possible = optionsFor(bound, name, chosen);
    if (possible.length === 0) continue;
    const options = allowedOptions(narrowing, name, possible);
    if (options.length === 0) return null;
    const asWanted = options.find(({ value }) => isRequested(assignment, name, value));
    const option = asWanted ?? options[random.int(0, options.length - 1)];
    if (option !== undefined) chosen[name] = option.value;
  }
  return chosen;
}

function isRequested(assignment: Assignment, name: string, value: ParameterValue): boolean {
  return Object.hasOwn(assignment, name) && canonicalJson(assignment[name] as ParameterValue) === canonicalJson(value);
}
