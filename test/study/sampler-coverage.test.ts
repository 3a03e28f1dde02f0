import { describe, expect, it } from 'vitest';
import { type Choice, toChoice } from '#perfmodel/modelled-config.ts';
import { toModelConfig } from '#space/model-configs.ts';
import { covering, settingValues, unseenValues } from '#study/search/queueing/coverage.ts';
import { withLoadFeasibility } from '#study/search/queueing/load-feasibility.ts';
import type { PosteriorModel } from '#study/search/queueing/posterior-model.ts';
import { queueingSampler } from '#study/search/queueing/queueing.ts';
import type { Trial } from '#study/types.ts';
import { tune } from '#tuner/tune.ts';
import { createPlan, type MakeSampler, toGoal as problemGoal } from '../../lab/problems/contest.ts';
import type { BudgetedProblem } from '../../lab/problems/problem.ts';
import { scenario } from '../../lab/problems/scenarios.ts';
import { OfflineWorld } from '../../lab/problems/world.ts';
import { isNightly } from '../support/fuzz.ts';
import { configOf, failedTrial, toCandidate, trialOf } from './builders.ts';

interface Settings {
  readonly precision?: string;
  readonly graphs?: boolean;
  readonly threads?: number;
}

function at(instances: number, { precision, graphs, threads }: Settings = {}, batch = 8): Choice {
  const config = configOf(instances, batch, {
    parameters: {
      ...(precision !== undefined && { precision: { string_value: precision } }),
      ...(threads !== undefined && { threads: { string_value: `${threads}` } }),
    },
    ...(graphs && { optimization: { cuda: { graphs } } }),
  });
  return toChoice(
    toCandidate(config, { instances, ...(precision !== undefined && { precision }), graphs: graphs ?? false }),
  );
}

const space = [1, 2, 4].flatMap((instances) =>
  [undefined, 'FP16', 'INT8'].flatMap((precision) =>
    [false, true].map((graphs) => at(instances, { ...(precision !== undefined && { precision }), graphs })),
  ),
);
const labels = (values: readonly { readonly label: string }[]): string[] => values.map(({ label }) => label).sort();
const refusedAt = (number: number, choice: Choice): Trial =>
  failedTrial(number, toModelConfig(choice.candidate), 'out-of-memory');

describe('the values of settings', () => {
  it('are those that the queueing model knows nothing of, by the names of the space', () => {
    expect(labels(settingValues(space))).toEqual([
      'graphs=false',
      'graphs=true',
      'parameters.precision.string_value=(not set)',
      'precision=FP16',
      'precision=INT8',
    ]);
  });

  it('are not the numbers of a scale, but two numbers are a switch', () => {
    const withThreads = (...counts: number[]) => counts.map((threads) => at(1, { threads }));
    expect(settingValues(withThreads(1, 2, 4))).toEqual([]);
    expect(settingValues(withThreads(0, 1))).toHaveLength(2);
  });

  it('are seen with one measurement, whatever else it had', () => {
    const measured = [{ choice: at(1) }, { choice: at(4, { precision: 'FP16', graphs: true }) }];
    expect(labels(unseenValues(settingValues(space), measured, space, []))).toEqual(['precision=INT8']);
  });

  it('are shown several at once', () => {
    const unseen = unseenValues(settingValues(space), [{ choice: at(1) }], space, []);
    expect(labels(unseen)).toEqual(['graphs=true', 'precision=FP16', 'precision=INT8']);
    for (const { settings } of covering(unseen, space, [])) {
      expect(settings.get('.optimization.cuda.graphs')).toBe('true');
      expect(['FP16', 'INT8']).toContain(settings.get('.parameters.precision.string_value'));
    }
  });

  it('are looked for with half as many instances after each refusal, and given up after that of one', () => {
    const known = [at(1), at(1, { precision: 'FP16', graphs: true })].map((choice) => ({ choice }));
    const left = (trials: readonly Trial[]) => unseenValues(settingValues(space), known, space, trials);
    const most = (trials: readonly Trial[]): number =>
      Math.max(0, ...covering(left(trials), space, trials).map(({ policy }) => policy.instances));
    const int8 = (instances: number) => refusedAt(instances, at(instances, { precision: 'INT8' }));
    expect(most([])).toBe(4);
    expect(most([int8(4)])).toBe(2);
    expect(most([int8(4), int8(2)])).toBe(1);
    expect(left([int8(4), int8(2), int8(1)])).toEqual([]);
  });
});

