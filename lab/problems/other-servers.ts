import { between, pick, randomFor, seededRandom } from '../../src/base/random.ts';
import type { Candidate } from '../../src/space/types.ts';
import { candidateOver, type GridPoint } from './grid-space.ts';
import { type Discipline, serveOtherwise } from './other-discipline.ts';
import { memoizedTruth, type TestProblem } from './problem.ts';

const LOAD_MS = 1500;
const GRID_LEVELS = [1, 2, 4, 8, 16, 32, 64, 128];

/**
 * Returns the `index`-th synthetic server with a queue unlike Triton's, always the same for an
 * index. Its truth is simulated by other code than the prediction: requests in order or at random,
 * other requests with or without priority, cores that busy instances share, and autocorrelated
 * execution times.
 */
export function otherServer(index: number): TestProblem {
  const random = seededRandom(104_729 * (index + 1));
  for (let skip = 0; skip < 8; skip++) random.float();
  const fixedMs = between(1, 8, random);
  const discipline: Discipline = {
    order: index % 2 === 0 ? 'oldest first' : 'at random',
    others: {
      perSecond: index % 3 === 0 ? 0 : between(0.05, 0.4, random) * (1e3 / fixedMs),
      isUrgent: index % 3 === 2,
    },
    fixedMs,
    perSampleMs: fixedMs * between(0.02, 0.5, random),
    cores: pick([1.5, 2, 3, Number.POSITIVE_INFINITY], random),
    spread: between(0.03, 0.25, random),
    memory: pick([0, 0.8, 0.98], random),
    roundTripMs: between(0.1, 0.5, random),
  };
  const space = candidateOver({
    instances: [1, 2, 3, 4],
    maxBatchSize: [1, 2, 4, 8, 16, 32],
    queueDelayUs: [0, null, 500, 2000, 5000],
    settings: [{}],
  });
  return {
    name: `server ${index} (${discipline.order}, ${words(discipline)})`,
    space,
    baseline: space.candidate({
      instances: 1,
      maxBatchSize: pick([1, 4, 8], random),
      queueDelayUs: null,
      settingsIndex: 0,
    }),
    levels: { mode: 'concurrency', low: 1, high: 128 },
    noise: { throughput: 0.015, latency: 0.04 },
    gridLevels: GRID_LEVELS,
    truth: memoizedTruth((candidate, level) => {
      const { instances, maxBatchSize, queueDelayUs } = toPoint(candidate);
      const delayMs = queueDelayUs === null || maxBatchSize === 1 ? null : queueDelayUs / 1e3;
      return serveOtherwise(discipline, { instances, maxBatchSize, delayMs }, level, randomFor(`${index} ${level}`));
    }),
    refusal: () => null,
    loadMs: () => LOAD_MS,
  };
}

const toPoint = ({ assignment }: Candidate): GridPoint => assignment as unknown as GridPoint;

function words({ others, cores, memory }: Discipline): string {
  const rivals = others.perSecond === 0 ? 'alone' : others.isUrgent ? 'others go first' : 'others beside';
  const shared = Number.isFinite(cores) ? `${cores} cores` : 'cores for all';
  return [rivals, shared, ...(memory > 0.9 ? ['slow for a while'] : [])].join(', ');
}
