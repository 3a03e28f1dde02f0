import type { JsonObject } from '../../base/json.ts';
import type { LoadLevel } from '../../loadgen/types.ts';
import type { Measurement, OpenLoopFigures } from '../../profiler/measurement.ts';
import { type ClientChange, clientChanges } from '../../space/clients/changes.ts';
import { documentOf, modelConfigsOf } from '../../space/model-configs.ts';
import type { Topology } from '../../space/topology.ts';
import type { Assignment, Candidate } from '../../space/types.ts';
import type { Interval } from '../../stats/interval.ts';
import { type Explanation, explainBest } from '../analysis/explain/explain.ts';
import { type SmallerBatch, smallerBatch } from '../analysis/smaller-batch.ts';
import { representative } from '../final/final.ts';
import { gainSoFar } from '../final/gain-so-far.ts';
import { decidingWorkload } from '../goal/deciding-workload.ts';
import { type Recommendation, recommendationOf } from '../level/recommendation.ts';
import type { StudyStarted } from '../records/records.ts';
import type { Counts, StudyState } from '../records/state.ts';
import { type SpeedSummary, summarizeSpeed } from '../speed/summary.ts';
import type { Constraint, Goal, Objective, Trial } from '../types.ts';
import { type CostPoint, costPointOf } from './cost-point.ts';
import { decidingFigures } from './deciding-figures.ts';
import { latencyNote } from './latency-note.ts';
import { type NoiseFloor, noiseFloorOf } from './noise-floor.ts';
import { type PointParts, partsOfPoint, workloadPoints } from './point-parts.ts';
import { type Prediction, predictBest } from './prediction.ts';
import { isOriginal, type Verdict, verdictOf } from './verdict.ts';

/** A figure of the summary; null instead of a value that is not finite, never a zero. */
type Figure = number | null;
type IntervalFigures = { readonly value: Figure; readonly low: Figure; readonly high: Figure };

/** The figures of a measurement that a comparison may use. */
interface PointFigures extends PointParts {
  /** infer/s, 95 % interval. */
  readonly throughput: IntervalFigures;
  readonly latencyMs: { readonly [percentile in 'avg' | 'p50' | 'p90' | 'p95' | 'p99']: Figure };
  /** The budgeted percentile. */
  readonly budgetLatencyMs: IntervalFigures & { readonly percentile: number };
}

export interface SummaryPoint extends PointFigures {
  readonly trial: number;
  readonly fingerprint: string;
  readonly assignment: Assignment;
  /** For Triton the whole model config; for several models everything that the candidate sets. */
  readonly config: JsonObject;
  /**
   * The part of each model that is tuned together with others, by name: its assignment under its
   * own parameter names, and its whole config.
   */
  readonly models?: { readonly [model: string]: { readonly assignment: Assignment; readonly config: JsonObject } };
  readonly load: LoadLevel;
  readonly feasible: boolean;
  readonly errorRate: Figure;
  /** The message of the first failed request; absent if none failed. */
  readonly failure?: string;
  readonly stable: boolean;
  /** At a request rate: latency from when each request was due, and how well the rate was kept. */
  readonly openLoop?: OpenLoopFigures;
}

/** The best or the original config. */
export interface StandingPoint extends SummaryPoint {
  /**
   * How safely the budget is kept at the reported level, and up to which levels; null if the goal
   * has no curve.
   */
  readonly recommended: Recommendation | null;
  /**
   * The figures at the machine's usual speed, by which `feasible` and the best were decided; null
   * if they were measured at that speed.
   */
  readonly compared: PointFigures | null;
  /** Its cost, if the study has prices. */
  readonly cost?: CostPoint;
}

interface BestPoint extends StandingPoint {
  /**
   * Prediction of the queueing model for this config at this level, fitted to the measurements of
   * the other trials only. Compare it with `compared`, or with the figures if that is null. null if
   * there is no prediction.
   */
  readonly predicted: Prediction | null;
}

type GainFigures = { readonly ratio: Figure; readonly low: Figure; readonly high: Figure };

