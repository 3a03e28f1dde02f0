import type { LoadLevel } from '#loadgen/types.ts';
import { findLaw } from '#perfmodel/laws.ts';
import { createPredictor, type Predictor } from '#perfmodel/predictor.ts';
import type { Measurement } from '#profiler/measurement.ts';
import type { Assignment, Candidate } from '#space/types.ts';
import { relativeHalfWidth } from '#stats/precision.ts';
import { representative } from '../../final/final.ts';
import { findInFlight, isHighest, isSameLevel } from '../../level-line.ts';
import type { StudyState } from '../../records/state.ts';
import { trialsToFit } from '../../search/queueing/training-subset.ts';
import type { Credit, ParameterCredit, ParameterFigures } from '../../summary/explanation-schema.ts';
import { reportDraw } from '../../summary/prediction.ts';
import type { Trial } from '../../types.ts';
import { type ChangedParameters, listChangedParameters } from './changed-parameters.ts';

/** Smaller relative differences are within the noise of measurements and model. */
const MIN_THROUGHPUT_CHANGE = 0.05;
const MIN_LATENCY_CHANGE = 0.15;
/** The model is not used when its prediction of the best is off by more than this, … */
const LARGEST_MISS = 0.15;
/**
 * … nor for a config whose predicted throughput has a larger standard deviation than this, as a
 * logarithm.
 */
const LARGEST_DEVIATION = 0.25;

/**
 * Returns the effect of each changed parameter of the best; null when the best is the original
 * config, or nothing isolates them.
 */
export function computeCredit(state: StudyState, best: Trial, stands: Measurement): Credit | null {
  const changes = listChangedParameters(state.started, best.candidate);
  if (changes.length === 0) return null;
  const model = createModelCredit(state, best, stands);
  const credits = changes.map((change) => ({
    change,
    credit: measuredPutBack(state, best, stands, change) ?? measuredAlone(state, change) ?? model(change),
  }));
  const known = credits.flatMap(({ credit }) => credit ?? []);
  return {
    knobs: known.filter((credit) => !saidByLess(credit, known)).sort((a, b) => computeWeight(b) - computeWeight(a)),
    unknown: Object.assign({}, ...credits.flatMap(({ change, credit }) => (credit ? [] : [change.set]))),
  };
}

/** True if one of its own parts has the same effect. */
function saidByLess({ set, ratio }: ParameterCredit, all: readonly ParameterCredit[]): boolean {
  const names = Object.keys(set);
  return all.some(
    (other) =>
      Object.keys(other.set).length < names.length &&
      Object.keys(other.set).every((name) => names.includes(name)) &&
      Math.abs(other.ratio / ratio - 1) < MIN_THROUGHPUT_CHANGE,
  );
}

function measuredPutBack(
  state: StudyState,
  best: Trial,
  stands: Measurement,
  change: ChangedParameters,
): ParameterCredit | null {
  const other = findTrial(state, change.putBack);
  const pair = other && comparable(state, { trial: best, stands }, other);
  if (!other || !pair) return null;
  return credited(change.set, { basis: 'measured', against: 'best', trial: other.number }, pair);
}

function measuredAlone(state: StudyState, change: ChangedParameters): ParameterCredit | null {
  const { baseline } = state;
  const trial = change.alone && findTrial(state, change.alone);
  const stands = trial && representative(state, trial)?.measurement;
  if (!baseline || !trial || !stands) return null;
  const pair = comparable(state, { trial, stands }, baseline);
  return pair && credited(change.set, { basis: 'measured', against: 'original', trial: trial.number }, pair);
}

const findTrial = ({ trials }: StudyState, { fingerprint }: Candidate): Trial | null =>
  trials.find((trial) => trial.candidate.fingerprint === fingerprint && trial.failure === null) ?? null;

interface Pair {
  readonly levels: 'same' | 'own';
  readonly level: LoadLevel;
  readonly with: ParameterFigures;
  readonly without: ParameterFigures;
}

/**
 * Compares two trials at the same level, or each at its own where no other level is better for it;
 * both scaled to the machine's usual speed.
 */
function comparable(
  state: StudyState,
  { trial, stands }: { readonly trial: Trial; readonly stands: Measurement },
  other: Trial,
): Pair | null {
  const stand = representative(state, other);
  const same = [...(stand ? [stand.measurement] : []), ...other.measurements].find(
    (each) => isSameLevel(each.level, stands.level) && tells(each),
  );
  if (!tells(stands)) return null;
  const figuresAt = (measurement: Measurement): ParameterFigures =>
    summarizeFigures(state.speeds.comparable(measurement));
  const figures = { level: stands.level, with: figuresAt(stands) };
  if (same) return { ...figures, levels: 'same', without: figuresAt(same) };
  if (!stand?.feasible || !tells(stand.measurement) || !isSettled(state, trial) || !isSettled(state, other))
    return null;
  return { ...figures, levels: 'own', without: figuresAt(stand.measurement) };
}

