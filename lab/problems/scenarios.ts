import { between, pick, type Random, seededRandom } from '../../src/base/random.ts';
import { NS_PER_MS, NS_PER_US, nsToMs } from '../../src/base/units.ts';
import type { GpuMemory } from '../../src/perfmodel/gpu-memory.ts';
import { executionNs, type LawPoint, type ServiceLaw } from '../../src/queueing/service-law.ts';
import { simulate } from '../../src/queueing/simulate.ts';
import type { Candidate } from '../../src/space/types.ts';
import type { ModelConfig } from '../../src/triton/config/model-config.ts';
import { candidateOver, type GridPoint } from './grid-space.ts';
import { memoizedTruth, type TestProblem } from './problem.ts';
import type { Truth } from './truth.ts';

/** Ways in which a synthetic model deviates from the sampler's service law. */
type Quirk =
  | 'cliff'
  | 'padding'
  | 'ceiling'
  | 'superlinear'
  | 'front-end'
  | 'tails'
  | 'memory'
  | 'settings'
  | 'slow-settings'
  | 'bumps';

/** The parameters of a synthetic model, drawn at random. */
interface Character {
  readonly fixedMs: number;
  readonly perSampleMs: number;
  readonly interference: ServiceLaw['interference'];
  readonly cv: number;
  /** Batches above `size` take `factor` times as long. */
  readonly cliff: { readonly size: number; readonly factor: number } | null;
  readonly paddedSizes: readonly number[];
  /** Instances beyond this number share the machine, busy or not. */
  readonly cores: number;
  readonly frontEndUs: number;
  readonly stalls: { readonly share: number; readonly factor: number };
  readonly memory: { readonly instance: number; readonly sample: number; readonly total: number };
  readonly settings: readonly Settings[];
  /** A smooth error over the space: amplitude, and phases per coordinate. */
  readonly bump: { readonly size: number; readonly phases: readonly number[] };
  readonly noise: TestProblem['noise'];
}

interface Settings {
  readonly config: ModelConfig;
  readonly factor: number;
  /** The factor on the part per sample, beyond `factor`. */
  readonly sampleFactor: number;
  readonly loadMs: number;
}

const GPU_MIB = 16_384;
const REQUESTS = 1200;
const GRID_LEVELS = [1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256];

/**
 * Returns the `index`-th synthetic model, always the same for an index. Each has two or three
 * quirks.
 */
export function scenario(index: number): TestProblem {
  const random = seededRandom(7919 * (index + 1));
  for (let skip = 0; skip < 8; skip++) random.float();
  const quirks = drawQuirks(index, random);
  const character = drawCharacter(quirks, random);
  const space = candidateOver({
    instances: [1, 2, 3, 4],
    maxBatchSize: [1, 2, 4, 8, 16, 32, 64],
    queueDelayUs: [0, null, 500, 2000, 5000],
    settings: character.settings.map(({ config }) => config),
  });
  const batch = pick([1, 4, 8, 16], random);
  return {
    name: `scenario ${index} (${quirks.join(', ')})`,
    space,
    baseline: space.candidate({
      instances: 1,
      maxBatchSize: batch,
      queueDelayUs: pick([0, null], random),
      settingsIndex: 0,
    }),
    levels: { mode: 'concurrency', low: 1, high: 256 },
    noise: character.noise,
    gridLevels: GRID_LEVELS,
    truth: memoizedTruth((candidate, level) => toTruth(character, candidate, level)),
    refusal: (candidate) => findRefusal(character, toPoint(candidate)),
    ...(Number.isFinite(character.memory.total) && {
      gpuMemory: (candidate: Candidate) => toGpuMemory(character, toPoint(candidate)),
    }),
    loadMs: (candidate) => (character.settings[toPoint(candidate).settingsIndex] as Settings).loadMs,
  };
}

const allQuirks: readonly Quirk[] = [
  'cliff',
  'padding',
  'ceiling',
  'superlinear',
  'front-end',
  'tails',
  'memory',
  'settings',
  'slow-settings',
];

/** Draws quirks: one in turn, so that each occurs, and others at random. */
function drawQuirks(index: number, random: Random): Quirk[] {
  const first = allQuirks[index % allQuirks.length] as Quirk;
  const others = Array.from({ length: random.int(1, 2) }, () => pick(allQuirks, random));
  return [...new Set<Quirk>([first, ...others, 'bumps'])].filter(
    (quirk) => quirk !== 'slow-settings' || first === 'slow-settings' || !others.includes('settings'),
  );
}

function drawCharacter(quirks: readonly Quirk[], random: Random): Character {
  const has = (quirk: Quirk): boolean => quirks.includes(quirk);
  const fixedMs = between(0.6, 12, random);
  const instance = between(0.5, 1.5, random);
  const sample = between(0.005, 0.06, random);
  return {
    fixedMs,
    perSampleMs: fixedMs * between(0.015, 0.6, random),
    interference: {
      perInstance: between(0.05, 0.7, random),
      batchExponent: has('superlinear') ? between(0.3, 0.6, random) : 0,
    },
    cv: has('tails') ? between(0.15, 0.4, random) : between(0.01, 0.08, random),
    cliff: has('cliff') ? { size: pick([4, 8, 16, 32], random), factor: between(1.4, 2.5, random) } : null,
    paddedSizes: has('padding')
      ? pick(
          [
            [1, 8, 64],
            [4, 16, 64],
            [1, 2, 4, 8, 16, 32, 64],
          ],
          random,
        )
      : [],
    cores: has('ceiling') ? between(1.2, 2.5, random) : Number.POSITIVE_INFINITY,
    frontEndUs: has('front-end') ? between(80, 900, random) : between(10, 40, random),
    stalls: has('tails')
      ? { share: between(0.002, 0.02, random), factor: between(2, 5, random) }
      : { share: 0, factor: 1 },
    memory: { instance, sample, total: has('memory') ? between(3, 7, random) : Number.POSITIVE_INFINITY },
    settings: listSettings(quirks, random),
    bump: { size: between(0.03, 0.08, random), phases: Array.from({ length: 4 }, () => 2 * Math.PI * random.float()) },
    noise: { throughput: between(0.01, 0.02, random), latency: between(0.03, 0.05, random) },
  };
}

