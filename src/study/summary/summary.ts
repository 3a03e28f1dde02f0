import type { Measurement, OpenLoopFigures } from '#profiler/measurement.ts';
import { clientChanges } from '#space/client-changes.ts';
import { toDocument, toModelConfigs } from '#space/model-configs.ts';
import type { Candidate } from '#space/types.ts';
import type { Interval } from '#stats/interval.ts';
import { explainBest } from '../analysis/explain/explain.ts';
import { smallerBatch } from '../analysis/smaller-batch.ts';
import { representative } from '../final/final.ts';
import { gainSoFar } from '../final/gain-so-far.ts';
import { decidingWorkload } from '../goal/deciding-workload.ts';
import { recommend } from '../recommendation.ts';
import type { StudyState } from '../records/state.ts';
import { summarizeSpeed } from '../speed/summary.ts';
import type { Trial } from '../types.ts';
import { toCostPoint } from './cost-point.ts';
import { decidingFigures } from './deciding-figures.ts';
import { latencyNote } from './latency-note.ts';
import { findNoiseFloor } from './noise-floor.ts';
import { partsOfPoint, percentileFigures, withNulls, workloadPoints } from './point-parts.ts';
import type { PointFigures, PointParts, StandingPoint, SummaryPoint } from './point-schema.ts';
import { predictBest } from './prediction.ts';
import type { Summary } from './summary-schema.ts';
import { isOriginal, toVerdict } from './verdict.ts';

/** A figure of the summary; null instead of a value that is not finite, never a zero. */
type Figure = number | null;

type GainFigures = NonNullable<Summary['gain']>;

/** `journal`: the path of the journal, as a reader of the summary finds it. */
export function summarize(state: StudyState, journal: string): Summary {
  const { started, goal } = state;
  const best = state.best && finalPoint(state, state.best);
  const baseline = state.baseline && finalPoint(state, state.baseline);
  const { restored, finished } = state;
  return {
    schemaVersion: 1,
    model: started.model,
    ...(started.topology && { topology: started.topology }),
    ...(started.workloads && { workloads: started.workloads }),
    server: {
      name: state.server.name,
      version: state.server.version,
      ...(state.server.machine && { machine: state.server.machine }),
    },
    emulated: state.server.emulated,
    budget: goal.budget,
    constraints: goal.constraints,
    objectives: goal.objectives,
    clientChanges: state.best ? clientChanges(started.original, state.best.candidate) : [],
    smallerBatch: smallerBatch(state),
    latencyNote: latencyNote(started, goal, best && decidingFigures(best), baseline && decidingFigures(baseline)),
    ...(started.assumptions && { assumptions: started.assumptions }),
    ...(goal.goodput && { goodput: goal.goodput }),
    feasible: best?.feasible ?? false,
    verdict: toVerdict(state),
    best: best && { ...best, predicted: predictBest(state) },
    baseline,
    gain: computeGain(state),
    searchGain: computeSearchGain(state),
    rejected: rejectedIn(state),
    noiseFloor: findNoiseFloor(state),
    clientBound: summarizeClientBound(state),
    explanation: explainBest(state),
    speed: summarizeSpeed(state.speeds, toCounted(state)),
    pareto: state.front.map(({ trial, measurement, feasible }) => toPoint(state, trial, measurement, feasible)),
    counts: state.counts,
    wallSeconds: figure(state.elapsedSeconds),
    stopReason: finished?.stopReason ?? 'the run did not end by itself',
    stopNotes: finished?.notes ?? [],
    certificate: finished?.certificate ?? null,
    interrupted: finished?.interrupted ?? true,
    restored: restored && { how: restored.how, verified: restored.verified, detail: restored.detail },
    sampler: started.sampler,
    seed: started.seed,
    ...(started.modelAnalyzer && { modelAnalyzer: started.modelAnalyzer }),
    journal,
    trituneVersion: started.trituneVersion,
  };
}

