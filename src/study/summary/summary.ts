import type { JsonObject } from '../../base/json.ts';
import type { LoadLevel } from '../../loadgen/types.ts';
import type { Measurement, OpenLoopFigures } from '../../profiler/measurement.ts';
import { documentOf, modelConfigsOf } from '../../space/model-configs.ts';
import type { Topology } from '../../space/topology.ts';
import type { Assignment, Candidate } from '../../space/types.ts';
import type { Interval } from '../../stats/interval.ts';
import { type Explanation, explainBest } from '../analysis/explain/explain.ts';
import { representative } from '../final/final.ts';
import { gainSoFar } from '../final/gain-so-far.ts';
import { decidingWorkload } from '../goal/deciding-workload.ts';
import { type Recommendation, recommendationOf } from '../level/recommendation.ts';
import type { StudyStarted } from '../records/records.ts';
import type { Counts, StudyState } from '../records/state.ts';
import { comparedOf } from '../speed/changes.ts';
import { type SpeedSummary, summarizeSpeed } from '../speed/summary.ts';
import type { Constraint, Objective, Trial } from '../types.ts';
import { type CostPoint, costPointOf } from './cost-point.ts';
import { type NoiseFloor, noiseFloorOf } from './noise-floor.ts';
import { type PointParts, partsOfPoint, workloadPoints } from './point-parts.ts';
import { type Prediction, predictBest } from './prediction.ts';

/** A figure of the summary; null where there is no finite one, never a zero in its place. */
type Figure = number | null;
type IntervalFigures = { readonly value: Figure; readonly low: Figure; readonly high: Figure };

export interface SummaryPoint extends PointParts {
  readonly trial: number;
  readonly fingerprint: string;
  readonly assignment: Assignment;
  /** For Triton the whole model config; of several models all that the candidate sets. */
  readonly config: JsonObject;
  /** Of models that are tuned together each one's part, by name: its assignment under its own parameters' names, and its whole config. */
  readonly models?: { readonly [model: string]: { readonly assignment: Assignment; readonly config: JsonObject } };
  readonly load: LoadLevel;
  readonly feasible: boolean;
  /** infer/s, 95 % interval. */
  readonly throughput: IntervalFigures;
  readonly latencyMs: { readonly [percentile in 'avg' | 'p50' | 'p90' | 'p95' | 'p99']: Figure };
  /** The budgeted percentile. */
  readonly budgetLatencyMs: IntervalFigures & { readonly percentile: number };
  readonly errorRate: Figure;
  readonly stable: boolean;
  /** At a request rate: the latency from the time that each request was due, and how well the rate was kept. */
  readonly openLoop?: OpenLoopFigures;
}

/** The best or the original config. */
export interface StandingPoint extends SummaryPoint {
  /** How well the budget is kept at the reported level, and up to which levels it is; null where the goal has no curve. */
  readonly recommended: Recommendation | null;
  /** The figures as they would have been at the machine's usual speed: what is compared. null where they were measured at that speed. */
  readonly compared: {
    readonly throughput: IntervalFigures;
    readonly budgetLatencyMs: IntervalFigures & { readonly percentile: number };
  } | null;
  /** What it costs, where the study has prices. */
  readonly cost?: CostPoint;
}

interface BestPoint extends StandingPoint {
  /**
   * What the queueing model, fitted to the measurements of the other trials only, expected of this config at this level:
   * held out, so that it can be compared with what was measured: with `compared` where that is not null. null where it cannot say.
   */
  readonly predicted: Prediction | null;
}

type GainFigures = { readonly ratio: Figure; readonly low: Figure; readonly high: Figure };

/** The object of `summary.json` (docs/summary.schema.json): what it promises, and beside it what a script may want to know. */
export interface Summary {
  readonly schemaVersion: 1;
  readonly model: string;
  /** The models that were tuned together, and the way of requests through them. Absent for one model alone. */
  readonly topology?: Topology;
  /** What it was tuned for, in place of an even rate. Absent where that is not so. */
  readonly workloads?: StudyStarted['workloads'];
  readonly server: { readonly name: string; readonly version: string };
  /** The profile when the figures are of the embedded emulator, else null. */
  readonly emulated: string | null;
  readonly budget: { readonly percentile: number; readonly latencyMs: number } | null;
  readonly constraints: readonly Constraint[];
  readonly objectives: readonly Objective[];
  /** Whether `best` meets the budget and the constraints. */
  readonly feasible: boolean;
  readonly best: BestPoint | null;
  readonly baseline: StandingPoint | null;
  /** Best over baseline, of the final; null when there was none. */
  readonly gain: GainFigures | null;
  /** Where there is no gain: the same by what the search measured, one after the other; null where nothing can be compared. */
  readonly searchGain: GainFigures | null;
  readonly rejected: { readonly trial: number; readonly reason: string } | null;
  /** What the latency was like with next to no load when the study began, and how much of the budget that decides; null where it is not known. */
  readonly noiseFloor: NoiseFloor | null;
  /** Measurements that do not count because the load generator was the limit, and why the first was one; null without any. */
  readonly clientBound: { readonly measurements: number; readonly reason: string } | null;
  /** Why the best is the best, in words and in numbers; null when nothing was measured. */
  readonly explanation: Explanation | null;
  readonly speed: SpeedSummary;
  readonly pareto: readonly SummaryPoint[];
  readonly counts: Counts;
  readonly wallSeconds: Figure;
  readonly stopReason: string;
  readonly interrupted: boolean;
  /** null while the model is not back as it was. */
  readonly restored: { readonly how: string; readonly verified: boolean; readonly detail: string } | null;
  readonly sampler: string;
  readonly seed: number;
  /** For a run that a file of Model Analyzer's asked for: what of it did not count, and why. */
  readonly modelAnalyzer?: StudyStarted['modelAnalyzer'];
  readonly journal: string;
  readonly trituneVersion: string;
}

