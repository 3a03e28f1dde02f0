import { TrituneError } from '#base/errors.ts';
import { listed } from '#base/format.ts';
import { lookUp } from '#base/look-up.ts';
import type { CountedRequests } from '#space/client-batches.ts';
import { nothingStated, readStatedSpaces, type StatedSpaces } from '#space/joint/given-spaces.ts';
import type { RequestedTopology } from '#space/joint/topology-of.ts';
import type { ModelConfigs } from '#space/model-configs.ts';
import { otherModelsIn } from '#space/other-models.ts';
import type { Limits } from '#space/types.ts';
import type { StudySpec } from '#spec/study-spec.ts';
import type { StudyStarted } from '#study/records/records.ts';
import type { TritonClient } from '#triton/types.ts';
import { type OriginalModel, readOriginal } from '../../server/open-server.ts';
import type { OpenStudy } from '../../study/study.ts';
import { controlOver } from './control.ts';
import { listOriginals } from './originals.ts';
import { readParts, readTogether, type Together } from './read-together.ts';

/**
 * Returns the topology that a spec asks for. Errors: USAGE for settings of a model that gets no
 * requests.
 */
function topologyRequest({
  model,
  together = {},
  goal,
}: Pick<StudySpec, 'model' | 'together' | 'goal'>): RequestedTopology {
  const { models = [model], mix = {}, requests = {}, blsComposing = {} } = together;
  const fronts = [...new Set([model, ...models])];
  const named = [mix, requests, goal.modelBudgetsMs ?? {}].flatMap(Object.keys);
  const stray = named.find((name) => !fronts.includes(name));
  if (stray !== undefined)
    throw refuse(`--mix names '${stray}', which gets no requests`, `use only ${listed(fronts)} in --mix`);
  const mixed = fronts.map((front) => ({ model: front, ...lookUp(mix, front) }));
  if (mixed.every((front) => 'requestsPerSecond' in front))
    throw refuse(
      'every model of --mix has a fixed rate, so there is no load level to search',
      'give one model a share, such as --mix a=1,b=40/s',
    );
  return { fronts: mixed, calls: blsComposing };
}

const refuse = (what: string, hint: string): TrituneError => new TrituneError('USAGE', what, hint);

/**
 * The models that a study may change, where their names are known before the server is asked, and
 * the search spaces given for them.
 */
export interface NamedModels {
  /** The study's own first. */
  readonly names: readonly [string, ...string[]];
  /** The models that get requests. A server started for the study loads them at its start. */
  readonly fronts: readonly string[];
  /**
   * The spaces given for a new study; empty for the presets of the models' backends, and for a
   * resumed study.
   */
  readonly spaces: StatedSpaces;
  readonly requestedTopology: RequestedTopology;
}

/** The named models, their parts, and their state before the study. */
export interface TritonModels extends NamedModels {
  readonly originalModel: OriginalModel;
  /** By name. */
  readonly others: ReadonlyMap<string, OriginalModel>;
  /** null for a single model. */
  readonly together: Together | null;
  /**
   * The requests of clients that the server has counted, by model; absent where they were not
   * looked at.
   */
  readonly counted?: ReadonlyMap<string, CountedRequests>;
}

/**
 * Finds the calls of models that have been read. Also reads called models that are not loaded and
 * that a request needs.
 */
export type FindCalls = (
  fronts: RequestedTopology['fronts'],
  read: Map<string, OriginalModel>,
) => Promise<RequestedTopology['calls']>;

/** Errors: SPACE_INVALID, USAGE. */
export function modelsNamedBy({ spec, started }: Pick<OpenStudy, 'spec' | 'started'>): NamedModels {
  const topology = topologyRequest(spec);
  const fronts = topology.fronts.map(({ model }) => model);
  const distinct = (names: readonly string[]): [string, ...string[]] => [
    spec.model,
    ...new Set(names.filter((name) => name !== spec.model)),
  ];
  if (started)
    return {
      names: distinct(listOriginals(started).map(({ model }) => model)),
      fronts,
      spaces: nothingStated,
      requestedTopology: topology,
    };
  const spaces = givenSpaces(spec);
  const variants = spaces.whole ? otherModelsIn(spaces.whole, spec.model) : [];
  const called = Object.values(topology.calls).flat();
  return { names: distinct([...fronts, ...called, ...variants]), fronts, spaces, requestedTopology: topology };
}