describe('a refusal for memory', () => {
  const sure: PosteriorModel = {
    predict: () => ({
      smoothCost: 0,
      cost: { mean: 0, sd: 1 },
      feasibleChance: () => 1,
      expectedImprovement: () => 1,
      cheaperChance: () => 1,
    }),
    predictedPoint: () => null,
    toPlace: () => ({ coordinates: [], settings: new Map() }),
  };
  const loaded = (choice: Choice, number = 1) => trialOf(number, toModelConfig(choice.candidate));
  const chance = (asked: Choice, trials: readonly Trial[]): number => {
    const measured = trials
      .filter(({ measurements }) => measurements.length > 0)
      .map(({ candidate, measurements }) => ({ choice: toChoice(candidate), measurements }));
    return withLoadFeasibility(sure, measured, trials).predict(asked, 8)?.feasibleChance(1) ?? Number.NaN;
  };

  it('makes as many instances less likely to load, with other settings too', () => {
    const trials = [loaded(at(1)), refusedAt(2, at(4))];
    for (const instances of [4, 8]) expect(chance(at(instances, { precision: 'FP16' }), trials)).toBeLessThan(0.5);
    expect(chance(at(2, { precision: 'FP16' }), trials)).toBe(1);
    expect(chance(at(8), trials)).toBe(0);
  });
});

describe('a search over settings', () => {
  const play = async (index: number, maxTrials: number, make: MakeSampler = queueingSampler) => {
    const testProblem = scenario(index);
    const { p99 } = testProblem.truth(testProblem.baseline, 1).latencyMs;
    const problem: BudgetedProblem = { testProblem, tightness: 'middle', budgetMs: 4 * p99, optimum: 1 };
    const goal = problemGoal(problem);
    const world = new OfflineWorld(testProblem, { seed: 1, statistics: true });
    const { space: view, levels } = testProblem;
    const sampler = make(view, { seed: 1, goal, levels });
    const parts = { adapter: world.adapter, sampler, clock: world.clock };
    const journal = { append: async () => undefined };
    const state = await tune(
      { ...createPlan(problem, goal, 1), maxTrials },
      { ...parts, journal },
      () => undefined,
      new AbortController().signal,
    );
    return {
      state,
      seen: state.trials
        .filter(({ measurements }) => measurements.length > 0)
        .map(({ candidate }) => toModelConfig(candidate)),
    };
  };
  const isSeen = (
    configs: readonly { readonly parameters?: unknown; readonly optimization?: unknown }[],
    name: 'parameters' | 'optimization',
  ) => configs.some((config) => config[name] !== undefined);

  it.each(isNightly ? [7, 8, 16, 17] : [17])(
    'has measured every value when it ends by itself: model %i',
    async (index) => {
      const { state, seen } = await play(index, Number.POSITIVE_INFINITY);
      expect(state.finished?.stopReason).toMatch(/expected to gain|likely to be better/);
      expect([isSeen(seen, 'parameters'), isSeen(seen, 'optimization')]).toEqual([true, true]);
    },
    60_000,
  );

  it('says at a limit which values were never measured', async () => {
    const { state } = await play(7, 1);
    expect(state.finished?.stopReason).toBe('the limit of 1 trial was reached');
    expect(state.finished?.notes?.at(-1)).toMatch(/^never measured: /);
  }, 180_000);
});
