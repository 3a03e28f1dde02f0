import type { LoadLevel } from '../../loadgen/types.ts';
import type { Measurement } from '../../profiler/measurement.ts';
import type { Assignment, Candidate } from '../../space/types.ts';
import { relativeHalfWidth } from '../../stats/precision.ts';
import { representative } from '../final.ts';
import { predictConfig } from '../fitted-prediction.ts';
import { REPORT_SEED } from '../prediction.ts';
import type { StudyState } from '../state.ts';
import type { Trial } from '../types.ts';
import { type Knob, knobsOf } from './knobs.ts';

/** What one knob of the best is worth. */
export interface KnobCredit {
  readonly set: Assignment;
  /** How that is known: from a trial that differs in nothing else, or from the queueing model. */
  readonly basis: 'measured' | 'model';
  /** What stands against each other: the best and the best but for the knob, or the original with the knob and without. */
  readonly against: 'best' | 'original';
  /** The trial that was measured for it; null of the model. */
  readonly trial: number | null;
  /** Whether both are at one load level, or each at its own best one. */
  readonly levels: 'same' | 'own';
  readonly level: LoadLevel;
  readonly with: KnobFigures;
  readonly without: KnobFigures;
  /** Throughput with it over throughput without. */
  readonly ratio: number;
  /** What tells with from without: at a request rate, for one, the same is served, but later. null: neither does. */
  readonly matters: 'throughput' | 'latency' | null;
}

export interface KnobFigures {
  /** infer/s. */
  readonly throughput: number;
  /** The budgeted percentile. */
  readonly latencyMs: number;
  /** Half the 95 % interval of the throughput, as a share of it; 0 of the model. */
  readonly halfWidth: number;
}

export interface Credit {
  /** The one that matters most first. */
  readonly knobs: readonly KnobCredit[];
  /** Those of which neither the measurements nor the model can tell. */
  readonly unknown: Assignment;
}

/** Differences that measurements, and the model, cannot tell from luck. */
const LEAST_THROUGHPUT_CHANGE = 0.05;
const LEAST_LATENCY_CHANGE = 0.15;
/** A model further than this from the measured best itself says nothing of its parts. */
const LARGEST_MISS = 0.15;

/** What each knob of the best is worth; null when the best is the original config, or nothing tells them apart. */
export function creditOf(state: StudyState, best: Trial, stands: Measurement): Credit | null {
  const knobs = knobsOf(state.started, best.candidate);
  if (knobs.length === 0) return null;
  const model = modelOf(state, best, stands);
  const credits = knobs.map((knob) => ({
    knob,
    credit: measuredPutBack(state, best, stands, knob) ?? measuredAlone(state, knob) ?? model(knob),
  }));
  const known = credits.flatMap(({ credit }) => credit ?? []);
  return {
    knobs: known.filter((credit) => !saidByLess(credit, known)).sort((a, b) => weightOf(b) - weightOf(a)),
    unknown: Object.assign({}, ...credits.flatMap(({ knob, credit }) => (credit ? [] : [knob.set]))),
  };
}

/** A knob that is worth no more than one of its own parts. */
function saidByLess({ set, ratio }: KnobCredit, all: readonly KnobCredit[]): boolean {
  const names = Object.keys(set);
  return all.some(
    (other) =>
      Object.keys(other.set).length < names.length &&
      Object.keys(other.set).every((name) => names.includes(name)) &&
      Math.abs(other.ratio / ratio - 1) < LEAST_THROUGHPUT_CHANGE,
  );
}

function measuredPutBack(state: StudyState, best: Trial, stands: Measurement, knob: Knob): KnobCredit | null {
  const other = trialOf(state, knob.putBack);
  const pair = other && comparable(state, { trial: best, stands }, other);
  if (!other || !pair) return null;
  return credited(knob.set, { basis: 'measured', against: 'best', trial: other.number }, pair);
}

function measuredAlone(state: StudyState, knob: Knob): KnobCredit | null {
  const { baseline } = state;
  const trial = knob.alone && trialOf(state, knob.alone);
  const stands = trial && representative(state, trial)?.measurement;
  if (!baseline || !trial || !stands) return null;
  const pair = comparable(state, { trial, stands }, baseline);
  return pair && credited(knob.set, { basis: 'measured', against: 'original', trial: trial.number }, pair);
}

const trialOf = ({ trials }: StudyState, { fingerprint }: Candidate): Trial | null =>
  trials.find((trial) => trial.candidate.fingerprint === fingerprint && trial.failure === null) ?? null;

