import { TrituneError } from '#base/errors.ts';
import { randomFor } from '#base/random.ts';
import { NS_PER_S } from '#base/units.ts';
import type { Phase, TraceArrivals, Workload } from './workload.ts';

export interface SplitRule {
  /** Share of the trace's time that is held out, 0 to 1. */
  readonly holdoutShare: number;
  /** Seconds that stay together; a twentieth of the trace if absent. */
  readonly blockS?: number | undefined;
  readonly seed: number;
}

export interface SplitWorkload {
  readonly train: Workload;
  readonly holdout: Workload;
}

const USUAL_BLOCKS = 20;
const MAX_BLOCKS = 1_000_000;

/**
 * Splits each trace of a workload into two by blocks of time, to choose a config on one part and
 * judge it on the other. Hold-out blocks are spread over the trace, one at a random place in every
 * 1/share of them, so that both parts see its nights and days. Requests of a block stay together,
 * so that no burst is in both parts. Each part is the sequence of its blocks. Phases that arrive at
 * a rate are in both: another seed gives them other requests. Errors: INPUT_INVALID for a workload
 * without a trace, or one too short for two blocks.
 */
export function splitWorkload(workload: Workload, rule: SplitRule): SplitWorkload {
  if (workload.phases.every(({ arrivals }) => arrivals.process !== 'trace')) {
    throw new TrituneError(
      'INPUT_INVALID',
      `the workload ${workload.name} has no trace to split`,
      'give a workload with a trace; generated arrivals differ with --seed anyway',
    );
  }
  const parts = workload.phases.map((phase, index) => {
    const { arrivals } = phase;
    return arrivals.process === 'trace' ? splitPhase(phase, arrivals, index, rule) : { train: phase, holdout: phase };
  });
  const part = (which: keyof SplitWorkload): Workload => ({
    ...workload,
    name: `${workload.name}-${which}`,
    phases: parts.map((each) => each[which]),
  });
  return { train: part('train'), holdout: part('holdout') };
}

function splitPhase(
  phase: Phase,
  arrivals: TraceArrivals,
  index: number,
  { holdoutShare, blockS, seed }: SplitRule,
): { readonly train: Phase; readonly holdout: Phase } {
  const { durationS } = phase;
  const blocks = blockS === undefined ? USUAL_BLOCKS : Math.round(durationS / blockS);
  const held = heldBlocks(blocks, holdoutShare, `split of phase ${index} with seed ${seed}`);
  if (blocks > MAX_BLOCKS || held.size === 0 || held.size >= blocks) {
    throw new TrituneError(
      'INPUT_INVALID',
      `a trace of ${durationS} s in ${blocks} blocks cannot be split with a share of ${holdoutShare} held out`,
      'give a shorter --block',
    );
  }
  const ownS = durationS / blocks;
  const part = (isHeld: boolean): Phase => {
    const kept = Array.from({ length: blocks }, (_, block) => block).filter((block) => held.has(block) === isHeld);
    return { ...phase, durationS: kept.length * ownS, arrivals: takeBlocks(arrivals, kept, ownS * NS_PER_S, blocks) };
  };
  return { train: part(false), holdout: part(true) };
}

/** One block of every 1/share, at a random place among them. */
function heldBlocks(blocks: number, share: number, what: string): ReadonlySet<number> {
  const random = randomFor(what);
  const held = Math.round(blocks * share);
  const computeStart = (each: number): number => Math.round((each * blocks) / held);
  return new Set(Array.from({ length: held }, (_, each) => random.int(computeStart(each), computeStart(each + 1) - 1)));
}

/** Returns the arrivals in these blocks, as if each followed the previous one. */
function takeBlocks(
  { timesNs, classOf, ...rest }: TraceArrivals,
  kept: readonly number[],
  blockNs: number,
  blocks: number,
): TraceArrivals {
  const placeByBlock = new Map(kept.map((block, place) => [block, place]));
  const times: number[] = [];
  const classes: number[] = [];
  for (const [index, timeNs] of timesNs.entries()) {
    const block = Math.min(blocks - 1, Math.floor(timeNs / blockNs));
    const place = placeByBlock.get(block);
    if (place === undefined) continue;
    times.push(timeNs + (place - block) * blockNs);
    if (classOf) classes.push(classOf[index] as number);
  }
  return { ...rest, timesNs: Float64Array.from(times), classOf: classOf && Uint16Array.from(classes) };
}
