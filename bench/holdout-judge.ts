import { median } from 'simple-statistics';
import type { LaunchedServer } from '#launch/types.ts';
import { buildCandidate } from '#space/candidate.ts';
import { toModelConfig, toOriginal } from '#space/model-configs.ts';
import type { SummaryPoint } from '#study/summary/point-schema.ts';
import type { ModelConfig } from '#triton/config/model-config.ts';
import { connectGrpc } from '#triton/control/connect.ts';
import type { Holdout } from './holdout-subjects.ts';
import { type Swept, worthOf } from './holdout-sweep.ts';
import type { NeutralClient } from './neutral-client.ts';
import { bestByRound, computeMedian } from './readings.ts';
import { judge, levelsAround, type Side } from './truth-judge.ts';

const SETTLE_MS = 4000;
const AROUND_PICK = [0.7, 0.85, 1, 1.2, 1.45];
/** Levels of the grid are far apart. */
const AROUND_GRID = [0.6, 0.8, 1, 1.35, 1.8];
/** One more than three, because the sweep is noisy. */
const RIVALS = 4;

/** The recommendation of a study on a hold-out. */
export interface Pick {
  readonly seed: number;
  readonly seconds: number;
  readonly best: SummaryPoint;
}

/**
 * A pick beside the best of the grid; ratios of throughput within a round, as medians over the
 * rounds.
 */
export interface Judged {
  readonly pick: Pick;
  /** The most that its config serves within the budget at any level that was measured. */
  readonly worth: number;
  /** What it serves at the recommended level, and whether that keeps the budget, by the median. */
  readonly recommended: number;
  readonly keepsBudget: boolean;
}

/** Measures the studies' picks in turn with the best of the grid. */
export async function judgePicks(
  holdout: Holdout,
  grid: readonly Swept[],
  picks: readonly Pick[],
  {
    rounds,
    neutral,
    server,
  }: { readonly rounds: number; readonly neutral: NeutralClient; readonly server: LaunchedServer },
): Promise<Judged[]> {
  const { model, budgetMs } = holdout;
  const rivals = await rivalsOf(holdout, grid, server);
  const sides = picks.map(({ best }) =>
    sideOf(best.config, best.load.value, best.throughput.value ?? 0, levelsAround(best.load.value, AROUND_PICK)),
  );
  await judge([...sides, ...rivals], rounds, { neutral, server, model, settleMs: SETTLE_MS });
  const rivalRounds = rivals.map(({ neutral: readings }) => bestByRound(readings, budgetMs));
  const bestOfGrid = Array.from({ length: rounds }, (_, round) =>
    Math.max(...rivalRounds.map((each) => each[round] ?? 0)),
  );
  return sides.map((side, index) => {
    const beside = (own: readonly number[]): number =>
      median(own.map((served, round) => served / (bestOfGrid[round] ?? Number.NaN)));
    const readings = side.neutral.get(side.recommended) ?? [];
    return {
      pick: picks[index] as Pick,
      worth: beside(bestByRound(side.neutral, budgetMs)),
      recommended: beside(readings.map(({ throughput }) => throughput)),
      keepsBudget: computeMedian(readings).p99Ms <= budgetMs,
    };
  });
}

async function rivalsOf(
  { model, space, budgetMs }: Holdout,
  grid: readonly Swept[],
  server: LaunchedServer,
): Promise<Side[]> {
  const control = connectGrpc(server.grpcUrl);
  const base = await control.modelConfig(model).finally(() => control.close());
  const ranked = grid
    .flatMap((each) => {
      const worth = worthOf(each, budgetMs);
      return worth ? [{ each, worth }] : [];
    })
    .sort((a, b) => b.worth.throughput - a.worth.throughput);
  return ranked.slice(0, RIVALS).flatMap(({ each, worth }) => {
    const built = buildCandidate(space, toOriginal(base), each.assignment);
    if (!built.legal) return [];
    return [
      sideOf(toModelConfig(built.candidate), worth.level, worth.throughput, levelsAround(worth.level, AROUND_GRID)),
    ];
  });
}

const sideOf = (config: ModelConfig, recommended: number, expected: number, levels: readonly number[]): Side => ({
  config,
  recommended,
  expected,
  own: null,
  levels,
  neutral: new Map(),
  ours: [],
});