/** The content of `summary.json` (docs/summary.schema.json). */
export interface Summary {
  readonly schemaVersion: 1;
  readonly model: string;
  /**
   * The models that were tuned together, and the path of requests through them. Absent for a single
   * model.
   */
  readonly topology?: Topology;
  /** The workloads that it was tuned for, instead of an even rate; absent without workloads. */
  readonly workloads?: StudyStarted['workloads'];
  readonly server: { readonly name: string; readonly version: string };
  /** The profile if the figures come from the embedded emulator; otherwise null. */
  readonly emulated: string | null;
  readonly budget: { readonly percentile: number; readonly latencyMs: number } | null;
  readonly constraints: readonly Constraint[];
  readonly objectives: readonly Objective[];
  /** What clients notice if the best is served instead of the original config; empty if nothing. */
  readonly clientChanges: readonly ClientChange[];
  /**
   * What a smaller `max_batch_size` would give, if clients did not need the original's; null if not
   * 10 % more, or unknown.
   */
  readonly smallerBatch: SmallerBatch | null;
  /**
   * What happened to latencies that the goal has no limit for, in words; null where it has limits
   * or nothing changed.
   */
  readonly latencyNote: string | null;
  /** The limits of a good request, in nanoseconds; absent without goodput limits. */
  readonly goodput?: Goal['goodput'];
  /** Whether `best` meets the budget and the constraints. */
  readonly feasible: boolean;
  readonly verdict: Verdict;
  readonly best: BestPoint | null;
  readonly baseline: StandingPoint | null;
  /** Best over baseline, from the final; null without a final. */
  readonly gain: GainFigures | null;
  /**
   * Without a final: the same from the search's measurements, made one after the other; null if
   * nothing can be compared.
   */
  readonly searchGain: GainFigures | null;
  /**
   * The trial that was best in the search, and its gain in the final; null if the final took it.
   */
  readonly rejected: {
    readonly trial: number;
    readonly reason: string;
    readonly gain?: GainFigures | null | undefined;
  } | null;
  /**
   * The latency with almost no load at the start of the study, and the share of the budget that it
   * decides; null if unknown.
   */
  readonly noiseFloor: NoiseFloor | null;
  /**
   * Measurements that do not count because the load generator was the limit, with the reason of the
   * first; null if none.
   */
  readonly clientBound: { readonly measurements: number; readonly reason: string } | null;
  /** Why the best is the best, in words and in numbers; null when nothing was measured. */
  readonly explanation: Explanation | null;
  readonly speed: SpeedSummary;
  readonly pareto: readonly SummaryPoint[];
  readonly counts: Counts;
  readonly wallSeconds: Figure;
  readonly stopReason: string;
  /** What else there is to say about the end, the most important first. */
  readonly stopNotes: readonly string[];
  readonly interrupted: boolean;
  /** null until the model is restored. */
  readonly restored: { readonly how: string; readonly verified: boolean; readonly detail: string } | null;
  readonly sampler: string;
  readonly seed: number;
  /** For a run from a file of Model Analyzer: which keys did not count, and why. */
  readonly modelAnalyzer?: StudyStarted['modelAnalyzer'];
  readonly journal: string;
  readonly trituneVersion: string;
}

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
    server: { name: state.server.name, version: state.server.version },
    emulated: state.server.emulated,
    budget: goal.budget,
    constraints: goal.constraints,
    objectives: goal.objectives,
    clientChanges: state.best ? clientChanges(started.original, state.best.candidate) : [],
    smallerBatch: smallerBatch(state),
    latencyNote: latencyNote(started, goal, best && decidingFigures(best), baseline && decidingFigures(baseline)),
    ...(goal.goodput && { goodput: goal.goodput }),
    feasible: best?.feasible ?? false,
    verdict: verdictOf(state),
    best: best && { ...best, predicted: predictBest(state) },
    baseline,
    gain: gainOf(state),
    searchGain: searchGainOf(state),
    rejected: rejectedIn(state),
    noiseFloor: noiseFloorOf(state),
    clientBound: clientBoundOf(state),
    explanation: explainBest(state),
    speed: summarizeSpeed(state.speeds, countedOf(state)),
    pareto: state.front.map(({ trial, measurement, feasible }) => pointOf(state, trial, measurement, feasible)),
    counts: state.counts,
    wallSeconds: figure(state.elapsedSeconds),
    stopReason: finished?.stopReason ?? 'the run did not end by itself',
    stopNotes: finished?.notes ?? [],
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
  const cost = costPointOf(state.goal, compared, trial.candidate);
  return {
    ...pointOf(state, trial, measurement, feasible),
    recommended: recommendationOf(state, trial),
    compared: compared === measurement ? null : { ...figuresOf(compared), ...partsOf(state, trial, compared) },
    ...(cost && { cost }),
  };
}

