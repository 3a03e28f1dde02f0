import { createHash } from 'node:crypto';
import { canonicalJson } from '../../src/base/json.ts';
import { pick, type Random } from '../../src/base/random.ts';
import type { ContinuousPolicy } from '../../src/queueing/continuous/policy.ts';
import { plainShape } from '../../src/space/shape.ts';
import type { Assignment, Candidate } from '../../src/space/types.ts';
import type { SpaceView } from '../../src/study/search/samplers/space-view.ts';
import type { Engine, MadeEngineSettings } from './engine.ts';

/** Returns the settings that a candidate was built from. */
export const toSettings = ({ value }: Candidate): MadeEngineSettings => value as unknown as MadeEngineSettings;

/** Returns the candidate of these settings, as the adapter of an engine builds it. */
export function engineCandidate(engine: Engine, settings: MadeEngineSettings): Candidate {
  const value = { ...settings };
  const shape = plainShape(value);
  return {
    fingerprint: createHash('sha256').update(canonicalJson(value)).digest('hex').slice(0, 12),
    assignment: value,
    value,
    shape: { ...shape, scheduling: 'continuous', continuous: toPolicy(engine, settings) },
  };
}

function toPolicy({ kvTokens }: Engine, settings: MadeEngineSettings): ContinuousPolicy {
  const { max_num_seqs, max_num_batched_tokens, gpu_memory, prefix_caching, kv_cache_dtype } = settings;
  return {
    maxSequences: max_num_seqs,
    maxStepTokens: max_num_batched_tokens === 0 ? null : max_num_batched_tokens,
    chunksPrefill: max_num_batched_tokens > 0,
    mixesPrefill: false,
    kvCacheTokens: Math.round(kvTokens * gpu_memory * (kv_cache_dtype === 'fp8' ? 2 : 1)),
    cachesPrefixes: prefix_caching,
  };
}

/** Returns the space of all combinations of an engine's settings. */
export function engineSpace(engine: Engine): SpaceView {
  const { axes } = engine;
  const names = Object.keys(axes) as (keyof MadeEngineSettings)[];
  const known = new Map<string, Candidate>();
  const candidate = (assignment: Assignment): Candidate => {
    const key = JSON.stringify(assignment);
    const made = known.get(key) ?? engineCandidate(engine, assignment as unknown as MadeEngineSettings);
    known.set(key, made);
    return made;
  };
  const sample = (random: Random): Assignment =>
    Object.fromEntries(names.map((name) => [name, pick<string | number | boolean>(axes[name], random)]));
  return {
    *assignments() {
      yield* combinations(names, axes, {});
    },
    sample,
    complete: (assignment, random) => ({ ...sample(random), ...assignment }),
    build: (assignment) => ({ legal: true, candidate: candidate(assignment) }),
  };
}

function* combinations(
  [name, ...others]: readonly (keyof MadeEngineSettings)[],
  axes: Engine['axes'],
  chosen: Assignment,
): Iterable<Assignment> {
  if (name === undefined) yield chosen;
  else for (const value of axes[name]) yield* combinations(others, axes, { ...chosen, [name]: value });
}
