import { TrituneError } from '#base/errors.ts';
import type { Step } from './types.ts';

/** A step of a flat list. */
export interface PlannedStep {
  /** Place of its stage in the network. */
  readonly stage: number;
  /** The number of steps that must have ended before it starts. */
  readonly needs: number;
  /** Places of the steps that need it. */
  readonly next: readonly number[];
}

/** Steps without ensembles inside, and the places of those that start with the request. */
export interface Plan {
  readonly steps: readonly PlannedStep[];
  readonly first: readonly number[];
}

/**
 * Returns the plan of steps, with inner ensembles replaced by their steps. `findStage`: the place
 * of a stage by its name.
 */
export function createPlan(steps: readonly Step[], findStage: (name: string) => number): Plan {
  const flat: FlatStep[] = [];
  flatten(steps, [], flat);
  if (flat.length === 0) refuse('it has no steps', 'give one step at least');
  const next = flat.map((): number[] => []);
  for (const [place, { after }] of flat.entries()) for (const each of after) next[each]?.push(place);
  return {
    steps: flat.map(({ stage, after }, place) => ({
      stage: findStage(stage),
      needs: after.length,
      next: next[place] as number[],
    })),
    first: flat.flatMap(({ after }, place) => (after.length === 0 ? [place] : [])),
  };
}

interface FlatStep {
  readonly stage: string;
  readonly after: readonly number[];
}

/**
 * Adds steps to the flat list, the first of which start after `entry`; returns the places of the
 * final ones.
 */
function flatten(steps: readonly Step[], entry: readonly number[], flat: FlatStep[]): readonly number[] {
  const ends: (readonly number[])[] = [];
  const needed = new Set<number>();
  for (const [place, step] of steps.entries()) {
    const wrong = step.after?.find((each) => !Number.isInteger(each) || each < 0 || each >= place);
    if (wrong !== undefined) refuse(`step ${place} comes after step ${wrong}`, 'refer to steps before it, from 0');
    for (const each of step.after ?? []) needed.add(each);
    const after = step.after?.length
      ? [...new Set(step.after.flatMap((each) => ends[each] as readonly number[]))]
      : entry;
    if ('stage' in step) ends.push([flat.push({ stage: step.stage, after }) - 1]);
    else ends.push(flatten(step.steps, after, flat));
  }
  // An empty ensemble ends as soon as it begins.
  if (steps.length === 0) return entry;
  return ends.flatMap((each, place) => (needed.has(place) ? [] : each));
}

/**
 * A step of an ensemble as Triton's config describes it: by the names of the ensemble's tensors.
 */
interface TensorStep {
  readonly stage: string;
  readonly needs: readonly string[];
  readonly gives: readonly string[];
}

/**
 * Returns the steps, each after those that produce the tensors that it needs; `inputs`: the tensors
 * of the request. Throws INPUT_INVALID when no step produces a tensor, or steps wait for each
 * other.
 */
export function stepsByTensors(steps: readonly TensorStep[], inputs: readonly string[]): readonly Step[] {
  const giver = new Map<string, number | null>(inputs.map((name) => [name, null]));
  const ordered: Step[] = [];
  const left = new Set(steps);
  while (left.size > 0) {
    const ready = [...left].find(({ needs }) => needs.every((name) => giver.has(name)));
    if (!ready) {
      const missing = [...left].flatMap(({ needs }) => needs.filter((name) => !giver.has(name)));
      return refuse(`nothing gives ${missing.join(', ')} in time`, 'correct the input and output maps of its steps');
    }
    left.delete(ready);
    const after = new Set(ready.needs.flatMap((name) => giver.get(name) ?? []));
    for (const name of ready.gives) giver.set(name, ordered.length);
    ordered.push({ stage: ready.stage, after: [...after] });
  }
  return ordered;
}

function refuse(what: string, hint: string): never {
  throw new TrituneError('INPUT_INVALID', `no request can go through this ensemble: ${what}`, hint);
}
