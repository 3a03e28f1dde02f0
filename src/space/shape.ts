import { createHash } from 'node:crypto';
import { canonicalJson, canonicalJsonOfShared, type Json, type JsonObject } from '#base/json.ts';
import { lookUp } from '#base/look-up.ts';
import { toPolicy } from '#queueing/batcher-policy.ts';
import { countInstances } from '#triton/config/instances.ts';
import type { InstanceGroup, ModelConfig } from '#triton/config/model-config.ts';
import { withRelativeNames } from './edits/relative-names.ts';
import type { CandidateShape, InstanceGroupShape, Scheduling, Settings } from './types.ts';

/** Returns the shape of a candidate of this one model config. */
export function readShape(config: ModelConfig): CandidateShape {
  const named = withRelativeNames(config);
  const { max_batch_size: _, dynamic_batching: batching, instance_group: groups = [], ...rest } = named;
  const shapes = groups.map(groupShape);
  return {
    policy: { ...toPolicy(config, countInstances(config)), ...listDevices(shapes) },
    scheduling: formatScheduling(config),
    groups: shapes,
    batching: batching === undefined ? '' : canonicalJson(batching),
    ...readRest(rest, shapes),
  };
}

/**
 * Returns the shape of a candidate of which only the settings are known, each of which may matter.
 */
export function plainShape(value: JsonObject): CandidateShape {
  const policy = {
    maxBatchSize: 0,
    preferredBatchSizes: [],
    maxQueueDelayNs: 0,
    instances: 1,
    dynamicBatching: false,
  };
  const json = canonicalJson(value);
  return {
    policy,
    scheduling: 'unknown',
    groups: [],
    batching: '',
    rest: computeDigest(json),
    settings: listSettings(JSON.parse(json)),
  };
}

function formatScheduling(config: ModelConfig): Scheduling {
  if (config.ensemble_scheduling) return 'ensemble';
  if (config.sequence_batching) return 'sequence';
  return config.model_transaction_policy?.decoupled === true ? 'decoupled' : 'batcher';
}

function groupShape({ count = 1, name: _, ...place }: InstanceGroup): InstanceGroupShape {
  return {
    device: lookUp<InstanceGroupShape['device']>(devices, String(place.kind)) ?? 'auto',
    count: Math.max(1, count) * Math.max(1, place.gpus?.length ?? 1),
    place: canonicalJson(place),
    ...((place.gpus?.length ?? 0) > 0 && { gpus: place.gpus }),
  };
}

/**
 * Returns the number of GPUs that the instances are spread over, if several are named and nothing
 * runs elsewhere.
 */
function listDevices(groups: readonly InstanceGroupShape[]): Pick<CandidateShape['policy'], 'devices'> {
  const devices = new Set(groups.flatMap(({ gpus }) => gpus ?? [])).size;
  return devices > 1 && groups.every(({ gpus }) => gpus !== undefined) ? { devices } : {};
}

const devices = { KIND_AUTO: 'auto', KIND_CPU: 'cpu', KIND_GPU: 'gpu', KIND_MODEL: 'model' } as const;

type Rest = Pick<CandidateShape, 'rest' | 'settings'>;

/** The last result: candidates built in a row mostly differ in instances and batching alone. */
let latest: { readonly key: string; readonly rest: Rest } | null = null;

function readRest(config: ModelConfig, groups: readonly InstanceGroupShape[]): Rest {
  const json = canonicalJsonOfShared(config as JsonObject);
  const places = groups.map(({ place }) => place).join(',');
  const key = `${json} ${places}`;
  if (latest?.key === key) return latest.rest;
  const whole = { ...config, instance_group: JSON.parse(`[${places}]`) } as JsonObject;
  latest = { key, rest: { rest: computeDigest(json), settings: settingsOfFields(whole) } };
  return latest.rest;
}

const computeDigest = (json: string): string => createHash('sha256').update(json).digest('hex').slice(0, 12);

/** A field of more values is one setting: thousands of candidates could not each hold them all. */
const MAX_VALUES = 1000;

function settingsOfFields(config: JsonObject): Settings {
  const settings: Record<string, string> = {};
  for (const name of Object.keys(config).sort()) {
    const value = config[name];
    if (value === undefined) continue;
    if (hasMoreValues(MAX_VALUES, value)) settings[`.${name}`] = computeDigest(canonicalJson(value));
    else listSettings(JSON.parse(canonicalJson(value)), `.${name}`, settings);
  }
  return settings;
}

function hasMoreValues(limit: number, value: Json): boolean {
  let left = limit;
  const open: Json[] = [value];
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    if (next === null || typeof next !== 'object') left--;
    else for (const inner of Object.values(next)) if (inner !== undefined) open.push(inner as Json);
    if (left < 0) return true;
  }
  return false;
}

/** Returns each single value in the JSON by its path. */
function listSettings(value: Json, path = '', settings: Record<string, string> = {}): Settings {
  if (value === null || typeof value !== 'object') settings[path] = String(value);
  else for (const [name, inner] of Object.entries(value)) listSettings(inner as Json, `${path}.${name}`, settings);
  return settings;
}

/**
 * True if two candidates differ at most in the number of their instances: Triton changes that in
 * place, without a full load.
 */
export const changesInPlace = (a: CandidateShape, b: CandidateShape): boolean =>
  besideInstances(a) === besideInstances(b);

/**
 * Returns the part that a change must leave alone for Triton to make it in place; equal texts for
 * candidates that agree in it.
 */
export const besideInstances = ({ rest, batching, policy }: CandidateShape): string =>
  `${rest} ${policy.maxBatchSize} ${batching}`;