function pointOf(state: StudyState, trial: Trial, measurement: Measurement, feasible: boolean): SummaryPoint {
  const { number, candidate } = trial;
  return {
    trial: number,
    fingerprint: candidate.fingerprint,
    assignment: candidate.assignment,
    config: documentOf(candidate),
    ...modelsOf(candidate),
    load: measurement.level,
    feasible,
    ...figuresOf(measurement),
    errorRate: figure(measurement.errorRate),
    ...(measurement.failures[0] && { failure: measurement.failures[0].firstMessage }),
    stable: measurement.stable,
    ...(measurement.openLoop && { openLoop: measurement.openLoop }),
    ...partsOf(state, trial, measurement),
  };
}

function figuresOf({ throughput, latencyMs, budgetLatencyMs }: Measurement): Omit<PointFigures, keyof PointParts> {
  const { avg, p50, p90, p95, p99 } = latencyMs;
  return {
    throughput: intervalFigures(throughput),
    latencyMs: { avg: figure(avg), p50: figure(p50), p90: figure(p90), p95: figure(p95), p99: figure(p99) },
    budgetLatencyMs: percentileFigures(budgetLatencyMs),
  };
}

const partsOf = (
  { started: { topology, workloads }, goal }: StudyState,
  { candidate }: Trial,
  measurement: Measurement,
): PointParts => ({
  ...partsOfPoint(measurement, topology, candidate.shape),
  ...workloadPoints(measurement, decidingWorkload(measurement, candidate, goal, workloads)),
});

function modelsOf(candidate: Candidate): Pick<SummaryPoint, 'models'> {
  if (!candidate.shape.members) return {};
  const parts = Object.entries(modelConfigsOf(candidate)).map(([model, config]) => {
    const own = Object.entries(candidate.assignment).filter(([name]) => name.startsWith(`${model}/`));
    const assignment = Object.fromEntries(own.map(([name, value]) => [name.slice(model.length + 1), value]));
    return [model, { assignment, config }] as const;
  });
  return { models: Object.fromEntries(parts) };
}

/** All measurements that count, of the search and the final. */
const countedOf = ({ trials, finals }: StudyState): readonly Measurement[] => [
  ...trials.flatMap((trial) => trial.measurements),
  ...finals.map((final) => final.measurement),
];

function clientBoundOf(state: StudyState): Summary['clientBound'] {
  const all = countedOf(state);
  const bound = all.filter((measurement) => measurement.client.bound);
  const [first] = bound;
  return first ? { measurements: bound.length, reason: first.client.reason ?? '' } : null;
}

/** The baseline is once itself, measured or not. */
function gainOf(state: StudyState): Summary['gain'] {
  if (state.best && isOriginal(state.best.candidate, state.baseline?.candidate)) return { ratio: 1, low: 1, high: 1 };
  const gain = state.gain?.gain;
  return gain ? { ratio: figure(gain.value), low: figure(gain.low), high: figure(gain.high) } : null;
}

function searchGainOf(state: StudyState): GainFigures | null {
  const gain = gainOf(state) ? null : gainSoFar(state);
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

function intervalFigures({ value, low, high }: Interval): IntervalFigures {
  return { value: figure(value), low: figure(low), high: figure(high) };
}

const percentileFigures = (of: Measurement['budgetLatencyMs']): SummaryPoint['budgetLatencyMs'] => ({
  percentile: of.percentile,
  ...intervalFigures(of),
});

function figure(value: number): Figure {
  return Number.isFinite(value) ? value : null;
}
