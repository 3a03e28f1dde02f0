import { expect, it } from 'vitest';
import { type Prior, type PriorStudy, startingFrom } from '#study/search/samplers/prior-studies.ts';
import type { SpaceView } from '#study/search/samplers/space-view.ts';
import type { History, Proposal, Sampler, Trial } from '#study/types.ts';
import { configOf, goalOf, measured, toCandidate, trialOf } from './builders.ts';

const candidate = (instances: number): Trial['candidate'] => ({
  ...toCandidate(configOf(instances, 4)),
  assignment: { instances },
});
const MAX_INSTANCES = 3;
const space: SpaceView = {
  assignments: () => [],
  sample: () => ({}),
  complete: () => null,
  build: ({ instances }) =>
    Number(instances) <= MAX_INSTANCES
      ? { legal: true, candidate: candidate(Number(instances)) }
      : { legal: false, reason: 'too many instances' },
};
const levels = { mode: 'concurrency', low: 1, high: 16 } as const;
const others: Proposal = { kind: 'trial', assignment: { instances: 1 }, levels: { kind: 'search' } };
const plain: Sampler = { ask: () => others, level: () => 8, comesBack: true };
const left = { trials: Number.POSITIVE_INFINITY, seconds: Number.POSITIVE_INFINITY };

const trial = (number: number, instances: number, ...measurements: Trial['measurements']): Trial =>
  trialOf(number, configOf(instances, 4), { candidate: candidate(instances), measurements });
const earlier: PriorStudy = {
  name: 'runs/a',
  trials: [
    trial(0, 1, measured(1, 100, 10)),
    trial(1, 2, measured(4, 300, 14), measured(8, 400, 20)),
    trial(2, 3, measured(4, 350, 12), measured(8, 500, 16), measured(32, 900, 18)),
    trial(3, 4, measured(8, 700, 12)),
  ],
};
const startOf = (latencyMs: number, baseline: Trial, mode: 'concurrency' | 'request-rate' = 'concurrency') =>
  startingFrom(plain, [earlier], { space, goal: goalOf(latencyMs), levels: { ...levels, mode } }).ask(
    { trials: [baseline] },
    left,
  );
const start = (instances: number, level: number) => ({
  kind: 'trial',
  assignment: { instances },
  levels: { kind: 'search', start: level },
  prior: 'runs/a',
});

it('starts with the best of an earlier study that the space and the levels have', () => {
  expect(startOf(17, trial(0, 1, measured(1, 100, 10)))).toEqual(start(3, 8));
  expect(startOf(15, trial(0, 1, measured(1, 100, 10)))).toEqual(start(3, 4));
});

it('at the speed of this server', () => {
  const twiceAsSlow = trial(0, 1, measured(1, 50, 20));
  expect(startOf(33, twiceAsSlow)).toEqual(start(3, 8));
  expect(startOf(25, twiceAsSlow)).toEqual(start(3, 4));
  // Nothing of the earlier study would be fast enough here.
  expect(startOf(15, twiceAsSlow)).toEqual(others);
});

it('with as large a share of the rate that this server can have', () => {
  const rate = (value: number, latencyMs: number) =>
    measured(1, value, latencyMs, { level: { mode: 'request-rate', value } });
  const prior = { name: 'runs/a', trials: [trial(0, 1, rate(10, 10)), trial(1, 2, rate(40, 12))] };
  const searched = { space, goal: goalOf(30), levels: { mode: 'request-rate', low: 1, high: 100 } } as const;
  const slow = trial(0, 1, rate(10, 20));
  expect(startingFrom(plain, [prior], searched).ask({ trials: [slow] }, left)).toEqual(start(2, 20));
  // A closed loop says nothing about rates.
  expect(startOf(30, trial(0, 1, rate(10, 10)), 'request-rate')).toEqual(others);
});

it('only once, and the original config has one level before', () => {
  const sampler = startingFrom(plain, [earlier], { space, goal: goalOf(17), levels });
  const baseline = trial(0, 1, measured(1, 100, 10));
  const history: History = { trials: [] };
  const running = { number: 0, role: 'baseline', candidate: baseline.candidate } as const;
  expect(sampler.level?.(history, { ...running, measurements: [] })).toBe(8);
  expect(sampler.level?.(history, { ...running, measurements: baseline.measurements })).toBeNull();
  const onward = startingFrom({ ...plain, comesBack: false }, [earlier], { space, goal: goalOf(17), levels });
  expect(onward.level?.(history, { ...running, measurements: baseline.measurements })).toBe(8);
  const after = { trials: [baseline, trial(1, 3, measured(8, 500, 16))] };
  expect(sampler.ask(after, left)).toEqual(others);
  expect(sampler.level?.({ trials: after.trials.slice(1) }, { ...running, measurements: baseline.measurements })).toBe(
    8,
  );
});

it('not where that is the original config', () => {
  expect(startOf(17, trial(0, 3, measured(1, 100, 10)))).toEqual(others);
  // Nor where the earlier study kept its original config.
  const kept = {
    name: 'runs/a',
    trials: [trial(0, 1, measured(1, 100, 10), measured(8, 800, 16)), trial(1, 2, measured(8, 500, 16))],
  };
  const sampler = startingFrom(plain, [kept], { space, goal: goalOf(17), levels });
  expect(sampler.ask({ trials: [trial(0, 1, measured(1, 100, 10))] }, left)).toEqual(others);
});

it('not at all without a reading of the original config, or within the goal', () => {
  expect(startOf(17, trial(0, 1))).toEqual(others);
  expect(startOf(5, trial(0, 1, measured(1, 100, 10)))).toEqual(others);
});

it('with a proposal where no earlier study has a reading, at the load that it is expected to serve', () => {
  const proposal = { assignment: trial(0, 2).candidate.assignment, requestsPerSecond: 500, inFlight: 7.6 };
  const proposed = { name: 'explain.json', proposal };
  const baseline = trial(0, 1, measured(1, 100, 10));
  const first = (...priors: readonly Prior[]) =>
    startingFrom(plain, priors, { space, goal: goalOf(17), levels }).ask({ trials: [baseline] }, left);
  expect(first(proposed)).toEqual({ ...(start(2, 8) as object), prior: 'explain.json' });
  expect(first(proposed, earlier)).toMatchObject({ prior: earlier.name });
  const far = { ...proposal, inFlight: 1e6 };
  expect(first({ name: 'explain.json', proposal: far })).toMatchObject({ levels: { start: levels.high } });
  const unknown = { ...proposal, assignment: { no_such_parameter: 1 } };
  expect(first({ name: 'explain.json', proposal: unknown })).toEqual(others);
});
