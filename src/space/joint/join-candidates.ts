import { createHash } from 'node:crypto';
import { canonicalJson, type JsonObject } from '#base/json.ts';
import { lookUp } from '#base/look-up.ts';
import { composingModels } from '#triton/config/ensemble-rules.ts';
import type { ModelConfig } from '#triton/config/model-config.ts';
import { type ModelConfigs, toModelConfigs } from '../model-configs.ts';
import type { Assignment, Candidate, CandidateShape, Settings } from '../types.ts';

/**
 * Returns the ensembles that cannot be served unchanged over models with these configs, with a
 * `max_batch_size` that can: Triton (2.51) serves an ensemble only if every batching model in it
 * accepts batches at least as large. None is raised above its own.
 */
function fitEnsembles(ensembles: ModelConfigs, models: ModelConfigs): ModelConfigs {
  const known = new Map<string, number>();
  const findMax = (name: string): number => {
    const foundEnsemble = known.get(name);
    if (foundEnsemble !== undefined) return foundEnsemble;
    const ensemble = findConfig(ensembles, name);
    if (!ensemble) return findBatch(findConfig(models, name));
    // A repository has no ensemble that contains itself; a server would not have loaded it.
    known.set(name, findBatch(ensemble));
    const inside = composingModels(ensemble)
      .map(findMax)
      .filter((most) => most > 0);
    const most = Math.min(findBatch(ensemble), ...inside);
    known.set(name, most);
    return most;
  };
  const lowered = Object.entries(ensembles).filter(([name, config]) => findMax(name) < findBatch(config));
  return Object.fromEntries(lowered.map(([name, config]) => [name, { ...config, max_batch_size: findMax(name) }]));
}

/** Returns the largest batch of a model; 0 for none, or if unknown. */
const findBatch = (config: ModelConfig | undefined): number => config?.max_batch_size ?? 0;

const findConfig = (configs: ModelConfigs, name: string): ModelConfig | undefined => lookUp(configs, name);

/** The context of a joint candidate's members. */
export interface JointContext {
  /** The ensembles over the members, as they were before the study. */
  readonly ensembles: ModelConfigs;
  /** The first front; a member or one of the ensembles. */
  readonly front: string;
}

type Members = readonly (readonly [model: string, candidate: Candidate])[];

/**
 * Returns the joint candidate of these candidates of single models. It includes the ensembles that
 * cannot be served over them unchanged, with a `max_batch_size` that can.
 */
export function joinCandidates(
  members: Members,
  { ensembles, front }: JointContext,
  assignment: Assignment = {},
): Candidate {
  const configs: ModelConfigs = Object.assign({}, ...members.map(([, candidate]) => toModelConfigs(candidate)));
  const models: ModelConfigs = { ...configs, ...fitEnsembles(ensembles, configs) };
  return {
    // The ensembles follow from the members.
    fingerprint: computeDigest(ofEach(members, ({ fingerprint }) => fingerprint)),
    assignment,
    value: { models },
    shape: joinShapes(members, findBatch(lookUp(models, front) ?? lookUp(ensembles, front))),
  };
}

function joinShapes(members: Members, maxBatchSize: number): CandidateShape {
  const shapes = members.map(([, { shape }]) => shape);
  return {
    policy: {
      maxBatchSize,
      preferredBatchSizes: [],
      maxQueueDelayNs: 0,
      instances: shapes.reduce((sum, { policy }) => sum + policy.instances, 0),
      dynamicBatching: shapes.some(({ policy }) => policy.dynamicBatching),
    },
    scheduling: 'network',
    groups: shapes.flatMap(({ groups }) => groups),
    // The members' largest batches belong here, because the joint one does not show them.
    batching: canonicalJson(ofEach(members, ({ shape }) => [shape.policy.maxBatchSize, shape.batching])),
    rest: computeDigest(ofEach(members, ({ shape }) => shape.rest)),
    settings: joinSettings(members),
    members: ofEach(members, ({ shape }) => shape),
  };
}

const ofEach = <T>(members: Members, of: (candidate: Candidate) => T): { [model: string]: T } =>
  Object.fromEntries(members.map(([model, candidate]) => [model, of(candidate)]));

function joinSettings(members: Members): Settings {
  const settings: Record<string, string> = {};
  for (const [model, { shape }] of members)
    for (const [path, value] of Object.entries(shape.settings)) settings[`${model}/${path.replace(/^\./, '')}`] = value;
  return settings;
}

const computeDigest = (value: JsonObject): string =>
  createHash('sha256').update(canonicalJson(value)).digest('hex').slice(0, 12);