interface Pair {
  readonly levels: 'same' | 'own';
  readonly level: LoadLevel;
  readonly with: KnobFigures;
  readonly without: KnobFigures;
}

/**
 * At the level of the one, or each at its own where it is known that no other level serves either of them better; as they would have been
 * at the machine's usual speed.
 */
function comparable(
  state: StudyState,
  { trial, stands }: { readonly trial: Trial; readonly stands: Measurement },
  other: Trial,
): Pair | null {
  const own = representative(state, other);
  const same = [...(own ? [own.measurement] : []), ...other.measurements].find(
    (each) => each.level.value === stands.level.value && tells(each),
  );
  if (!tells(stands)) return null;
  const figuresAt = (measurement: Measurement): KnobFigures => figuresOf(state.speeds.comparable(measurement));
  const figures = { level: stands.level, with: figuresAt(stands) };
  if (same) return { ...figures, levels: 'same', without: figuresAt(same) };
  if (!own?.feasible || !tells(own.measurement) || !isSettled(state, trial) || !isSettled(state, other)) return null;
  return { ...figures, levels: 'own', without: figuresAt(own.measurement) };
}

const tells = ({ client, tooManyErrors, throughput, budgetLatencyMs }: Measurement): boolean =>
  !client.bound && !tooManyErrors && throughput.value > 0 && budgetLatencyMs.value > 0;

/** A higher level was measured, and is worse by the goal; or there is none. */
function isSettled({ started }: StudyState, { measurements, chosen, feasible }: Trial): boolean {
  const level = chosen === null ? undefined : measurements[chosen]?.level.value;
  if (level === undefined || !feasible) return false;
  return level >= started.levels.high || measurements.some((each) => each.level.value > level);
}

const figuresOf = ({ throughput, budgetLatencyMs }: Measurement): KnobFigures => ({
  throughput: throughput.value,
  latencyMs: budgetLatencyMs.value,
  halfWidth: relativeHalfWidth(throughput),
});

/** With every trial known, the best included: this is about its parts, not a test of the model. */
function modelOf(state: StudyState, best: Trial, stands: Measurement): (knob: Knob) => KnobCredit | null {
  const { level, throughput, budgetLatencyMs } = state.speeds.comparable(stands);
  const draw = { seed: REPORT_SEED, percentile: budgetLatencyMs.percentile };
  const foretell = ({ config }: Candidate): KnobFigures | null => {
    const prediction = predictConfig(state.compared.trials, config, level, draw);
    if (!prediction?.quality.isGood || prediction.extrapolates.length > 0) return null;
    return { throughput: prediction.throughput, latencyMs: prediction.budgetLatencyMs.value, halfWidth: 0 };
  };
  const whole = foretell(best.candidate);
  const isNear = whole !== null && Math.abs(whole.throughput / throughput.value - 1) <= LARGEST_MISS;
  return ({ set, putBack }) => {
    const without = isNear ? foretell(putBack) : null;
    if (!isNear || !without) return null;
    return credited(
      set,
      { basis: 'model', against: 'best', trial: null },
      { levels: 'same', level, with: whole, without },
    );
  };
}

function credited(
  set: Assignment,
  source: Pick<KnobCredit, 'basis' | 'against' | 'trial'>,
  pair: Pair,
): KnobCredit | null {
  const ratio = pair.with.throughput / pair.without.throughput;
  const latencyRatio = pair.without.latencyMs / pair.with.latencyMs;
  if (![ratio, latencyRatio].every((each) => Number.isFinite(each) && each > 0)) return null;
  const luck = Math.hypot(pair.with.halfWidth, pair.without.halfWidth);
  const isClear = Math.abs(Math.log(ratio)) >= Math.max(LEAST_THROUGHPUT_CHANGE, luck);
  const isLate = pair.levels === 'same' && Math.abs(latencyRatio - 1) >= LEAST_LATENCY_CHANGE;
  // So wide an interval hides what a knob does.
  if (!isClear && !isLate && !(luck <= LARGEST_MISS)) return null;
  const matters = isClear ? 'throughput' : isLate ? 'latency' : null;
  return { set, ...source, ...pair, ratio, matters };
}

/** At a request rate the same is served with the knob and without: there the latency tells. */
function weightOf({ ratio, levels, with: on, without: off }: KnobCredit): number {
  return levels === 'same' ? Math.max(ratio, off.latencyMs / on.latencyMs) : ratio;
}