function finalPoint(state: StudyState, trial: Trial): StandingPoint | null {
  const stands = representative(state, trial);
  if (!stands) return null;
  const { measurement, compared, feasible } = stands;
  const cost = toCostPoint(state.goal, compared, trial.candidate);
  return {
    ...toPoint(state, trial, measurement, feasible),
    recommended: recommend(state, trial),
    compared: compared === measurement ? null : { ...summarizeFigures(compared), ...toParts(state, trial, compared) },
    ...(cost && { cost }),
  };
}

function toPoint(state: StudyState, trial: Trial, measurement: Measurement, feasible: boolean): SummaryPoint {
  const { number, candidate } = trial;
  return {
    trial: number,
    fingerprint: candidate.fingerprint,
    assignment: candidate.assignment,
    config: toDocument(candidate),
    ...listModels(candidate),
    load: measurement.level,
    feasible,
    ...summarizeFigures(measurement),
    errorRate: figure(measurement.errorRate),
    ...(measurement.failures[0] && { failure: measurement.failures[0].firstMessage }),
    stable: measurement.stable,
    ...(measurement.openLoop && { openLoop: openLoopPoint(measurement.openLoop) }),
    ...toParts(state, trial, measurement),
  };
}

function openLoopPoint({ countedMs, ...figures }: OpenLoopFigures): SummaryPoint['openLoop'] {
  return withNulls(figures);
}

function summarizeFigures({
  throughput,
  latencyMs,
  budgetLatencyMs,
}: Measurement): Omit<PointFigures, keyof PointParts> {
  const { avg, p50, p90, p95, p99 } = latencyMs;
  return {
    throughput: withNulls(throughput),
    latencyMs: { avg: figure(avg), p50: figure(p50), p90: figure(p90), p95: figure(p95), p99: figure(p99) },
    budgetLatencyMs: percentileFigures(budgetLatencyMs),
  };
}

const toParts = (
  { started: { topology, workloads }, goal }: StudyState,
  { candidate }: Trial,
  measurement: Measurement,
): PointParts => ({
  ...partsOfPoint(measurement, topology, candidate.shape),
  ...workloadPoints(measurement, decidingWorkload(measurement, candidate, goal, workloads)),
});

function listModels(candidate: Candidate): Pick<SummaryPoint, 'models'> {
  if (!candidate.shape.members) return {};
  const parts = Object.entries(toModelConfigs(candidate)).map(([model, config]) => {
    const entries = Object.entries(candidate.assignment).filter(([name]) => name.startsWith(`${model}/`));
    const assignment = Object.fromEntries(entries.map(([name, value]) => [name.slice(model.length + 1), value]));
    return [model, { assignment, config }] as const;
  });
  return { models: Object.fromEntries(parts) };
}

/** All measurements that count, of the search and the final. */
const toCounted = ({ trials, finals }: StudyState): readonly Measurement[] => [
  ...trials.flatMap((trial) => trial.measurements),
  ...finals.map((final) => final.measurement),
];

function summarizeClientBound(state: StudyState): Summary['clientBound'] {
  const all = toCounted(state);
  const bound = all.filter((measurement) => measurement.client.bound);
  const [first] = bound;
  return first ? { measurements: bound.length, reason: first.client.reason ?? '' } : null;
}

/** The baseline is once itself, measured or not. */
function computeGain(state: StudyState): Summary['gain'] {
  if (state.best && isOriginal(state.best.candidate, state.baseline?.candidate)) return { ratio: 1, low: 1, high: 1 };
  const gain = state.gain?.gain;
  return gain ? { ratio: figure(gain.value), low: figure(gain.low), high: figure(gain.high) } : null;
}

function computeSearchGain(state: StudyState): GainFigures | null {
  const gain = computeGain(state) ? null : gainSoFar(state);
  return gain && gainFigures(gain);
}

function rejectedIn({ gain: decided }: StudyState): Summary['rejected'] {
  if (!decided?.rejected) return null;
  const { trial, reason, gain } = decided.rejected;
  return { trial, reason, gain: gain && gainFigures(gain) };
}

const gainFigures = ({ value, low, high }: Interval): GainFigures => ({
  ratio: figure(value),
  low: figure(low),
  high: figure(high),
});

function figure(value: number): Figure {
  return Number.isFinite(value) ? value : null;
}
