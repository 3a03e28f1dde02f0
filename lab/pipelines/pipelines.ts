import { between, pick, type Random, randomFor } from '../../src/base/random.ts';
import { NS_PER_MS } from '../../src/base/units.ts';
import type { Device } from '../../src/queueing/network/types.ts';
import type { LawPoint, ServiceLaw } from '../../src/queueing/service-law.ts';
import { chainBlocks, type Pipeline, type PipelineModel } from './pipeline.ts';

/** How the execution time grows with the batch. */
type LawKind = 'batches well' | 'not at all' | 'fixed cost';

const SIZES = [1, 2, 4, 8, 16, 32, 64];
const GPU = 'gpu';
const CPU = 'cpu';

/**
 * Draws a law. Half of the batching ones have a quirk that the search's own law lacks: padded
 * batches, or a cliff.
 */
function toLaw(kind: LawKind, ms: number, random: Random): ServiceLaw {
  const perSample = {
    'batches well': between(0.02, 0.08, random),
    'not at all': between(0.85, 1, random),
    'fixed cost': 0.002,
  }[kind];
  const quirk = kind === 'not at all' ? 'none' : pick(['none', 'none', 'padding', 'cliff'] as const, random);
  const cliff = { size: pick([4, 8, 16], random), factor: between(1.3, 1.7, random) };
  const points = SIZES.map((batchSize): LawPoint => {
    const alone = ms * (1 - perSample + perSample * batchSize);
    return {
      batchSize,
      executionNs: alone * (quirk === 'cliff' && batchSize > cliff.size ? cliff.factor : 1) * NS_PER_MS,
    };
  });
  return {
    points,
    interference: { perInstance: between(0.02, 0.3, random), batchExponent: 0 },
    paddedSizes: quirk === 'padding' ? [1, 4, 16, 64] : [],
    cv: between(0.02, 0.12, random),
    frontEndNs: 0,
    split: { input: 0.08, output: 0.04 },
  };
}

interface Drawn {
  readonly law: LawKind;
  /** The approximate time of a single execution. */
  readonly ms: number;
  readonly on: typeof GPU | typeof CPU | 'own';
  readonly share?: number;
}

function toModel(name: string, { law: kind, ms, on, share = 1 }: Drawn, random: Random): PipelineModel {
  const law = toLaw(kind, ms * between(0.7, 1.4, random), random);
  const isShared = on !== 'own';
  return {
    name,
    // On a GPU that executions fill, those of one stage slow each other down like any others. On
    // cores, the device covers everything.
    law:
      on === GPU ? { ...law, interference: { perInstance: share * between(0.5, 0.9, random), batchExponent: 0 } } : law,
    cores: on === 'own' ? between(2.5, 6, random) : Number.POSITIVE_INFINITY,
    ...(isShared && { device: { name: on, share } }),
    isOnGpu: on === GPU,
    memory: between(0.6, 1.6, random),
    batch: pick([1, 4], random),
    instances: [1, 2, 3, 4, 6],
    batches: kind === 'not at all' ? [1, 4, 8] : [1, 4, 8, 16, 32],
    delaysUs: [0, 1000, 4000],
  };
}

const createGpu = (random: Random): Device => ({ name: GPU, interference: between(0.6, 1.1, random) });
const cores = { name: CPU, interference: 1 };

type Made = Pick<Pipeline, 'models' | 'devices' | 'fronts'> & Pick<Partial<Pipeline>, 'memory'>;
type Kind = (random: Random) => Made;

/** Makes a pipeline of one front, an ensemble of these steps. */
const createEnsemble = (
  models: readonly PipelineModel[],
  devices: readonly Device[],
  steps: Pipeline['fronts'][number]['steps'],
): Made => ({
  models,
  devices,
  fronts: [{ model: 'ensemble', steps }],
});

