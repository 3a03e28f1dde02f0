import { median } from 'simple-statistics';
import type { RoundVoided } from '../records.ts';
import type { StudyState } from '../state.ts';

/** So many times its usual mean latency at the same level the original config takes by nobody's doing but the machine's. */
const DISTURBED = 1.5;
/** A machine that stays slow is as it is now. */
const MOST_VOID = 10;

/**
 * The round that is not to count, as the original config, just measured in it, was far slower than before: others had the machine, and what they
 * took of it is not to be held against a finalist. null for one that counts, or that has yet to tell.
 */
export function disturbedRound({
  finals,
  baseline,
  voidRounds,
}: Pick<StudyState, 'finals' | 'baseline' | 'voidRounds'>): Pick<RoundVoided, 'round' | 'slower'> | null {
  const last = finals.at(-1);
  if (!last || !baseline || last.trial !== baseline.number || voidRounds >= MOST_VOID) return null;
  const { level, latencyMs } = last.measurement;
  const inFinal = finals.slice(0, -1).filter(({ trial }) => trial === baseline.number);
  const before = [...baseline.measurements, ...inFinal.map(({ measurement }) => measurement)].filter(
    (each) => each.level.value === level.value && each.latencyMs.avg > 0,
  );
  if (before.length === 0) return null;
  const slower = latencyMs.avg / median(before.map((each) => each.latencyMs.avg));
  return slower > DISTURBED ? { round: last.round, slower } : null;
}
