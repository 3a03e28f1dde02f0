import { medianSorted } from 'simple-statistics';
import type { JsonObject } from '../../src/base/json.ts';
import { toCandidate } from '../../src/space/model-configs.ts';
import { spaceFromJson } from '../../src/space/source/load.ts';
import type { Candidate } from '../../src/space/types.ts';
import { viewSpace } from '../../src/study/search/samplers/space-view.ts';
import type { ModelConfig } from '../../src/triton/config/model-config.ts';
import type { RecordedCandidate, RecordedPoint, Recording } from '../recording/recording.ts';
import { type Recorded, truthAt } from './between-levels.ts';
import type { TestProblem } from './problem.ts';
import type { Truth } from './truth.ts';

/**
 * The mean range of n normal readings in standard deviations, for n from 2 (Tippett, 1925); the
 * value of 5 serves beyond.
 */
const RANGE_IN_DEVIATIONS = [1.128, 1.693, 2.059, 2.326];

/**
 * Returns a recording as a test problem with its own search space, its statistics by batch size and
 * its load times. The medians of the readings count as the truth; the noise is estimated from the
 * range of a point's readings, 0 where each has only one.
 */
export function toRecordedProblem(recording: Recording): TestProblem {
  const { name, levels, candidates } = recording;
  const original = toCandidate(recording.originalConfig as ModelConfig);
  const view = viewSpace(spaceFromJson(recording.space as JsonObject), original);
  const recordedByFingerprint = new Map<string, RecordedCandidate>();
  let baseline: Candidate | null = null;
  for (const each of candidates) {
    const assignment = each.assignment as Candidate['assignment'];
    const outcome = view.build(assignment);
    if (!outcome.legal) continue;
    recordedByFingerprint.set(outcome.candidate.fingerprint, each);
    if (Object.keys(assignment).length === 0) baseline = outcome.candidate;
  }
  const rowsByFingerprint = new Map(
    [...recordedByFingerprint].map(([fingerprint, { points }]) => [fingerprint, points.map(toRecorded)]),
  );
  const points = candidates.flatMap((each) => each.points);
  const fullLoads = candidates.flatMap(({ loadsMs }) => loadsMs.full);
  const built = view.build({});
  if (!baseline && built.legal) baseline = built.candidate;
  return {
    name,
    space: view,
    baseline: baseline as Candidate,
    levels: { mode: 'concurrency', low: Math.min(...levels.values), high: Math.max(...levels.values) },
    noise: {
      throughput: computeNoise(points, ({ throughput }) => throughput.spread),
      latency: computeNoise(points, ({ p99Spread }) => p99Spread),
    },
    gridLevels: levels.values,
    truth: ({ fingerprint }, level) => truthAt(rowsByFingerprint.get(fingerprint) ?? [], level),
    refusal: ({ fingerprint }) => {
      const known = recordedByFingerprint.get(fingerprint);
      if (!known) return 'it was not recorded';
      return known.failure?.reason ?? null;
    },
    loadMs: ({ fingerprint }) =>
      middle(recordedByFingerprint.get(fingerprint)?.loadsMs.full ?? []) ?? middle(fullLoads) ?? 0,
    inPlaceMs: middle(candidates.flatMap(({ loadsMs }) => loadsMs.inPlace)) ?? undefined,
  };
}

/**
 * Returns the relative standard deviation of a reading: the median over points, each from the range
 * of its readings.
 */
function computeNoise(points: readonly RecordedPoint[], spread: (point: RecordedPoint) => number): number {
  const deviations = points.flatMap((each) => {
    const range = RANGE_IN_DEVIATIONS[Math.min(each.readings - 2, RANGE_IN_DEVIATIONS.length - 1)];
    return range === undefined ? [] : [spread(each) / range];
  });
  return middle(deviations) ?? 0;
}

function toRecorded({ level, throughput, latencyMs, server }: RecordedPoint): Recorded {
  const truth: Truth = {
    throughput: throughput.value,
    latencyMs,
    queueUs: server?.queueUs ?? 0,
    computeUs: server ? server.computeInputUs + server.computeInferUs + server.computeOutputUs : 0,
    batches: (server?.batches ?? []).map(([size, executions, meanExecutionUs]) => ({
      size,
      meanExecutionUs,
      executions: Math.max(1, Math.round(executions)),
    })),
    ...(server && {
      split: { inputUs: server.computeInputUs, outputUs: server.computeOutputUs, overheadUs: server.overheadUs },
    }),
  };
  return { level, truth };
}

const middle = (values: readonly number[]): number | null =>
  values.length === 0 ? null : medianSorted([...values].sort((a, b) => a - b));