const kinds: Readonly<Record<string, Kind>> = {
  'chain, two stages on one GPU': (random) => {
    const models = [
      toModel('tokenizer', { law: 'not at all', ms: 1.5, on: 'own' }, random),
      toModel('encoder', { law: 'batches well', ms: 7, on: GPU, share: between(0.7, 1, random) }, random),
      toModel('head', { law: 'fixed cost', ms: 4, on: GPU, share: between(0.5, 0.9, random) }, random),
    ];
    return createEnsemble(models, [createGpu(random)], chainBlocks('tokenizer', 'encoder', 'head'));
  },
  'chain on shared cores': (random) => {
    const share = 1 / pick([2, 3, 4], random);
    const models = [
      toModel('decode', { law: 'not at all', ms: 3, on: CPU, share }, random),
      toModel('features', { law: 'batches well', ms: 8, on: CPU, share }, random),
      toModel('score', { law: 'fixed cost', ms: 5, on: CPU, share }, random),
    ];
    return createEnsemble(models, [cores], chainBlocks('decode', 'features', 'score'));
  },
  'parallel branches': (random) => {
    const models = [
      toModel('decode', { law: 'not at all', ms: 2, on: 'own' }, random),
      toModel('classify', { law: 'batches well', ms: 9, on: GPU, share: between(0.6, 1, random) }, random),
      toModel('read', { law: 'fixed cost', ms: 8, on: GPU, share: between(0.4, 0.8, random) }, random),
      toModel('merge', { law: 'not at all', ms: 1, on: 'own' }, random),
    ];
    const steps = [
      { stage: 'decode' },
      { stage: 'classify', after: [0] },
      { stage: 'read', after: [0] },
      { stage: 'merge', after: [1, 2] },
    ];
    return createEnsemble(models, [createGpu(random)], steps);
  },
  'nested, each on its own': (random) => {
    const models = [
      toModel('split', { law: 'not at all', ms: 4, on: 'own' }, random),
      toModel('encode', { law: 'batches well', ms: 10, on: 'own' }, random),
      toModel('pool', { law: 'fixed cost', ms: 6, on: 'own' }, random),
    ];
    return createEnsemble(models, [], [{ stage: 'split' }, { steps: chainBlocks('encode', 'pool'), after: [0] }]);
  },
  'BLS, calls in turn': (random) => {
    const models = [
      {
        ...toModel('front', { law: 'not at all', ms: 0.5, on: 'own' }, random),
        calls: [
          { model: 'find', inParallel: false },
          { model: 'name', perSample: 2, inParallel: false },
        ],
        batches: [1, 4],
        instances: [1, 2, 4, 8, 12],
      },
      toModel('find', { law: 'batches well', ms: 5, on: GPU, share: between(0.7, 1, random) }, random),
      toModel('name', { law: 'fixed cost', ms: 2, on: GPU, share: between(0.4, 0.8, random) }, random),
    ];
    return { models, devices: [createGpu(random)], fronts: [{ model: 'front', steps: [{ stage: 'front' }] }] };
  },
  'BLS, calls at once': (random) => {
    const models = [
      {
        ...toModel('front', { law: 'not at all', ms: 0.8, on: 'own' }, random),
        calls: [{ model: 'rank', perSample: 4, inParallel: true }],
        batches: [1, 4],
        instances: [1, 2, 4, 8, 12],
      },
      toModel('rank', { law: 'batches well', ms: 4, on: 'own' }, random),
    ];
    return { models, devices: [], fronts: [{ model: 'front', steps: [{ stage: 'front' }] }] };
  },
  'two tenants on one GPU': (random) => {
    const models = [
      toModel('detector', { law: 'batches well', ms: 9, on: GPU, share: between(0.8, 1, random) }, random),
      toModel('forecaster', { law: 'fixed cost', ms: 6, on: GPU, share: between(0.4, 0.8, random) }, random),
    ];
    const fronts = models.map(({ name }, index) => ({
      model: name,
      steps: [{ stage: name }],
      share: index === 0 ? pick([1, 2, 3], random) : 1,
    }));
    return { models, devices: [createGpu(random)], fronts };
  },
  'three tenants with a budget of memory': (random) => {
    const models = [
      toModel('large', { law: 'batches well', ms: 12, on: GPU, share: between(0.7, 1, random) }, random),
      toModel('small', { law: 'fixed cost', ms: 4, on: GPU, share: between(0.3, 0.6, random) }, random),
      toModel('plain', { law: 'not at all', ms: 2, on: GPU, share: between(0.2, 0.4, random) }, random),
    ];
    const fronts = models.map(({ name }) => ({ model: name, steps: [{ stage: name }], share: pick([1, 2], random) }));
    return { models, devices: [createGpu(random)], fronts, memory: between(6, 9, random) };
  },
};

const names = Object.keys(kinds);

/**
 * The number of made-up pipelines used to choose constants of the search: the first of each kind.
 */
export const CHOSEN_BY = names.length;
/** The number of made-up pipelines: two of each kind. The second ones judge the search. */
export const ALL_PIPELINES = 2 * names.length;

/** Returns the `index`-th made-up pipeline, always the same for an index. */
export function pipelineAt(index: number): Pipeline {
  const kind = names[index % names.length] as string;
  const random = randomFor(`pipeline ${index}`);
  const made = (kinds[kind] as Kind)(random);
  return {
    name: `pipeline ${index} (${kind})`,
    roundTripMs: between(0.1, 0.4, random),
    frontEndUs: between(10, 60, random),
    noise: { throughput: between(0.01, 0.02, random), latency: between(0.03, 0.05, random), execution: 0.02 },
    ...made,
  };
}
