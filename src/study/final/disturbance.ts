import { median } from 'simple-statistics';
import { isFeasible } from '../goal.ts';
import type { FinalMeasured, RoundVoided } from '../records.ts';
import type { FinalState } from './sides.ts';

/** So many times its usual mean latency at the same level the original config takes by nobody's doing but the machine's. */
const DISTURBED = 1.5;
/** A machine that stays slow is as it is now. */
const MOST_VOID = 5;

/**
 * The latest round where it is not to count: somebody missed the goal in it, and the original config was far slower than before. Others had
 * the machine then, and what they took of it is not to be held against a finalist. null for a round that counts, or that has yet to tell.
 */
export function disturbedRound(final: FinalState): Pick<RoundVoided, 'round' | 'slower'> | null {
  const { finals, voidRounds } = final;
  const round = finals.at(-1)?.round;
  if (round === undefined || voidRounds >= MOST_VOID) return null;
  const inRound = finals.filter((each) => each.round === round);
  const slower = slowdownIn(inRound, final);
  return slower > DISTURBED && inRound.some((each) => isMissed(each, final)) ? { round, slower } : null;
}

/** Of the original config, against its other measurements at that level; 0 where there is nothing to compare. */
function slowdownIn(inRound: readonly FinalMeasured[], { finals, baseline }: FinalState): number {
  const own = inRound.findLast(({ trial }) => trial === baseline?.number)?.measurement;
  if (!own || !baseline) return 0;
  const others = finals.filter((each) => each.trial === baseline.number && !inRound.includes(each));
  const usual = [...baseline.measurements, ...others.map(({ measurement }) => measurement)]
    .filter(({ level, latencyMs }) => level.value === own.level.value && latencyMs.avg > 0)
    .map(({ latencyMs }) => latencyMs.avg);
  return usual.length === 0 ? 0 : own.latencyMs.avg / median(usual);
}

function isMissed({ trial, measurement }: FinalMeasured, { trials, goal }: FinalState): boolean {
  const candidate = trials.find(({ number }) => number === trial)?.candidate;
  return candidate !== undefined && !isFeasible(measurement, candidate, goal);
}
