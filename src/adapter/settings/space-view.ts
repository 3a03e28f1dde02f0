import type { Random } from '#base/random.ts';
import { allows, type Narrowing, whyRuledOut } from '#space/narrowing.ts';
import type { Assignment, ParameterValue } from '#space/types.ts';
import type { SpaceView } from '#study/search/samplers/space-view.ts';
import type { ServerAdapter } from '#tuner/adapter.ts';

type Settings = Readonly<Record<string, readonly ParameterValue[]>>;

/**
 * Returns every combination of the settings' values that the narrowing allows; the last setting
 * varies fastest.
 */
export function viewSettings(
  settings: Settings,
  { build }: Pick<ServerAdapter, 'build'>,
  narrowing: Narrowing = {},
): SpaceView {
  const left = Object.entries(settings).map(
    ([name, values]) => [name, values.filter((value) => allows(narrowing, name, value))] as const,
  );
  const draw = (random: Random): Assignment =>
    Object.fromEntries(left.map(([name, values]) => [name, values[random.int(0, values.length - 1)] ?? null]));
  return {
    assignments: () => combinations(left),
    sample: draw,
    complete: (assignment, random) =>
      left.every(([, values]) => values.length > 0) ? { ...draw(random), ...assignment } : null,
    build: (assignment) => {
      const reason = whyRuledOut(narrowing, assignment);
      return reason === null ? build(assignment) : { legal: false, reason };
    },
  };
}

/** Returns the number of combinations. */
export const combinationCount = (settings: Settings): number =>
  Object.values(settings).reduce((count, values) => count * values.length, 1);

function* combinations(settings: readonly (readonly [string, readonly ParameterValue[]])[]): Generator<Assignment> {
  const [first, ...others] = settings;
  if (!first) {
    yield {};
    return;
  }
  const [name, values] = first;
  for (const value of values) for (const rest of combinations(others)) yield { [name]: value, ...rest };
}
