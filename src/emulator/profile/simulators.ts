import type { Random } from '#base/random.ts';
import { MS_PER_S, msToNs } from '#base/units.ts';
import { createSpread, executionNs, type ServiceLaw } from '#queueing/service-law.ts';
import { findCudaGraph, listCudaGraphs } from '#triton/config/cuda-graphs.ts';
import { readEngineCache } from '#triton/config/engine-cache.ts';
import type { ModelConfig } from '#triton/config/model-config.ts';
import { createLanguageModel } from '../language/language-model.ts';
import type { LanguageProfile } from '../language/language-schema.ts';
import { holdsText, NO_FILES, type UploadedFiles } from '../models/uploaded-files.ts';
import type { BlsPlan } from '../scheduling/bls-plan.ts';
import type { EmulatedModelSimulator } from '../scheduling/model-simulator.ts';
import { asProtocolFailure } from '../wire/protocol-failure.ts';
import { configMeets } from './config-paths.ts';
import type { Arm, EmulatorProfile, ModelProfile } from './schema.ts';

/**
 * Returns the simulator of a profile's model with the given config: its service law, changed by
 * every arm whose conditions hold, and by the drift since the server's start, `elapsedNs` ago.
 */
export function createModelSimulator(
  profile: ModelProfile,
  config: ModelConfig,
  random: Random,
  elapsedNs: () => number = () => 0,
  files: UploadedFiles = NO_FILES,
): EmulatedModelSimulator {
  const arms = listArms(profile, config, files);
  const law = toLaw(profile, arms);
  const spread = createSpread(law.cv, random);
  const { model_mib, instance_mib, sample_mib } = profile.memory;
  const memoryScale = arms.reduce((product, arm) => product * arm.memory_scale, 1);
  const samples = Math.max(1, config.max_batch_size ?? 0);
  const { cuda_graph_saves_ms: graphSavesMs } = profile.law;
  const graphs = graphSavesMs === undefined ? [] : listCudaGraphs(config);
  const simulatedNs = (batchSize: number, busy: number): number => {
    const graph = findCudaGraph(graphs, batchSize);
    if (graph === undefined) return executionNs(law, batchSize, busy);
    return Math.max(0, executionNs(law, Math.max(1, graph.to), busy) - msToNs(graphSavesMs ?? 0));
  };
  return {
    language: null,
    executionNs: (batchSize, busy) => simulatedNs(batchSize, busy) * spread() * driftFactor(profile.drift, elapsedNs),
    deviceShare: profile.law.device_share,
    bls: toBlsPlan(profile),
    atOnce: law.atOnce ?? Number.POSITIVE_INFINITY,
    firstExecutionMs:
      arms.findLast((arm) => arm.first_execution_ms !== undefined)?.first_execution_ms ?? profile.first_execution_ms,
    keptEngine: describeKeptEngine(profile, config, arms),
    firstOfSizeMs: profile.first_execution_of_size_ms,
    responses: profile.responses,
    turnaroundMs: profile.law.turnaround_ms,
    answerLeadMs: profile.law.answer_lead_ms,
    networkMs: profile.network_ms,
    split: law.split,
    memoryMib: (instances) => memoryScale * (model_mib + instances * (instance_mib + samples * sample_mib)),
    maxInstances: profile.max_instances ?? Number.POSITIVE_INFINITY,
    refusal: arms.find((arm) => arm.refuses !== undefined)?.refuses ?? null,
    load: {
      fullSeconds: arms.findLast((arm) => arm.load_s !== undefined)?.load_s ?? profile.load.full_s,
      addSeconds: profile.load.add_s,
      removeSeconds: profile.load.remove_s,
    },
  };
}

/**
 * Returns the simulator of a profile's language model, with the settings of an uploaded
 * `model.json`; if its engine would not start with them, the simulator refuses.
 */