const tells = ({ client, tooManyErrors, throughput, budgetLatencyMs }: Measurement): boolean =>
  !client.bound && !tooManyErrors && throughput.value > 0 && budgetLatencyMs.value > 0;

/** True if a higher level was measured and is worse, or there is none. */
function isSettled({ started }: StudyState, { measurements, chosen, feasible }: Trial): boolean {
  const level = chosen === null ? undefined : measurements[chosen]?.level;
  if (level === undefined || !feasible) return false;
  return (
    isHighest(level, started.levels) || measurements.some((each) => findInFlight(each.level) > findInFlight(level))
  );
}

const summarizeFigures = ({ throughput, budgetLatencyMs }: Measurement): ParameterFigures => ({
  throughput: throughput.value,
  latencyMs: budgetLatencyMs.value,
  halfWidth: relativeHalfWidth(throughput),
});

/**
 * Returns a function that predicts credits with a model fitted to trials, the best included, on
 * first use.
 */
function createModelCredit(
  state: StudyState,
  best: Trial,
  stands: Measurement,
): (change: ChangedParameters) => ParameterCredit | null {
  const { level, throughput, budgetLatencyMs } = state.speeds.comparable(stands);
  let fitted: { readonly predictor: Predictor | null; readonly whole: ParameterFigures | null } | undefined;
  return ({ set, putBack }) => {
    fitted ??= fitToAll();
    const { predictor, whole } = fitted;
    const without = whole && figuresBy(predictor, putBack, level);
    if (!whole || !without) return null;
    return credited(
      set,
      { basis: 'model', against: 'best', trial: null },
      { levels: 'same', level, with: whole, without },
    );
  };

  /** `whole`: the prediction for the best itself; null if it is far from the measurement. */
  function fitToAll() {
    const predictor = findGoodPredictor(state, budgetLatencyMs.percentile);
    const whole = figuresBy(predictor, best.candidate, level);
    const isNear = whole !== null && Math.abs(whole.throughput / throughput.value - 1) <= LARGEST_MISS;
    return { predictor, whole: isNear ? whole : null };
  }
}

/** Returns the performance model; null where it explains its own measurements badly. */
function findGoodPredictor({ best, compared, goal, started }: StudyState, percentile: number): Predictor | null {
  const law = findLaw(started.topology, best?.candidate.shape);
  const trials = trialsToFit(compared.trials, goal);
  const predictor = createPredictor(law, trials, reportDraw(percentile, law.requests.one));
  return predictor?.quality()?.isGood ? predictor : null;
}

/** Predicts figures; null if the prediction is too uncertain or an extrapolation. */
function figuresBy(predictor: Predictor | null, candidate: Candidate, level: LoadLevel): ParameterFigures | null {
  const predicted = predictor?.predict(candidate, level);
  if (!predicted || predicted.extrapolates.length > 0) return null;
  if (predicted.throughput.deviation > LARGEST_DEVIATION) return null;
  return { throughput: predicted.throughput.value, latencyMs: predicted.budgetLatency.value, halfWidth: 0 };
}

function credited(
  set: Assignment,
  source: Pick<ParameterCredit, 'basis' | 'against' | 'trial'>,
  pair: Pair,
): ParameterCredit | null {
  const ratio = pair.with.throughput / pair.without.throughput;
  const latencyRatio = pair.without.latencyMs / pair.with.latencyMs;
  if (![ratio, latencyRatio].every((each) => Number.isFinite(each) && each > 0)) return null;
  const halfWidth = Math.hypot(pair.with.halfWidth, pair.without.halfWidth);
  const isClear = Math.abs(Math.log(ratio)) >= Math.max(MIN_THROUGHPUT_CHANGE, halfWidth);
  const isLate = pair.levels === 'same' && Math.abs(latencyRatio - 1) >= MIN_LATENCY_CHANGE;
  // Such a wide interval hides any effect.
  if (!isClear && !isLate && !(halfWidth <= LARGEST_MISS)) return null;
  const matters = isClear ? 'throughput' : isLate ? 'latency' : null;
  return { set, ...source, ...pair, ratio, matters };
}

/**
 * Returns the effect for sorting. At a request rate the throughput is equal, and the latency
 * counts.
 */
function computeWeight({ ratio, levels, with: on, without: off }: ParameterCredit): number {
  return levels === 'same' ? Math.max(ratio, off.latencyMs / on.latencyMs) : ratio;
}
