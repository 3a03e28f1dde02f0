import type { LaunchedServer } from '#launch/types.ts';
import { buildCandidate } from '#space/candidate.ts';
import { assignments } from '#space/enumerate.ts';
import { toModelConfig, toOriginal } from '#space/model-configs.ts';
import type { Assignment, Candidate } from '#space/types.ts';
import { connectGrpc } from '#triton/control/connect.ts';
import { type Holdout, isSwept, LEVELS } from './holdout-subjects.ts';
import type { NeutralClient } from './neutral-client.ts';
import { bestWithin, type ClientReading, computeMedian } from './readings.ts';

/** Traffic right after a load does not count: about 500 requests. */
const SETTLE = { seconds: 1.5, perSecond: 300 };
const READING_SECONDS = 0.8;
/** Levels above one whose p99 is this far beyond the budget are not measured in that round. */
const BEYOND = 2;

/** A level of a config and its readings, one of each round in which it was measured. */
interface SweptLevel {
  readonly level: number;
  readonly readings: ClientReading[];
}

/** A config of the grid. */
export interface Swept {
  readonly assignment: Assignment;
  readonly levels: readonly SweptLevel[];
  /** Why the server refuses it; null if it serves it. */
  refused: string | null;
}

/** Measures every config of the grid at every level, in this many rounds, there and back. */
export async function sweep(
  { model, space, budgetMs }: Holdout,
  rounds: number,
  neutral: NeutralClient,
  server: LaunchedServer,
): Promise<Swept[]> {
  const control = connectGrpc(server.grpcUrl, { loadTimeoutMs: 60_000 });
  try {
    const base = await control.modelConfig(model);
    const grid = [...assignments(space, toOriginal(base))].filter(isSwept).flatMap((assignment) => {
      const built = buildCandidate(space, toOriginal(base), assignment);
      return built.legal ? [{ candidate: built.candidate, swept: nothingYet(assignment) }] : [];
    });
    for (let round = 0; round < rounds; round += 1) {
      for (const { candidate, swept } of round % 2 === 1 ? grid.toReversed() : grid) {
        if (swept.refused !== null) continue;
        await visit(candidate, swept);
      }
      console.log(`${model}: round ${round + 1} of ${rounds}`);
    }
    return grid.map(({ swept }) => swept);
  } finally {
    await control.close();
  }

  async function visit(candidate: Candidate, swept: Swept): Promise<void> {
    const config = toModelConfig(candidate);
    try {
      await control.load(model, config);
    } catch (error) {
      swept.refused = String(error);
      return;
    }
    let { throughput } = await neutral(server.grpcUrl, model, LEVELS[1] ?? 1, SETTLE);
    for (const { level, readings } of swept.levels) {
      const reading = await neutral(server.grpcUrl, model, level, { seconds: READING_SECONDS, perSecond: throughput });
      throughput = reading.throughput;
      readings.push(reading);
      if (reading.p99Ms > BEYOND * budgetMs) break;
    }
  }
}

const nothingYet = (assignment: Assignment): Swept => ({
  assignment,
  levels: LEVELS.map((level) => ({ level, readings: [] })),
  refused: null,
});

/**
 * Returns the highest throughput of a config within the budget, from medians over the rounds;
 * undefined if no level keeps it.
 */
export function worthOf({ levels }: Swept, budgetMs: number): (ClientReading & { readonly level: number }) | undefined {
  const known = levels.filter(({ readings }) => readings.length > 0);
  return bestWithin(
    known.map(({ level, readings }) => ({ level, ...computeMedian(readings) })),
    budgetMs,
  );
}
