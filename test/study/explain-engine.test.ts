import { describe, expect, it } from 'vitest';
import type { Measurement } from '#profiler/measurement.ts';
import type { EngineFigures } from '#profiler/token-figures.ts';
import { buildCandidate } from '#space/candidate.ts';
import { launchedCandidate } from '#space/engine-candidate.ts';
import { loadSpace } from '#space/source/load.ts';
import { explainBest } from '#study/analysis/explain/explain.ts';
import { foldStudy } from '#study/records/fold.ts';
import type { StudyRecord } from '#study/records/records.ts';
import type { Explanation } from '#study/summary/explanation-schema.ts';
import { goalOf, measured, studyStarted } from './builders.ts';
import { tokensOf } from './token-figures.ts';

const at = '2026-01-01T00:00:01.000Z';
const goal = goalOf(null, {
  objectives: [{ metric: 'output-token-throughput', weight: 1 }],
  constraints: [{ metric: 'itl', relation: '<=', value: 50 }],
});

/**
 * The explanation of an engine with 16 sequences at most, measured with so many users; the last
 * measurement is above the best.
 */
function explained(
  ...levels: readonly (readonly [users: number, itlMs: number, engine?: EngineFigures])[]
): Explanation {
  const outcome = buildCandidate(loadSpace('engines/vllm'), launchedCandidate({ engine: { max_num_seqs: 16 } }), {});
  if (!outcome.legal) throw new Error(outcome.reason);
  const measurements = levels.map(([users, itlMs, engine]): Measurement => {
    const seconds = (128 * itlMs + 10 * users) / 1e3;
    return measured(users, users / seconds, 1e3 * seconds, {
      tokens: tokensOf(users, itlMs),
      ...(engine && { engine }),
    });
  });
  const records: StudyRecord[] = [
    studyStarted(goal, { original: outcome.candidate }),
    { type: 'trial-started', at, trial: 0, role: 'baseline', candidate: outcome.candidate },
    ...measurements.map((measurement): StudyRecord => ({ type: 'trial-measured', at, trial: 0, measurement })),
    { type: 'trial-finished', at, trial: 0, chosen: 0, feasible: true, failure: null },
  ];
  return explainBest(foldStudy(records)) as Explanation;
}

describe('why an engine of a language model serves no more', () => {
  it('is the number of sequences where as many run as may, and others wait', () => {
    const { limit } = explained([24, 20, { runningSequences: 15.8, waitingSequences: 8, kvCacheShare: 0.4 }]);
    expect(limit).toMatchObject({ kind: 'sequences', engine: { running: 15.8, waiting: 8, most: 16 } });
    expect(limit.words).toBe(
      'The bottleneck now is the limit of 16 sequences at once (8 requests wait); 40 % of the KV cache is in use; 15.8 sequences run in the mean.',
    );
  });

  it('is the KV cache where it is full, though fewer run than may, with what is lost', () => {
    const engine = { runningSequences: 9, waitingSequences: 6, kvCacheShare: 0.97, preemptionsPerSecond: 0.5 };
    const { limit } = explained([15, 20, engine], [30, 40]);
    expect(limit.kind).toBe('kv-cache');
    expect(limit.words).toMatch(
      /^The bottleneck now is the KV cache \(97 % full; 6 requests wait\); 9 sequences run in the mean; 0.5 sequences a second lose their place in it; concurrency 30 misses .*itl <= 50/i,
    );
  });

  it('is the limit that the next level misses where none waits', () => {
    const { limit } = explained(
      [8, 20, { runningSequences: 7.9, waitingSequences: 0.1, kvCacheShare: 0.95 }],
      [16, 40],
    );
    expect(limit.kind).toBe('constraint');
    expect(limit.words).toMatch(/concurrency 16 misses .*; 7.9 sequences run and 0.1 wait/);
  });

  it('comes with where the time of a request goes, by its tokens', () => {
    const { sentences } = explained([8, 20]);
    expect(sentences.join(' ')).toMatch(
      /The first token comes after 80 ms in the mean \(p99 160 ms\), each of the others 20 ms after the one before \(p99 40 ms\); a reply has 128\./,
    );
    expect(sentences.join(' ')).not.toMatch(/not known/);
  });
});
