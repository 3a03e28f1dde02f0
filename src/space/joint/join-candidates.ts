import { createHash } from 'node:crypto';
import { canonicalJson, type JsonObject } from '../../base/json.ts';
import { modelConfigsOf } from '../model-configs.ts';
import type { Assignment, Candidate, CandidateShape, Settings } from '../types.ts';

/**
 * Returns the candidate that is these candidates of single models, by model, the first front before the others that clients send to. `frontBatch`:
 * samples that an ensemble in front takes in one request; absent where the first model is the front.
 */
export function joinCandidates(
  members: readonly (readonly [model: string, candidate: Candidate])[],
  frontBatch?: number,
  assignment: Assignment = {},
): Candidate {
  const fingerprints = Object.fromEntries(members.map(([model, { fingerprint }]) => [model, fingerprint]));
  return {
    fingerprint: digestOf(fingerprints),
    assignment,
    value: { models: Object.assign({}, ...members.map(([, candidate]) => modelConfigsOf(candidate))) },
    shape: joinShapes(
      members.map(([model, { shape }]) => [model, shape]),
      frontBatch,
    ),
  };
}

function joinShapes(
  members: readonly (readonly [model: string, shape: CandidateShape])[],
  frontBatch: number | undefined,
): CandidateShape {
  const shapes = members.map(([, shape]) => shape);
  const each = <T>(of: (shape: CandidateShape) => T) =>
    Object.fromEntries(members.map(([model, shape]) => [model, of(shape)]));
  return {
    policy: {
      maxBatchSize: frontBatch ?? shapes[0]?.policy.maxBatchSize ?? 0,
      preferredBatchSizes: [],
      maxQueueDelayNs: 0,
      instances: shapes.reduce((sum, { policy }) => sum + policy.instances, 0),
      dynamicBatching: shapes.some(({ policy }) => policy.dynamicBatching),
    },
    scheduling: 'network',
    groups: shapes.flatMap(({ groups }) => groups),
    // The largest batches belong here: that of the whole says nothing of them.
    batching: canonicalJson(each(({ batching, policy }) => [policy.maxBatchSize, batching])),
    rest: digestOf(each(({ rest }) => rest)),
    settings: joinSettings(members),
    members: Object.fromEntries(members),
  };
}

function joinSettings(members: readonly (readonly [model: string, shape: CandidateShape])[]): Settings {
  const settings: Record<string, string> = {};
  for (const [model, shape] of members)
    for (const [path, value] of Object.entries(shape.settings)) settings[`${model}/${path.replace(/^\./, '')}`] = value;
  return settings;
}

const digestOf = (value: JsonObject): string =>
  createHash('sha256').update(canonicalJson(value)).digest('hex').slice(0, 12);
