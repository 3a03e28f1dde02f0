import { plainLine } from '#base/format.ts';
import { lookUp } from '#base/look-up.ts';
import { ensemblesIn, listParts, type RequestedTopology, readTopology } from '#space/joint/topology-of.ts';
import type { ModelConfigs } from '#space/model-configs.ts';
import type { Topology } from '#space/topology.ts';
import { composingModels } from '#triton/config/ensemble-rules.ts';
import { type OtherConfigs, readOtherConfigs } from '#triton/control/other-configs.ts';
import type { TritonClient } from '#triton/types.ts';
import { type OriginalModel, readOriginal } from '../../server/open-server.ts';

/** The models that are tuned together, in their state before the study. */
export interface Together {
  readonly topology: Topology;
  /** Another client's ensembles over the same models, which must always stay served. */
  readonly bystanders: ModelConfigs;
  /** Served models of which that is not known, and why. */
  readonly unreadable: OtherConfigs['unreadable'];
  readonly unread: OtherConfigs['unread'];
}

/**
 * Reads the given models and all of their parts, at any depth, into `read`, and loads those that
 * are not loaded. The recorded state is the one before the first load, because loading an ensemble
 * loads its models. Errors: those of `readOriginal`.
 */
export async function readParts(
  client: TritonClient,
  topology: RequestedTopology,
  read: Map<string, OriginalModel>,
): Promise<void> {
  const loaded = new Set((await client.index()).flatMap(({ name, state }) => (state === 'READY' ? [name] : [])));
  const open = topology.fronts.map(({ model }) => model);
  for (let name = open.shift(); name !== undefined; name = open.shift()) {
    if (read.has(name)) continue;
    const model = await readOriginal(client, name);
    read.set(name, { ...model, wasLoaded: loaded.has(name) });
    open.push(...listParts(model.config, name, topology));
  }
}

/**
 * Returns how these models depend on each other; null for a single model. Errors: those of
 * `readTopology`.
 */
export async function readTogether(
  client: TritonClient,
  topologyRequest: RequestedTopology,
  configs: ModelConfigs,
): Promise<Together | null> {
  const topology = readTopology(topologyRequest, configs);
  const [stage, ...others] = topology.stages;
  if (others.length === 0 && stage === topology.fronts[0]?.model) return null;
  const served = (await client.index()).flatMap(({ name, state }) => (state === 'READY' ? [name] : []));
  const strangers = served.filter((name) => !Object.hasOwn(configs, name));
  const beside = await readOtherConfigs(client, strangers);
  const bystanders = Object.entries(beside.configs).filter(([, config]) =>
    composingModels(config).some((part) => topology.stages.includes(part)),
  );
  return { topology, bystanders: Object.fromEntries(bystanders), unreadable: beside.unreadable, unread: beside.unread };
}

const MAX_WARNINGS = 5;

/**
 * Returns a warning for models that may be ensembles over the tuned ones: one each for the first
 * few.
 */
export function unreadableLines(together: Together | null): readonly string[] {
  if (together === null) return [];
  const { unreadable, unread } = together;
  const each = [...unreadable]
    .slice(0, MAX_WARNINGS)
    .map(([name, error]) => `'${name}' is taken for no ensemble over these models: ${error.message}`);
  const more = unreadable.size - each.length + unread.length;
  const rest = `${more} other models are taken for no ensembles over these models: their configs were not read`;
  return [...each, ...(more > 0 ? [rest] : [])].map((line) => plainLine(`warning: ${line}`));
}

/** Returns the configs of the stages, and those of the ensembles, inner ones first. */
export function splitConfigs({ stages }: Topology, configs: ModelConfigs): readonly [ModelConfigs, ModelConfigs] {
  const pick = (names: readonly string[]): ModelConfigs =>
    Object.fromEntries(names.map((name) => [name, lookUp(configs, name) ?? {}]));
  return [pick(stages), pick(ensemblesIn(configs))];
}
