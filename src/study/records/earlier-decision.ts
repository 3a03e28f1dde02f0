import { whyNoGain } from '../final/decide.ts';
import type { Trial } from '../types.ts';
import type { GainDecided } from './records.ts';

/**
 * Returns the decision of a final with its verdict. Versions up to 0.2.0 recorded none, and took a
 * candidate as the best although its gain over an original config that meets the goal may be none.
 */
export function withVerdict(decision: GainDecided, baseline: Trial | null): GainDecided {
  if (decision.verdict !== undefined) return decision;
  const { best, gain } = decision;
  if (best === baseline?.number) return { ...decision, verdict: 'nothing-better' };
  if (gain === null) return { ...decision, verdict: 'unconfirmed' };
  const reason = baseline?.feasible ? whyNoGain(gain, 0, 0) : null;
  if (!baseline || reason === null) return { ...decision, verdict: gain.low > 0 ? 'better' : 'unconfirmed' };
  return {
    ...decision,
    best: baseline.number,
    gain: { value: 1, low: 1, high: 1 },
    verdict: 'nothing-better',
    rejected: { trial: best, gain, reason },
  };
}