/**
 * Draws two categorical settings, precision and graphs, each with its own effect. With
 * `slow-settings`, the precision is slow to load.
 */
function listSettings(quirks: readonly Quirk[], random: Random): Settings[] {
  const loadMs = between(800, 4000, random);
  const original: Settings = { config: {}, factor: 1, sampleFactor: 1, loadMs };
  if (!quirks.includes('settings') && !quirks.includes('slow-settings')) return [original];
  const precision = { factor: between(0.45, 1.2, random), sampleFactor: between(0.7, 1.2, random) };
  const graph = between(0.8, 1.15, random);
  const slow = quirks.includes('slow-settings') ? between(10, 40, random) * 1e3 : loadMs;
  const optimization = (fp16: boolean, graphs: boolean): ModelConfig => ({
    ...(fp16 && { parameters: { precision: { string_value: 'FP16' } } }),
    ...(graphs && { optimization: { cuda: { graphs: true } } }),
  });
  return [
    original,
    { config: optimization(true, false), ...precision, loadMs: slow },
    { config: optimization(false, true), factor: graph, sampleFactor: 1, loadMs },
    {
      config: optimization(true, true),
      factor: graph * precision.factor,
      sampleFactor: precision.sampleFactor,
      loadMs: slow,
    },
  ];
}

const toPoint = ({ assignment }: Candidate): GridPoint => assignment as unknown as GridPoint;

const computeNeed = ({ memory }: Character, { instances, maxBatchSize }: GridPoint): number =>
  instances * (memory.instance + memory.sample * maxBatchSize);

const findRefusal = (character: Character, point: GridPoint): string | null =>
  computeNeed(character, point) > character.memory.total ? 'CUDA out of memory' : null;

/** Returns the GPU memory in use; a tenth belongs to other processes. */
function toGpuMemory(character: Character, point: GridPoint): GpuMemory {
  const { total } = character.memory;
  const mib = (share: number): number => GPU_MIB * (0.1 + 0.9 * share);
  return { usedMib: mib(computeNeed(character, point) / total), totalMib: mib(1) };
}

function toTruth(character: Character, candidate: Candidate, level: number): Truth {
  const { instances, maxBatchSize, queueDelayUs, settingsIndex } = toPoint(candidate);
  const law = toLaw(character, character.settings[settingsIndex] as Settings, instances);
  const simulation = simulate(
    candidate.shape.policy,
    law,
    { kind: 'closed', concurrency: level, roundTripNs: 0.15 * NS_PER_MS },
    { warmUpRequests: 2 * level, requests: REQUESTS, seed: 31 },
  );
  const batches = [...simulation.executions.entries()]
    .filter(([, executions]) => executions > 0)
    .map(([size, executions]) => ({
      size,
      executions,
      meanExecutionUs: executionNs(law, size, Math.max(1, simulation.busyInstances)) / NS_PER_US,
    }));
  const reach = [
    Math.log2(instances),
    Math.log2(maxBatchSize),
    Math.log2(level),
    queueDelayUs === null ? -1 : queueDelayUs / 2000,
  ];
  const wave = reach.reduce((sum, at, index) => sum + Math.sin(at + (character.bump.phases[index] as number)), 0) / 2;
  const slower = Math.exp(character.bump.size * wave);
  const { stalls } = character;
  // A stall hits whole executions: a few of them in a hundred requests make up the tail.
  const tail = 1 + (stalls.factor - 1) * Math.min(1, stalls.share * simulation.meanBatchSize * 8);
  const ms = (ns: number, factor = 1): number => nsToMs(ns) * slower * factor;
  const { mean, p50, p90, p95, p99 } = simulation.latencyNs;
  return {
    throughput: simulation.requestsPerSecond / slower,
    latencyMs: { avg: ms(mean), p50: ms(p50), p90: ms(p90), p95: ms(p95, Math.sqrt(tail)), p99: ms(p99, tail) },
    queueUs: (simulation.queueNs / NS_PER_US) * slower,
    computeUs: (simulation.computeNs / NS_PER_US) * slower,
    batches: batches.map((batch) => ({ ...batch, meanExecutionUs: batch.meanExecutionUs * slower })),
  };
}

/**
 * Returns the service law. All instances share the cores, busy or idle, because idle ones poll and
 * prepare. A law in busy instances cannot express that.
 */
function toLaw(character: Character, settings: Settings, instances: number): ServiceLaw {
  const { fixedMs, perSampleMs, cliff, cores } = character;
  const idleInterference = Math.max(1, instances / cores) ** 1.2 * settings.factor;
  const sizes = [1, 2, 4, 8, 16, 32, 64, ...(cliff ? [cliff.size + 1] : [])].sort((a, b) => a - b);
  const points = [...new Set(sizes)].map((batchSize): LawPoint => {
    const alone = fixedMs + perSampleMs * settings.sampleFactor * batchSize;
    const beyond = cliff && batchSize > cliff.size ? cliff.factor : 1;
    return { batchSize, executionNs: alone * beyond * idleInterference * NS_PER_MS };
  });
  return {
    points,
    interference: character.interference,
    paddedSizes: character.paddedSizes,
    cv: character.cv,
    frontEndNs: character.frontEndUs * NS_PER_US,
    split: { input: 0.1, output: 0.05 },
  };
}
