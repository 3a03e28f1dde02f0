import type { Json } from '#base/json.ts';
import type { ContinuousPolicy } from '#queueing/continuous/policy.ts';
import { isSettingPath } from './engine.ts';
import { evaluate } from './evaluate.ts';
import type { EvaluationContext } from './subject.ts';
import type { Candidate, EngineSettingNames, Expression } from './types.ts';

const valueIn = (expression: Expression | null, scene: EvaluationContext): Json | undefined =>
  expression === null ? undefined : evaluate(expression, scene);

function countIn(expression: Expression | null, scene: EvaluationContext): number | null {
  const number = Number(valueIn(expression, scene) ?? Number.NaN);
  return Number.isFinite(number) && number > 0 ? number : null;
}

/**
 * Returns the way an engine forms its steps with the settings in the scene; null if nothing gives
 * the number of sequences that it runs.
 */
function findPolicy(law: EngineSettingNames, scene: EvaluationContext): ContinuousPolicy | null {
  const count = (expression: Expression | null): number | null => countIn(expression, scene);
  const isTrue = (expression: Expression | null): boolean => {
    const value = valueIn(expression, scene);
    return value === true || value === 'true' || value === 'on';
  };
  const maxSequences = count(law.maxSequences);
  if (maxSequences === null) return null;
  return {
    maxSequences,
    maxStepTokens: count(law.maxStepTokens),
    chunksPrefill: isTrue(law.chunksPrefill),
    ...(law.mixesPrefill !== null && { mixesPrefill: isTrue(law.mixesPrefill) }),
    kvCacheTokens: count(law.kvCacheTokens),
    cachesPrefixes: isTrue(law.cachesPrefixes),
  };
}

/**
 * Returns a candidate with its engine's policy, and the number of GPUs that it needs. Settings in
 * the policy do not count as settings that may change a step's own duration, just like the largest
 * batch; the number of GPUs that it is spread over does count.
 */
export function withPolicy(candidate: Candidate, law: EngineSettingNames, scene: EvaluationContext): Candidate {
  const continuous = findPolicy(law, scene);
  const parallelGpus = countIn(law.gpus, scene);
  const shape = { ...candidate.shape, ...(parallelGpus !== null && { parallelGpus }) };
  if (continuous === null) return { ...candidate, shape };
  const { gpus: _, ...ofSteps } = law;
  const said = new Set(Object.values(ofSteps).flatMap((expression) => (expression ? pathsIn(expression) : [])));
  const settings = Object.fromEntries(Object.entries(shape.settings).filter(([path]) => !said.has(path)));
  return { ...candidate, shape: { ...shape, settings, scheduling: 'continuous', continuous } };
}

/**
 * Returns the paths that an expression reads, as `CandidateShape.settings` has them: those of an
 * engine by the setting's name alone.
 */
function pathsIn(expression: Expression): readonly string[] {
  if (expression.kind === 'value') return [];
  if (expression.kind !== 'subject') return expression.of.flatMap(pathsIn);
  const { subject } = expression;
  if (subject.scope !== 'config') return [];
  const path = isSettingPath(subject.path) ? subject.path.slice(1) : subject.path;
  return [path.map((segment) => `.${String(segment)}`).join('')];
}
