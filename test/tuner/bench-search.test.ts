import { describe, expect, it } from 'vitest';
import type { Candidate } from '../../src/space/types.ts';
import { queueingSampler } from '../../src/study/samplers/queueing.ts';
import { randomSampler } from '../../src/study/samplers/random.ts';
import { tpeSampler } from '../../src/study/samplers/tpe.ts';
import { type EstimateSpeeds, speedsOf, steadySpeeds } from '../../src/study/speed/speeds.ts';
import { contest } from '../../src/tuner/offline/contest.ts';
import { recordedGrids } from '../../src/tuner/offline/landscapes.ts';
import { playLeague, summaryOf } from '../../src/tuner/offline/league.ts';
import { machineSpeed, slowestSpeed } from '../../src/tuner/offline/machine-speed.ts';
import { type Problem, problemsOf, worthOf } from '../../src/tuner/offline/problem.ts';
import { scenario } from '../../src/tuner/offline/scenarios.ts';
import { playStudies, studySummaryOf } from '../../src/tuner/offline/study-league.ts';
import { playStudy } from '../../src/tuner/offline/whole-study.ts';

const MEASUREMENTS = 8;
const grid = recordedGrids().find(({ name }) => name.startsWith('sleeper')) as ReturnType<typeof scenario>;

describe('the offline comparison of samplers', () => {
  it('finds the queueing sampler far ahead of random draws, and near the optimum', async () => {
    const results = await playLeague(
      {
        samplers: { queueing: queueingSampler, random: (space, { seed }) => randomSampler(space, seed) },
        landscapes: [scenario(12), grid],
        measurements: MEASUREMENTS,
        seed: 1,
        statistics: true,
      },
      () => undefined,
    );
    const of = (name: string) =>
      summaryOf(
        results.filter(({ sampler }) => sampler === name),
        MEASUREMENTS,
      );
    expect(of('queueing').problems).toBe(6);
    expect(of('queueing').median).toBeGreaterThan(0.9);
    expect(of('queueing').median).toBeGreaterThan(1.3 * of('random').median);
    expect(of('queueing').worst).toBeGreaterThan(of('random').worst);
  }, 60_000);

  it('finds the queueing sampler ahead of tpe too where servers report no statistics', async () => {
    const results = await playLeague(
      {
        samplers: { queueing: queueingSampler, tpe: (space, { seed, goal }) => tpeSampler(space, seed, goal) },
        landscapes: [scenario(12), grid],
        measurements: MEASUREMENTS,
        seed: 1,
        statistics: false,
      },
      () => undefined,
    );
    const medianOf = (name: string) =>
      summaryOf(
        results.filter(({ sampler }) => sampler === name),
        MEASUREMENTS,
      ).median;
    expect(medianOf('queueing')).toBeGreaterThan(1.1 * medianOf('tpe'));
  }, 60_000);

  it('sees the queueing sampler load less of what does not fit where servers report the memory of their GPUs', async () => {
    const landscape = scenario(58);
    expect(landscape.name).toContain('memory');
    const problem = problemsOf(landscape).at(-1);
    if (!problem) throw new Error('no problem');
    const refusedWith = async (gpuMemory: boolean) => {
      let refused = 0;
      const refusal = (candidate: Candidate) => {
        const words = landscape.refusal(candidate);
        if (words !== null) refused++;
        return words;
      };
      const counted = { ...problem, landscape: { ...landscape, refusal } };
      const { standings } = await contest(counted, queueingSampler, 8, { seed: 1, statistics: true, gpuMemory });
      return { refused, share: standings.at(-1)?.share ?? 0 };
    };
    const [blind, seeing] = [await refusedWith(false), await refusedWith(true)];
    expect(seeing.refused).toBeLessThan(blind.refused - 1);
    expect(seeing.share).toBeGreaterThan(0.9);
  });

  it.each([
    { speedKind: 'two-states', numbers: [0, 1, 2, 3], reached: 0.88, ahead: 0.02 },
    { speedKind: 'heating', numbers: [0, 1], reached: 0.95, ahead: 0.02 },
  ] as const)(
    'finds whole studies on machines of the kind $speedKind near the optimum, clearly nearer than those that take them for steady',
    async ({ speedKind, numbers, reached, ahead }) => {
      // One list for both: what a candidate truly does is simulated once.
      const landscapes = numbers.map(scenario);
      const meanOf = async (estimateSpeeds: EstimateSpeeds): Promise<number> => {
        const plan = {
          ...{ samplers: { queueing: queueingSampler }, landscapes },
          ...{ speedKind, estimateSpeeds, isLocal: true, seed: 1, seeds: 1, statistics: true },
        };
        return studySummaryOf(await playStudies(plan, () => undefined)).mean;
      };
      const corrected = await meanOf(speedsOf);
      expect(corrected).toBeGreaterThan(reached);
      expect(corrected).toBeGreaterThan((await meanOf(steadySpeeds)) + ahead);
    },
    600_000,
  );

  it('plays the same whole study for the same seed, judged by what the recommended config truly does', async () => {
    const problem = problemsOf(scenario(1), slowestSpeed.heating)[1] as Problem;
    const speed = machineSpeed('heating', 1);
    const play = () => playStudy(problem, queueingSampler, { seed: 2, statistics: true, speed, isLocal: true });
    const outcome = await play();
    expect(await play()).toEqual(outcome);
    expect(outcome.share).toBeGreaterThan(0.8);
    expect(outcome.share).toBeLessThanOrEqual(1);
    expect(outcome.configShare).toBeGreaterThanOrEqual(outcome.share - 0.05);
    expect(outcome.seconds).toBeGreaterThan(2 * outcome.measurements);
  }, 60_000);

  it('sums up shares of whole studies, the worst tenth among them', () => {
    const problem = problemsOf(grid)[0] as Problem;
    const results = Array.from({ length: 21 }, (_, index) => ({
      sampler: 'queueing',
      outcome: { problem, share: index / 20, configShare: 1, measurements: 10 + index, seconds: 40 },
    }));
    expect(studySummaryOf(results)).toMatchObject({ studies: 21, median: 0.5, worst: 0, configs: 1, seconds: 40 });
    expect(studySummaryOf(results).mean).toBeCloseTo(0.5, 9);
    expect(studySummaryOf(results).worstTenth).toBeCloseTo(0.1, 9);
    expect(studySummaryOf(results).measurements).toBeCloseTo(20, 9);
  });

  it('has grids of real servers, each with problems that the best of it solves', () => {
    const grids = recordedGrids();
    expect(grids.length).toBeGreaterThanOrEqual(3);
    for (const each of grids) {
      const problems = problemsOf(each);
      expect(problems.map(({ tightness }) => tightness)).toEqual(['tight', 'middle', 'loose']);
      for (const { optimum } of problems) expect(optimum).toBeGreaterThan(0);
    }
  });

  it('gives the same search for the same seed', async () => {
    const [problem] = problemsOf(grid);
    if (!problem) throw new Error('no problem');
    const play = () => contest(problem, queueingSampler, 6, { seed: 3, statistics: true });
    expect((await play()).standings).toEqual((await play()).standings);
  });

  it('knows an optimum that keeps the budget, and gives less for what breaks it', () => {
    for (const problem of problemsOf(grid)) {
      const at = (throughput: number, p99: number) =>
        worthOf(
          { throughput, latencyMs: { avg: 0, p50: 0, p90: 0, p95: 0, p99 }, queueUs: 0, computeUs: 0, batches: [] },
          problem,
        );
      expect(at(problem.optimum, problem.budgetMs)).toBe(1);
      expect(at(problem.optimum, 1.15 * problem.budgetMs)).toBeCloseTo(0.5, 6);
      expect(at(problem.optimum, 2 * problem.budgetMs)).toBe(0);
      expect(at(problem.optimum / 2, problem.budgetMs)).toBe(0.5);
    }
  });

  it('replays a recorded grid as it was recorded, and goes between its levels', () => {
    const { space, truth } = grid;
    const built = space.build({ instances: 4, max_batch_size: 16, dynamic_batching: true, queue_delay_us: 0 });
    if (!built.legal) throw new Error(built.reason);
    expect(truth(built.candidate, 128)).toMatchObject({ throughput: 16138, latencyMs: { p99: 10.58 } });
    const between = truth(built.candidate, 64).throughput;
    expect(between).toBeGreaterThan(8008.4);
    expect(between).toBeLessThan(16138);
  });
});
