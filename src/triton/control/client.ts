import { atMost } from '#base/at-most.ts';
import { isTrituneError, TrituneError } from '#base/errors.ts';
import type { JsonObject } from '#base/json.ts';
import { withoutEngineCache } from '../config/engine-cache.ts';
import type { ModelConfig } from '../config/model-config.ts';
import { ConfigValueError, normaliseConfig } from '../config/normal-form.ts';
import { runMarkIn, withoutRunMark } from '../config/run-mark.ts';
import type { CallOptions, ModelIndexEntry, TritonClient } from '../types.ts';
import {
  callError,
  controlDisabled,
  isControlDisabled,
  isLoadVerdict,
  isModelMissing,
  isRegionInUse,
  modelUnknown,
  modelUnready,
} from '../wire/call-errors.ts';
import {
  MAX_MESSAGE,
  messageIn,
  readCudaRegions,
  readIndex,
  readModelMetadata,
  readRegions,
  readServerMetadata,
  readTraceSettings,
} from '../wire/replies.ts';
import { type Operation, type Wire, WireFault } from '../wire/wire.ts';
import { LoadRefusedError } from './load-refused.ts';
import { classifyRefusal, isGenericRefusal } from './refusal.ts';
import { readStatistics } from './statistics.ts';

/**
 * Default deadlines of calls, in milliseconds. Loads and unloads wait for each other inside the
 * server.
 */
export interface Deadlines {
  readonly defaultTimeoutMs: number;
  readonly loadTimeoutMs: number;
}

/**
 * Calls in progress at once: a server of many models should still answer others, and so should its
 * client.
 */
const MAX_CALLS = 16;

/**
 * The part that both protocols share: which call answers which question, and what a fault means.
 */
export function clientOver(wire: Wire, deadlines: Deadlines): TritonClient {
  const inTurn = atMost(MAX_CALLS);
  const ask = async (operation: Operation, call: CallOptions = {}): Promise<JsonObject> => {
    const slow = operation.kind === 'load' || operation.kind === 'unload';
    const timeoutMs = call.timeoutMs ?? (slow ? deadlines.loadTimeoutMs : deadlines.defaultTimeoutMs);
    try {
      return await inTurn(() => wire.call(operation, { timeoutMs, signal: call.signal }));
    } catch (error) {
      throw error instanceof WireFault ? await explain(operation, error, call.signal) : error;
    }
  };

  const index = async (call?: CallOptions): Promise<readonly ModelIndexEntry[]> =>
    readIndex(await ask({ kind: 'index' }, call));

  const askConfig = async (model: string, call?: CallOptions): Promise<ModelConfig> =>
    readConfig(model, messageIn(await ask({ kind: 'model-config', model }, call), 'config'));

  /** A fault of a call about one model may require a look at the index. */
  const explain = async (operation: Operation, fault: WireFault, signal: AbortSignal | undefined): Promise<Error> => {
    if (!('model' in operation)) return callError(wire, operation, fault);
    if (isControlDisabled(fault)) return controlDisabled(wire, fault);
    const { model } = operation;
    if (operation.kind === 'load' && isLoadVerdict(fault)) {
      const known = isGenericRefusal(fault.message) ? await knownModels(signal) : undefined;
      if (known && !known.some((entry) => entry.name === model)) return modelUnknown(wire, model, names(known), fault);
      return new LoadRefusedError(model, classifyRefusal(fault.message), fault.message.slice(0, MAX_MESSAGE));
    }
    if (!isModelMissing(fault)) return callError(wire, operation, fault);
    const known = await knownModels(signal);
    const entry = known?.findLast((candidate) => candidate.name === model);
    return entry ? modelUnready(entry, fault) : modelUnknown(wire, model, names(known), fault);
  };

  /** Returns undefined if the server does not report it. */
  const knownModels = async (signal: AbortSignal | undefined): Promise<readonly ModelIndexEntry[] | undefined> => {
    try {
      return readIndex(await wire.call({ kind: 'index' }, { timeoutMs: deadlines.defaultTimeoutMs, signal }));
    } catch (error) {
      if (error instanceof WireFault) return undefined;
      throw error;
    }
  };

  /** False while a request uses the region. */
  const letGo = async (
    operation: Extract<Operation, { readonly name: string }>,
    call: CallOptions | undefined,
  ): Promise<boolean> => {
    // The server takes an empty name to mean every region, including those of other clients.
    if (operation.name === '') throw new RangeError('a region without a name');
    try {
      await ask(operation, call);
      return true;
    } catch (error) {
      if (isTrituneError(error) && isRegionInUse(error)) return false;
      throw error;
    }
  };

  return {
    protocol: wire.protocol,
    url: wire.url,
    live: async (call) => (await ask({ kind: 'live' }, call)).live === true,
    ready: async (call) => (await ask({ kind: 'ready' }, call)).ready === true,
    modelReady: async (model, call) => {
      try {
        return (await ask({ kind: 'model-ready', model }, call)).ready === true;
      } catch (error) {
        if (isTrituneError(error, 'MODEL_UNKNOWN', 'MODEL_UNREADY')) return false;
        throw error;
      }
    },
    serverMetadata: async (call) => readServerMetadata(await ask({ kind: 'server-metadata' }, call)),
    modelMetadata: async (model, call) => readModelMetadata(await ask({ kind: 'model-metadata', model }, call)),
    index,
    modelConfig: async (model, call) => withoutEngineCache(withoutRunMark(await askConfig(model, call))),
    runMark: async (model, call) => runMarkIn(await askConfig(model, call)),
    load: async (model, config, call) => {
      const { files } = call ?? {};
      const configJson = config && JSON.stringify(config);
      await ask(
        { kind: 'load', model, ...(configJson !== undefined && { configJson }), ...(files && { files }) },
        call,
      );
    },
    unload: async (model, call) => {
      await ask({ kind: 'unload', model }, call);
    },
    statistics: async (model, call) => readStatistics(await ask({ kind: 'statistics', model }, call)),
    sharedMemoryRegions: async (call) => readRegions(await ask({ kind: 'shared-memory-status' }, call)),
    registerSharedMemory: async (region, call) => {
      await ask({ kind: 'shared-memory-register', region }, call);
    },
    unregisterSharedMemory: (name, call) => letGo({ kind: 'shared-memory-unregister', name }, call),
    cudaMemoryRegions: async (call) => readCudaRegions(await ask({ kind: 'cuda-memory-status' }, call)),
    registerCudaMemory: async (region, handle, call) => {
      await ask({ kind: 'cuda-memory-register', region, handle }, call);
    },
    unregisterCudaMemory: (name, call) => letGo({ kind: 'cuda-memory-unregister', name }, call),
    traceSettings: async (call) => readTraceSettings(await ask({ kind: 'trace-settings', change: {} }, call)),
    changeTraceSettings: async (change, call) => readTraceSettings(await ask({ kind: 'trace-settings', change }, call)),
    close: () => wire.close(),
  };
}

/** Errors: CONFIG_INVALID, with the name of the model. */
function readConfig(model: string, reply: JsonObject): ModelConfig {
  try {
    return normaliseConfig(reply);
  } catch (error) {
    if (!(error instanceof ConfigValueError)) throw error;
    const { path, reason } = error;
    throw new TrituneError(
      'CONFIG_INVALID',
      `the server's config of '${model}': ${path || 'the whole'}: ${reason}`,
      'check the version of the server, and what answers at its address',
    );
  }
}

function names(entries: readonly ModelIndexEntry[] | undefined): readonly string[] | undefined {
  return entries?.map((entry) => entry.name);
}