function givenSpaces({ space, goal: { latencyBudgetMs } }: StudySpec): StatedSpaces {
  return space === undefined
    ? nothingStated
    : readStatedSpaces(space as string, { limits: readLimits(latencyBudgetMs) });
}

/** Returns the limits that the latency budget sets for a search space. */
export const readLimits = (latencyBudgetMs: number | undefined): Limits =>
  latencyBudgetMs === undefined ? {} : { latency_budget_us: latencyBudgetMs * 1e3 };

/**
 * Reads the models and their parts, and loads those that are not loaded. If one cannot be read,
 * restores all of them. `findCalls` finds the models that others call from their code. Errors:
 * those of `readOriginal`, of `readTopology` and of `findCalls`.
 */
export async function readModels(
  client: TritonClient,
  named: NamedModels,
  started: StudyStarted | null = null,
  findCalls?: FindCalls,
): Promise<TritonModels> {
  const read = new Map<string, OriginalModel>();
  try {
    await readParts(client, named.requestedTopology, read);
    for (const name of named.names) if (!read.has(name)) read.set(name, await readOriginal(client, name));
    const topology = findCalls
      ? await withCalls(client, named.requestedTopology, read, findCalls)
      : named.requestedTopology;
    const configs = Object.fromEntries([...read].map(([name, { config }]) => [name, config]));
    const together = started ? resumed(started) : await readTogether(client, topology, configs);
    return { ...listModels({ ...named, requestedTopology: topology }, read), together };
  } catch (error) {
    if (read.size > 0) await leaveAsTheyWere(client, listModels(named, read));
    throw error;
  }
}

async function withCalls(
  client: TritonClient,
  { fronts }: RequestedTopology,
  read: Map<string, OriginalModel>,
  findCalls: FindCalls,
): Promise<RequestedTopology> {
  const calls = await findCalls(fronts, read);
  const called = [...new Set(Object.values(calls).flat())].map((model) => ({ model }));
  await readParts(client, { fronts: called, calls }, read);
  return { fronts, calls };
}

/** A resumed study has a fixed search space, so other clients' ensembles no longer matter. */
const resumed = ({ topology }: StudyStarted): Together | null =>
  topology ? { topology, bystanders: {}, unreadable: new Map(), unread: [] } : null;

function listModels(named: NamedModels, read: ReadonlyMap<string, OriginalModel>): Omit<TritonModels, 'together'> {
  const [ownName] = named.names;
  const others = new Map([...read].filter(([name]) => name !== ownName));
  return { ...named, names: [ownName, ...others.keys()], originalModel: read.get(ownName) as OriginalModel, others };
}

/** Returns the configs of all models. */
export const toConfigs = ({
  names: [ownName],
  originalModel: model,
  others,
}: Pick<TritonModels, 'names' | 'originalModel' | 'others'>): ModelConfigs =>
  Object.fromEntries([[ownName, model] as const, ...others].map(([name, { config }]) => [name, config]));

/** Unloads the models that were loaded only to read them. Errors: RESTORE_FAILED. */
export async function leaveAsTheyWere(
  client: TritonClient,
  { names, originalModel, others }: Pick<TritonModels, 'names' | 'originalModel' | 'others'>,
): Promise<void> {
  const loaded = [[names[0], originalModel] as const, ...others].flatMap(([model, { config, wasLoaded }]) =>
    wasLoaded ? [] : [{ model, config, wasLoaded }],
  );
  if (loaded.length > 0) await controlOver([client], loaded, 'config').restore();
}
