import { TrituneError } from '#base/errors.ts';
import { compareConfigs } from '../config/comparison.ts';
import type { ModelConfig } from '../config/model-config.ts';
import type {
  BatchStatistics,
  ModelIndexEntry,
  ModelStatistics,
  SharedMemory,
  StatisticDuration,
  TritonClient,
} from '../types.ts';

/**
 * Returns several servers of the same models as one: what is read must be the same on all of them,
 * and statistics are their sums. Loads and unloads go to all. Errors: those of the servers, and
 * CONFIG_MISMATCH where the servers differ; UNSUPPORTED for a change of trace settings.
 */
export function oneOfSeveral(clients: readonly [TritonClient, TritonClient, ...TritonClient[]]): TritonClient {
  const [first] = clients;
  const onAll = <T>(call: (client: TritonClient) => Promise<T>): Promise<T[]> => Promise.all(clients.map(call));
  const holdsOnAll = async (call: (client: TritonClient) => Promise<boolean>): Promise<boolean> =>
    (await onAll(call)).every(Boolean);
  const { url } = first;
  return {
    protocol: first.protocol,
    url: clients.map((client) => client.url).join(),
    live: (call) => holdsOnAll((client) => client.live(call)),
    ready: (call) => holdsOnAll((client) => client.ready(call)),
    modelReady: (model, call) => holdsOnAll((client) => client.modelReady(model, call)),
    serverMetadata: (call) => first.serverMetadata(call),
    modelMetadata: (model, call) => first.modelMetadata(model, call),
    index: async (call) => commonModels(await onAll((client) => client.index(call))),
    modelConfig: async (model, call) => {
      const [config, ...others] = await onAll((client) => client.modelConfig(model, call));
      for (const [place, other] of others.entries())
        checkSame(model, [url, config as ModelConfig], [clients[place + 1]?.url ?? '', other]);
      return config as ModelConfig;
    },
    load: async (model, config, call) => {
      await checkLoadedAlike(model, clients);
      await onAll((client) => client.load(model, config, call));
    },
    unload: async (model, call) => {
      await onAll((client) => client.unload(model, call));
    },
    runMark: async (model, call) =>
      (await onAll((client) => client.runMark(model, call))).find((mark) => mark !== null) ?? null,
    statistics: async (model, call) => sumStatistics(await onAll((client) => client.statistics(model, call))),
    ...sharedOnAll(clients),
    traceSettings: (call) => first.traceSettings(call),
    changeTraceSettings: () =>
      Promise.reject(
        new TrituneError('UNSUPPORTED', 'the traces of several servers are not read', 'trace one of them alone'),
      ),
    close: async () => {
      await onAll((client) => client.close());
    },
  };
}

/** Each server maps the regions itself. */
function sharedOnAll(clients: readonly [TritonClient, ...TritonClient[]]): SharedMemory {
  const onAll = async (call: (client: TritonClient) => Promise<void>): Promise<void> => {
    await Promise.all(clients.map(call));
  };
  const isGoneFromAll = async (call: (client: TritonClient) => Promise<boolean>): Promise<boolean> =>
    (await Promise.all(clients.map(call))).every(Boolean);
  return {
    sharedMemoryRegions: async (call) =>
      (await Promise.all(clients.map((client) => client.sharedMemoryRegions(call)))).flat(),
    registerSharedMemory: (region, call) => onAll((client) => client.registerSharedMemory(region, call)),
    unregisterSharedMemory: (name, call) => isGoneFromAll((client) => client.unregisterSharedMemory(name, call)),
    cudaMemoryRegions: async (call) =>
      (await Promise.all(clients.map((client) => client.cudaMemoryRegions(call)))).flat(),
    registerCudaMemory: (region, handle, call) => onAll((client) => client.registerCudaMemory(region, handle, call)),
    unregisterCudaMemory: (name, call) => isGoneFromAll((client) => client.unregisterCudaMemory(name, call)),
  };
}

