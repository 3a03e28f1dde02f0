import { median } from 'simple-statistics';
import { isFeasible } from '../goal/goal.ts';
import type { FinalMeasured, RoundVoided } from '../records/records.ts';
import type { FinalState } from './sides.ts';

/**
 * A round may be void where the original config's mean latency exceeds this multiple of its usual
 * value at that level.
 */
const DISTURBED = 1.5;
/** Void rounds, at most: a machine that stays slow is not disturbed. */
const MAX_VOID = 5;

/**
 * Returns the latest round if it is void: a side missed the goal in it, and the original config's
 * mean latency exceeds 1.5 times its usual value at that level, because others used the machine.
 * null for a round that counts, and for one that cannot tell yet.
 */
export function disturbedRound(final: FinalState): Pick<RoundVoided, 'round' | 'slower'> | null {
  const { finals, voidRounds } = final;
  const round = finals.at(-1)?.round;
  if (round === undefined || voidRounds >= MAX_VOID) return null;
  const inRound = finals.filter((each) => each.round === round);
  const slower = slowdownIn(inRound, final);
  return slower > DISTURBED && inRound.some((each) => isMissed(each, final)) ? { round, slower } : null;
}

/**
 * Returns the original config's mean latency over the median of its other measurements at that
 * level; 0 without any.
 */
function slowdownIn(inRound: readonly FinalMeasured[], { finals, baseline }: FinalState): number {
  const ownMeasurement = inRound.findLast(({ trial }) => trial === baseline?.number)?.measurement;
  if (!ownMeasurement || !baseline) return 0;
  const others = finals.filter((each) => each.trial === baseline.number && !inRound.includes(each));
  const usual = [...baseline.measurements, ...others.map(({ measurement }) => measurement)]
    .filter(({ level, latencyMs }) => level.value === ownMeasurement.level.value && latencyMs.avg > 0)
    .map(({ latencyMs }) => latencyMs.avg);
  return usual.length === 0 ? 0 : ownMeasurement.latencyMs.avg / median(usual);
}

function isMissed({ trial, measurement }: FinalMeasured, { trials, goal }: FinalState): boolean {
  const candidate = trials.find(({ number }) => number === trial)?.candidate;
  return candidate !== undefined && !isFeasible(measurement, candidate, goal);
}
