import { type Choice, listParts, toChoice } from '#perfmodel/modelled-config.ts';
import { listChoices } from '../queueing/choices.ts';
import type { SpaceView } from './space-view.ts';

/** A point of the lattice: indexes among the values of each axis. */
export type Spot = readonly number[];

/** Two axes per model: its largest batches and its numbers of instances. */
export interface Lattice {
  readonly axes: readonly (readonly number[])[];
  at(spot: Spot): Choice | undefined;
}

/** The radius of the neighbourhood, in lattice steps, … */
const RADIUS = 3;
/** … and the axes along which a neighbour differs, at most. */
const MAX_AXES = 2;

/**
 * Returns the lattice of a space. All other parameters keep the first value that the space lists,
 * and queue delays are the shortest.
 */
export function createLattice(space: SpaceView): Lattice {
  const choices = listChoices(space, 0);
  const members = listParts(choices[0] as Choice).map((_, index) =>
    createSpots(choices.map((choice) => listParts(choice)[index] as Choice)),
  );
  const whole = memoize((spot: Spot): Choice | undefined => {
    const parts = members.map(({ at }, index) => at(spot.slice(2 * index, 2 * index + 2)));
    if (parts.includes(undefined)) return undefined;
    const outcome = space.build(Object.assign({}, ...parts.map((part) => part?.candidate.assignment)));
    return outcome.legal ? toChoice(outcome.candidate) : undefined;
  });
  const [only, ...others] = members;
  return { axes: members.flatMap(({ axes }) => axes), at: only && others.length === 0 ? only.at : whole };
}

/** The lattice of one model. */
function createSpots(choices: readonly Choice[]): Lattice {
  const first = choices.find(({ largestBatch }) => largestBatch > 1) ?? choices[0];
  const batches = first !== undefined && first.largestBatch > 1;
  const spots = new Map<string, Choice>();
  for (const choice of choices) {
    const { maxBatchSize, instances } = choice.policy;
    const key = `${maxBatchSize} ${instances}`;
    const known = spots.get(key);
    // If some choices batch, one that could batch and does not is no neighbour of theirs.
    const isAlike = !batches || choice.largestBatch > 1 || maxBatchSize <= 1;
    const fits = choice.settingsKey === first?.settingsKey && isAlike;
    if (fits && (known === undefined || choice.delayUs < known.delayUs)) spots.set(key, choice);
  }
  const values = (of: (choice: Choice) => number): number[] =>
    [...new Set([...spots.values()].map(of))].sort((a, b) => a - b);
  const sizes = values(({ policy }) => policy.maxBatchSize);
  const instances = values(({ policy }) => policy.instances);
  const at = ([batch = 0, count = 0]: Spot): Choice | undefined => spots.get(`${sizes[batch]} ${instances[count]}`);
  return { axes: [sizes, instances], at };
}

function memoize(of: (spot: Spot) => Choice | undefined): (spot: Spot) => Choice | undefined {
  const known = new Map<string, Choice | undefined>();
  return (spot) => {
    const key = spot.join(' ');
    if (!known.has(key)) known.set(key, of(spot));
    return known.get(key);
  };
}

/** Returns the points around one, in the order of their indexes. */
export function neighbours({ axes, at }: Lattice, home: Spot): readonly Spot[] {
  const offsets = Array.from({ length: 2 * RADIUS + 1 }, (_, index) => index - RADIUS);
  const spots = new Map<string, Spot>();
  const add = (spot: Spot, from: number, left: number): void => {
    if (left === 0) return;
    for (let axis = from; axis < axes.length; axis++) {
      for (const offset of offsets) {
        const next = spot.with(axis, (spot[axis] as number) + offset);
        const isOnAxis = axes[axis]?.[next[axis] as number] !== undefined;
        if (offset === 0 || !isOnAxis || distance(next, home) > RADIUS) continue;
        if (at(next) !== undefined) spots.set(next.join(' '), next);
        add(next, axis + 1, left - 1);
      }
    }
  };
  add(home, 0, MAX_AXES);
  return [...spots.values()].sort(inOrder);
}

const inOrder = (a: Spot, b: Spot): number => {
  const axis = a.findIndex((index, at) => index !== b[at]);
  return axis < 0 ? 0 : (a[axis] as number) - (b[axis] as number);
};

/** Returns how far two points are from each other, in lattice steps. */
export const distance = (a: Spot, b: Spot): number =>
  Math.hypot(...a.map((index, axis) => index - (b[axis] as number)));