/** The models that each server has; ready where all are. */
function commonModels(indexes: readonly (readonly ModelIndexEntry[])[]): readonly ModelIndexEntry[] {
  const [first = [], ...others] = indexes;
  return first.flatMap((entry) => {
    const same = others.map((index) =>
      index.find((each) => each.name === entry.name && each.version === entry.version),
    );
    if (others.some((index) => index.every(({ name }) => name !== entry.name))) return [];
    return [[entry, ...same].find((each) => each !== undefined && each.state !== 'READY') ?? entry];
  });
}

function checkSame(
  model: string,
  [url, config]: readonly [string, ModelConfig],
  [otherUrl, other]: readonly [string, ModelConfig],
): void {
  const [difference] = compareConfigs(config, other);
  if (difference === undefined) return;
  throw new TrituneError(
    'CONFIG_MISMATCH',
    `the servers are not alike: '${model}' has another ${difference.path} on ${otherUrl} than on ${url}`,
    'serve the same repository on all of them; after a run that was killed, `tritune restore DIRECTORY`',
  );
}

/** A model that only some have loaded could not be left as it was. */
async function checkLoadedAlike(model: string, clients: readonly TritonClient[]): Promise<void> {
  const indexes = await Promise.all(clients.map((client) => client.index()));
  const isLoaded = indexes.map((index) => index.some(({ name, state }) => name === model && state === 'READY'));
  if (isLoaded.every((each) => each === isLoaded[0])) return;
  const [loaded, unloaded] = [true, false].map((is) => clients[isLoaded.indexOf(is)]?.url);
  throw new TrituneError(
    'MODEL_UNREADY',
    `'${model}' is loaded on ${loaded}, but not on ${unloaded}`,
    'load it on all of the servers, or on none',
  );
}

/** Returns the sums for each version that every server has counted for. */
function sumStatistics(each: readonly (readonly ModelStatistics[])[]): readonly ModelStatistics[] {
  const [first = [], ...others] = each;
  return first.map((one) => {
    const all = [
      one,
      ...others.flatMap((other) => other.filter(({ name, version }) => name === one.name && version === one.version)),
    ];
    const count = (read: (statistics: ModelStatistics) => number): number =>
      all.reduce((sum, statistics) => sum + read(statistics), 0);
    const duration = (read: (statistics: ModelStatistics) => StatisticDuration): StatisticDuration =>
      sumDurations(all.map(read));
    return {
      ...one,
      lastInferenceMs: Math.max(...all.map(({ lastInferenceMs }) => lastInferenceMs)),
      inferenceCount: count(({ inferenceCount }) => inferenceCount),
      executionCount: count(({ executionCount }) => executionCount),
      success: duration(({ success }) => success),
      fail: duration(({ fail }) => fail),
      queue: duration(({ queue }) => queue),
      computeInput: duration(({ computeInput }) => computeInput),
      computeInfer: duration(({ computeInfer }) => computeInfer),
      computeOutput: duration(({ computeOutput }) => computeOutput),
      cacheHit: duration(({ cacheHit }) => cacheHit),
      cacheMiss: duration(({ cacheMiss }) => cacheMiss),
      batchStats: sumBatches(all.flatMap(({ batchStats }) => batchStats)),
      memoryUsage: all.flatMap(({ memoryUsage }) => memoryUsage),
    };
  });
}

const sumDurations = (all: readonly StatisticDuration[]): StatisticDuration => ({
  count: all.reduce((sum, { count }) => sum + count, 0),
  ns: all.reduce((sum, { ns }) => sum + ns, 0),
});

function sumBatches(all: readonly BatchStatistics[]): readonly BatchStatistics[] {
  const sizes = [...new Set(all.map(({ batchSize }) => batchSize))].sort((a, b) => a - b);
  return sizes.map((batchSize) => {
    const same = all.filter((each) => each.batchSize === batchSize);
    return {
      batchSize,
      computeInput: sumDurations(same.map(({ computeInput }) => computeInput)),
      computeInfer: sumDurations(same.map(({ computeInfer }) => computeInfer)),
      computeOutput: sumDurations(same.map(({ computeOutput }) => computeOutput)),
    };
  });
}
