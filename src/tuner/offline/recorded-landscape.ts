import { medianSorted } from 'simple-statistics';
import type { JsonObject } from '../../base/json.ts';
import { spaceFromJson } from '../../space/load.ts';
import type { Candidate } from '../../space/types.ts';
import { viewSpace } from '../../study/samplers/space-view.ts';
import type { ModelConfig } from '../../triton/model-config.ts';
import { type Recorded, truthAt } from './between-levels.ts';
import type { Landscape, Truth } from './problem.ts';
import type { RecordedCandidate, RecordedPoint, Recording } from './recording.ts';

/** For two or more normal readings, their range is on average so many standard deviations (Tippett 1925); beyond five the last will do. */
const RANGE_IN_DEVIATIONS = [1.128, 1.693, 2.059, 2.326];

/**
 * A recording as a model to tune: its own search space, statistics by batch size as they were, loads that take as long as they took. The
 * medians of the readings count as true; the noise is what the readings of a point differ by, none where there was only one of each.
 */
export function landscapeOf(recording: Recording): Landscape {
  const { name, levels, candidates } = recording;
  const original = recording.originalConfig as ModelConfig;
  const view = viewSpace(spaceFromJson(recording.space as JsonObject), original);
  const found = new Map<string, RecordedCandidate>();
  let baseline: Candidate | null = null;
  for (const each of candidates) {
    const assignment = each.assignment as Candidate['assignment'];
    const outcome = view.build(assignment);
    if (!outcome.legal) continue;
    found.set(outcome.candidate.fingerprint, each);
    if (Object.keys(assignment).length === 0) baseline = outcome.candidate;
  }
  const rowsOf = new Map([...found].map(([fingerprint, { points }]) => [fingerprint, points.map(recordedOf)]));
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
      throughput: noiseOf(points, ({ throughput }) => throughput.spread),
      latency: noiseOf(points, ({ p99Spread }) => p99Spread),
    },
    gridLevels: levels.values,
    truth: ({ fingerprint }, level) => truthAt(rowsOf.get(fingerprint) ?? [], level),
    refusal: ({ fingerprint }) => {
      const known = found.get(fingerprint);
      if (!known) return 'it was not recorded';
      return known.failure?.reason ?? null;
    },
    loadMs: ({ fingerprint }) => middle(found.get(fingerprint)?.loadsMs.full ?? []) ?? middle(fullLoads) ?? 0,
    inPlaceMs: middle(candidates.flatMap(({ loadsMs }) => loadsMs.inPlace)) ?? undefined,
  };
}

/** The relative standard deviation of a reading: of the usual point, from the range of its readings. */
function noiseOf(points: readonly RecordedPoint[], spread: (point: RecordedPoint) => number): number {
  const deviations = points.flatMap((each) => {
    const range = RANGE_IN_DEVIATIONS[Math.min(each.readings - 2, RANGE_IN_DEVIATIONS.length - 1)];
    return range === undefined ? [] : [spread(each) / range];
  });
  return middle(deviations) ?? 0;
}

function recordedOf({ level, throughput, latencyMs, server }: RecordedPoint): Recorded {
  const truth: Truth = {
    throughput: throughput.value,
    latencyMs,
    queueUs: server?.queueUs ?? 0,
    computeUs: server ? server.computeInputUs + server.computeInferUs + server.computeOutputUs : 0,
    batches: (server?.batches ?? []).map(([size, executions, meanExecutionUs]) => ({
      ...{ size, meanExecutionUs },
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
