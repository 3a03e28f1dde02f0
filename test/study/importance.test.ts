import { describe, expect, it } from 'vitest';
import { computeImportance, tellingParameters } from '#study/analysis/importance.ts';
import type { StudyState } from '#study/records/state.ts';
import type { Trial } from '#study/types.ts';
import { configOf, goalOf, measured, studyStarted, toCandidate, trialOf } from './builders.ts';

type Point = Readonly<Record<string, number>>;

function studyOf(
  points: readonly Point[],
  throughput: (point: Point) => number,
  more: Partial<Trial> = {},
): StudyState {
  const goal = goalOf(50);
  const trials = points.map((point, number) =>
    trialOf(number, configOf(number + 1, 4), {
      candidate: toCandidate(configOf(number + 1, 4), point),
      measurements: [measured(4, throughput(point), 5)],
      ...more,
    }),
  );
  return { started: studyStarted(goal), goal, trials, compared: { trials } } as unknown as StudyState;
}

const product = (a: readonly number[], b: readonly number[]): Point[] =>
  a.flatMap((x) => b.map((y) => ({ x, y, z: 1 })));

/** The same study with other trials, its machine's speed steady. */
const withTrials = (state: StudyState, trials: readonly Trial[]): StudyState => ({
  ...state,
  trials,
  compared: { ...state.compared, trials },
});

describe('the importance of parameters', () => {
  it('finds each factor of a product again, the strongest first', () => {
    const state = studyOf(product([1, 2, 4, 8], [0, 1, 2]), ({ x = 1, y = 0 }) => 100 * x * 1.2 ** y);
    const importance = computeImportance(state);
    const [first, second, third] = importance?.parameters ?? [];
    expect([first?.name, second?.name, third?.name]).toEqual(['x', 'y', 'z']);
    expect(first?.verdict).toBe('moved');
    expect(Math.abs((first?.factor ?? 0) / 8 - 1)).toBeLessThan(0.25);
    expect(first?.values[0]).toMatchObject({ value: '8', trials: 3, factor: 1 });
    expect(second?.factor).toBeGreaterThan(1.35);
    expect(second?.factor).toBeLessThan(1.5);
    expect(third?.verdict).toBe('not varied');
    expect(importance?.predictedShare).toBeGreaterThan(0.9);
    expect(importance?.isScarce).toBe(false);
  });

  it('calls nothing an effect that lies within what measurements differ by', () => {
    // builders.measured gives every throughput an interval of 2 % to either side.
    const state = studyOf(product([1, 2], [0, 1, 2]), ({ x = 1, y = 0 }) => 100 * x * (y === 1 ? 1.004 : 1));
    const y = computeImportance(state)?.parameters.find(({ name }) => name === 'y');
    expect(y).toMatchObject({ verdict: 'within noise', pairs: { count: 6 } });
  });

  it('counts pairs that differ in one parameter only, and their largest ratio', () => {
    const points = [
      { x: 1, y: 1 },
      { x: 2, y: 1 },
      { x: 2, y: 3 },
    ];
    const parameters = computeImportance(studyOf(points, ({ x = 1, y = 1 }) => 100 * x * y))?.parameters ?? [];
    const pairsOf = (name: string) => parameters.find((parameter) => parameter.name === name)?.pairs;
    expect(pairsOf('x')).toEqual({ count: 1, largest: expect.closeTo(2, 6) });
    expect(pairsOf('y')).toEqual({ count: 1, largest: expect.closeTo(3, 6) });
  });

  it('admits that it predicts nothing where parameters only work together, and that few trials are few', () => {
    const tangled = computeImportance(studyOf(product([0, 1], [0, 1]), ({ x = 0, y = 0 }) => (x === y ? 400 : 100)));
    expect(tangled?.predictedShare).toBeLessThan(0.5);
    expect(tangled?.isScarce).toBe(true);
    // What remains are direct comparisons; without any, nothing is said.
    expect(tangled && tellingParameters(tangled).map(({ name }) => name)).toEqual(['x', 'y']);
    const apart = computeImportance(
      studyOf(
        [
          { x: 0, y: 0 },
          { x: 1, y: 1 },
          { x: 2, y: 2 },
          { x: 3, y: 3 },
        ],
        ({ x = 0 }) => (x % 2 ? 400 : 100),
      ),
    );
    expect(apart?.predictedShare).toBeLessThan(0.5);
    expect(apart && tellingParameters(apart)).toEqual([]);
  });

  it('tells values apart however late they differ', () => {
    const long = 'x'.repeat(400);
    const state = studyOf([{ x: 1 }, { x: 2 }], ({ x = 1 }) => 100 * x);
    const trials = state.trials.map((trial, number) => ({
      ...trial,
      candidate: { ...trial.candidate, assignment: { text: `${long}${number}` } },
    }));
    expect(computeImportance(withTrials(state, trials))?.parameters[0]).toMatchObject({
      name: 'text',
      verdict: 'moved',
    });
  });

  it('leaves out what missed the goal, and is silent about one trial', () => {
    const state = studyOf(product([1, 2], [1]), () => 100);
    const trials = [state.trials[0] as Trial, { ...(state.trials[1] as Trial), feasible: false }];
    expect(computeImportance(withTrials(state, trials))).toBeNull();
    expect(computeImportance(studyOf([], () => 1))).toBeNull();
  });
});