/** `journal`: the path of the journal, as a reader of the summary finds it. */
export function summarize(state: StudyState, journal: string): Summary {
  const { started, goal } = state;
  const best = state.best && finalPoint(state, state.best);
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
    feasible: best?.feasible ?? false,
    best: best && { ...best, predicted: predictBest(state) },
    baseline: state.baseline && finalPoint(state, state.baseline),
    gain: gainOf(state),
    searchGain: searchGainOf(state),
    rejected: state.gain?.rejected ? { trial: state.gain.rejected.trial, reason: state.gain.rejected.reason } : null,
    noiseFloor: noiseFloorOf(state),
    clientBound: clientBoundOf(state),
    explanation: explainBest(state),
    speed: summarizeSpeed(state.speeds, countedOf(state)),
    pareto: state.front.map(({ trial, measurement, feasible }) => pointOf(state, trial, measurement, feasible)),
    counts: state.counts,
    wallSeconds: figure(state.elapsedSeconds),
    stopReason: finished?.stopReason ?? 'the run did not end by itself',
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
  const { measurement, feasible } = stands;
  const compared = comparedOf(state.speeds, measurement);
  const cost = costPointOf(state.goal, measurement, trial.candidate);
  return {
    ...pointOf(state, trial, measurement, feasible),
    recommended: recommendationOf(state, trial),
    compared: compared && {
      throughput: intervalFigures(compared.throughput),
      budgetLatencyMs: percentileFigures(compared.budgetLatencyMs),
    },
    ...(cost && { cost }),
  };
}

function pointOf(
  { started: { topology, workloads }, goal }: StudyState,
  { number, candidate }: Trial,
  measurement: Measurement,
  feasible: boolean,
): SummaryPoint {
  const { avg, p50, p90, p95, p99 } = measurement.latencyMs;
  return {
    trial: number,
    fingerprint: candidate.fingerprint,
    assignment: candidate.assignment,
    config: documentOf(candidate),
    ...modelsOf(candidate),
    load: measurement.level,
    feasible,
    throughput: intervalFigures(measurement.throughput),
    latencyMs: { avg: figure(avg), p50: figure(p50), p90: figure(p90), p95: figure(p95), p99: figure(p99) },
    budgetLatencyMs: percentileFigures(measurement.budgetLatencyMs),
    errorRate: figure(measurement.errorRate),
    stable: measurement.stable,
    ...(measurement.openLoop && { openLoop: measurement.openLoop }),
    ...partsOfPoint(measurement, topology, candidate.shape),
    ...workloadPoints(measurement, decidingWorkload(measurement, candidate, goal, workloads)),
  };
}

function modelsOf(candidate: Candidate): Pick<SummaryPoint, 'models'> {
  if (!candidate.shape.members) return {};
  const parts = Object.entries(modelConfigsOf(candidate)).map(([model, config]) => {
    const own = Object.entries(candidate.assignment).filter(([name]) => name.startsWith(`${model}/`));
    const assignment = Object.fromEntries(own.map(([name, value]) => [name.slice(model.length + 1), value]));
    return [model, { assignment, config }] as const;
  });
  return { models: Object.fromEntries(parts) };
}

/** All that counts, of the search and of the final. */
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
  if (state.best && state.best === state.baseline) return { ratio: 1, low: 1, high: 1 };
  const gain = state.gain?.gain;
  return gain ? { ratio: figure(gain.value), low: figure(gain.low), high: figure(gain.high) } : null;
}

function searchGainOf(state: StudyState): GainFigures | null {
  const gain = gainOf(state) ? null : gainSoFar(state);
  return gain && { ratio: figure(gain.value), low: figure(gain.low), high: figure(gain.high) };
}

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
