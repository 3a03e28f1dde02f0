import { canonicalJson, type Json } from '#base/json.ts';
import { bindSpace, boundTo, type Setting } from './bound-space.ts';
import { toConfig } from './candidate.ts';
import type { Candidate, Parameter, ParameterValue, SearchSpace } from './types.ts';

/**
 * Returns the expected execution time of the candidate relative to one without any expectations in
 * the space: the product of the expectations of its values, or of the base config's own values if
 * the candidate sets none. 1 without expectations.
 */
export function expectedTime(space: SearchSpace, base: Candidate, { assignment }: Candidate): number {
  const bound = boundTo(bindSpace(space, base), assignment);
  return bound.settings.reduce((product, setting) => {
    const { name, expects } = setting.parameter;
    if (expects.size === 0) return product;
    const value = Object.hasOwn(assignment, name) ? assignment[name] : ownValue(setting);
    return product * (value === undefined ? 1 : findTime(setting.parameter, value));
  }, 1);

  /** The value that leaves the base config as it is. */
  function ownValue({ parameter, cases }: Setting): ParameterValue | undefined {
    const options = cases.flatMap((each) => each.options);
    return options.find(({ value }) => {
      const built = toConfig(bound, { [parameter.name]: value });
      return 'config' in built && canonicalJson(built.config as Json) === canonicalJson(bound.base as Json);
    })?.value;
  }
}

const findTime = ({ expects }: Parameter, value: ParameterValue): number =>
  expects.get(typeof value === 'string' ? value : canonicalJson(value)) ?? 1;