export function createLanguageSimulator(
  profile: ModelProfile & { readonly language: LanguageProfile },
  deviceMib: number,
  config: ModelConfig,
  files: UploadedFiles,
  random: Random,
): EmulatedModelSimulator {
  const plain = createModelSimulator(profile, config, random, () => 0, files);
  try {
    return { ...plain, language: createLanguageModel(profile.language, deviceMib, files, random) };
  } catch (error) {
    return { ...plain, refusal: asProtocolFailure(error).message };
  }
}

function toBlsPlan({ bls }: ModelProfile): BlsPlan | null {
  if (!bls) return null;
  const stages = bls.stages.map((stage) => stage.map(({ fan_out: fanOut, ...call }) => ({ ...call, fanOut })));
  return { ...bls, stages };
}

/** Returns the model's service law with these arms applied; its own law without any. */
export function toLaw(profile: ModelProfile, arms: readonly Arm[]): ServiceLaw {
  const { execution_ms, at_once, padded_sizes, cv, split } = profile.law;
  const interference = arms.findLast((arm) => arm.interference)?.interference ?? profile.law.interference;
  const table = arms.findLast((arm) => arm.execution_ms)?.execution_ms ?? execution_ms;
  const scale = arms.reduce((product, arm) => product * arm.scale, 1);
  return {
    points: table.map(([batchSize, ms]) => ({ batchSize, executionNs: msToNs(ms) * scale })),
    interference: { perInstance: interference.per_instance, batchExponent: interference.batch_exponent },
    ...(at_once === undefined ? {} : { atOnce: at_once }),
    paddedSizes: padded_sizes,
    cv,
    // The emulator's own front end already takes its time.
    frontEndNs: 0,
    split,
  };
}

/** Returns the arms of the profile whose conditions hold for the config and the uploaded files. */
export function listArms(profile: ModelProfile, config: ModelConfig, files: UploadedFiles = NO_FILES): readonly Arm[] {
  const isUploaded = ({ uploaded }: Arm): boolean => uploaded === undefined || holdsText(files, uploaded);
  return profile.arms.filter((arm) => configMeets(config, arm.when) && isUploaded(arm));
}

/**
 * An arm with its own first execution builds an engine; to read it takes the model's first
 * execution.
 */
function describeKeptEngine(
  profile: ModelProfile,
  config: ModelConfig,
  arms: readonly Arm[],
): EmulatedModelSimulator['keptEngine'] {
  const directory = readEngineCache(config);
  const built = arms.filter((arm) => arm.first_execution_ms !== undefined).map(({ name }) => name);
  if (directory === null || built.length === 0) return null;
  return { key: [profile.config.name, directory, ...built].join('\n'), readMs: profile.first_execution_ms };
}

const MS_PER_MINUTE = 60 * MS_PER_S;

/** Changes linearly with time, and stays at its end. */
function driftFactor(drift: ModelProfile['drift'], elapsedNs: () => number): number {
  if (!drift) return 1;
  const factor = 1 + drift.per_minute * (elapsedNs() / msToNs(MS_PER_MINUTE));
  return drift.per_minute > 0 ? Math.min(factor, drift.to) : Math.max(factor, drift.to);
}

/** An ensemble has no instances, no memory and no executions of its own. */
export function ensembleSimulator({ load }: EmulatorProfile['ensembles'][number]): EmulatedModelSimulator {
  return {
    language: null,
    executionNs: () => 0,
    deviceShare: 0,
    bls: null,
    atOnce: Number.POSITIVE_INFINITY,
    firstExecutionMs: 0,
    keptEngine: null,
    firstOfSizeMs: 0,
    responses: 1,
    turnaroundMs: 0,
    answerLeadMs: 0,
    networkMs: 0,
    refusal: null,
    split: { input: 0, output: 0 },
    memoryMib: () => 0,
    maxInstances: Number.POSITIVE_INFINITY,
    load: { fullSeconds: load.full_s, addSeconds: 0, removeSeconds: 0 },
  };
}
