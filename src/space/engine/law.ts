import type { Json } from '../../base/json.ts';
import type { ContinuousPolicy } from '../../queueing/continuous/policy.ts';
import { evaluate } from '../expressions/evaluate.ts';
import type { Scene } from '../subject.ts';
import type { Candidate, Expression } from '../types.ts';
import type { EngineLaw } from './engine.ts';

/** Returns how an engine forms its steps with the settings in the scene; null where nothing says how many sequences it runs. */
function policyOf(law: EngineLaw, scene: Scene): ContinuousPolicy | null {
  const value = (expression: Expression | null): Json | undefined =>
    expression === null ? undefined : evaluate(expression, scene);
  const count = (expression: Expression | null): number | null => {
    const number = Number(value(expression) ?? Number.NaN);
    return Number.isFinite(number) && number > 0 ? number : null;
  };
  const isTrue = (expression: Expression | null): boolean => {
    const found = value(expression);
    return found === true || found === 'true' || found === 'on';
  };
  const maxSequences = count(law.maxSequences);
  if (maxSequences === null) return null;
  return {
    maxSequences,
    maxStepTokens: count(law.maxStepTokens),
    chunksPrefill: isTrue(law.chunksPrefill),
    kvCacheTokens: count(law.kvCacheTokens),
    cachesPrefixes: isTrue(law.cachesPrefixes),
  };
}

/** Returns a candidate with what is known of how its engine forms steps. */
export function withPolicy(candidate: Candidate, law: EngineLaw | null, scene: Scene): Candidate {
  const continuous = law && policyOf(law, scene);
  return continuous ? { ...candidate, shape: { ...candidate.shape, scheduling: 'continuous', continuous } } : candidate;
}
