import type { GpuMemory } from '../../perfmodel/gpu-memory.ts';
import type { Candidate } from '../../space/types.ts';
import type { SpaceView } from '../../study/samplers/space-view.ts';
import type { LevelRange } from '../../study/types.ts';
import { atSpeed } from './machine-speed.ts';

/** What a server really does with a candidate at a level, before any noise of a measurement. */
export interface Truth {
  /** infer/s. */
  readonly throughput: number;
  readonly latencyMs: {
    readonly avg: number;
    readonly p50: number;
    readonly p90: number;
    readonly p95: number;
    readonly p99: number;
  };
  /** Per request, in microseconds. */
  readonly queueUs: number;
  readonly computeUs: number;
  readonly batches: readonly { readonly size: number; readonly executions: number; readonly meanExecutionUs: number }[];
  /** Where compute and the rest of the server's time went, where it is known; per request, in microseconds. */
  readonly split?: { readonly inputUs: number; readonly outputUs: number; readonly overheadUs: number };
}

/** A model to tune without a server: recorded or made up. */
export interface Landscape {
  readonly name: string;
  readonly space: SpaceView;
  readonly baseline: Candidate;
  readonly levels: LevelRange;
  /** Standard deviation of a measurement's noise, as a share: of throughput, and of the percentile. */
  readonly noise: { readonly throughput: number; readonly latency: number };
  /** Where the optimum is looked for. */
  readonly gridLevels: readonly number[];
  truth(candidate: Candidate, level: number): Truth;
  /** The server's words when it cannot load the candidate; null when it can. */
  refusal(candidate: Candidate): string | null;
  /** What is in use of the GPU while the candidate serves, where it may run out. */
  gpuMemory?(candidate: Candidate): GpuMemory;
  /** Of a full load. */
  loadMs(candidate: Candidate): number;
  /** Of a change of instances alone, where it is known. */
  readonly inPlaceMs?: number | undefined;
}

/** A landscape with a budget on p99, and the best throughput that keeps it. */
export interface Problem {
  readonly landscape: Landscape;
  readonly tightness: Tightness;
  readonly budgetMs: number;
  readonly optimum: number;
}

export type Tightness = 'tight' | 'middle' | 'loose';

/** Where between the lowest p99 and that of the highest throughput a budget lies, by ratio. */
const SHARES: Readonly<Record<Tightness, number>> = { tight: 0.2, middle: 0.5, loose: 0.85 };
/** A budget nearer to the least that is possible would be met by luck alone. */
const LEAST_ROOM = 1.25;
/** The optimum keeps the budget by so much: one at its very edge nobody could recognise. */
const EDGE = 0.97;

/**
 * The landscape under a tight, a middle and a loose budget. `slowest`: the lowest speed of a machine whose speed changes; a budget that
 * it cannot keep then asks for nothing that tuning could give.
 */
export function problemsOf(landscape: Landscape, slowest = 1): Problem[] {
  const truths = everyTruth(landscape).map((truth) => atSpeed(truth, slowest));
  const lowest = Math.min(...truths.map(({ latencyMs }) => latencyMs.p99));
  const fastest = truths.reduce((best, each) => (each.throughput > best.throughput ? each : best));
  return (Object.keys(SHARES) as Tightness[]).map((tightness) => {
    const budget = lowest * Math.max(LEAST_ROOM, (fastest.latencyMs.p99 / lowest) ** SHARES[tightness]);
    const budgetMs = Number(budget.toPrecision(3));
    return problemAtSpeed({ landscape, tightness, budgetMs, optimum: 0 }, 1);
  });
}

/** The same problem on a machine of another speed: the best that keeps the budget there. */
export function problemAtSpeed(problem: Problem, speed: number): Problem {
  const truth: Landscape['truth'] = (candidate, level) => atSpeed(problem.landscape.truth(candidate, level), speed);
  const landscape = { ...problem.landscape, truth };
  const within = everyTruth(landscape).filter(({ latencyMs }) => latencyMs.p99 <= EDGE * problem.budgetMs);
  return { ...problem, landscape, optimum: Math.max(0, ...within.map(({ throughput }) => throughput)) };
}

function everyTruth({ space, refusal, truth, gridLevels }: Landscape): Truth[] {
  const found = new Map<string, Candidate>();
  for (const assignment of space.assignments()) {
    const outcome = space.build(assignment);
    if (outcome.legal && refusal(outcome.candidate) === null)
      found.set(outcome.candidate.fingerprint, outcome.candidate);
  }
  return [...found.values()].flatMap((candidate) => gridLevels.map((level) => truth(candidate, level)));
}

/** Up to this part of the budget beyond it a p99 counts as kept; from there credit falls to nothing at the second. */
const FORGIVEN = 1.05;
const HOPELESS = 1.25;

/** What picking this point is worth, as a share of the optimum: its true throughput, less where it truly breaks the budget. */
export function worthOf({ throughput, latencyMs }: Truth, { budgetMs, optimum }: Problem): number {
  const excess = latencyMs.p99 / budgetMs;
  const credit = Math.min(1, Math.max(0, (HOPELESS - excess) / (HOPELESS - FORGIVEN)));
  return Math.min(1, (credit * throughput) / optimum);
}
