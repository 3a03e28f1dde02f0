import { catchUp } from '#base/abort.ts';
import { TrituneError } from '#base/errors.ts';
import { largestRequest } from '#perfmodel/modelled-config.ts';
import type { Measurement } from '#profiler/measurement.ts';
import type { ProfileProgress } from '#profiler/progress.ts';
import type { Candidate } from '#space/types.ts';
import { type NextLoad, nextLoad } from '#study/goal/batch-levels.ts';
import { assess, goalOfLevels, requireMetrics } from '#study/goal/goal.ts';
import { budgetsOfModels } from '#study/goal/goal-of-models.ts';
import { bestTrial, computeStanding } from '#study/goal/ranking.ts';
import { isSameLevel } from '#study/level-line.ts';
import { findNoiseFloor, restLevel } from '#study/summary/noise-floor.ts';
import type { Bottleneck, LevelPlan, LevelPoint, TrialFailure, TrialRole } from '#study/types.ts';
import type { Applied, MeasureOptions } from './adapter.ts';
import { outlasting, toFailure } from './outcome.ts';
import type { Planning, Run } from './run.ts';
import { waitWhilePaused } from './user-commands.ts';

/** One trial to run. */
export interface Assigned {
  readonly number: number;
  readonly role: TrialRole;
  readonly candidate: Candidate;
  readonly levels: LevelPlan;
  /** True if the user requested it. */
  readonly requested?: boolean;
  /** The bottleneck of the best before it. */
  readonly bottleneck?: Bottleneck | undefined;
  /** The earlier study whose best it is. */
  readonly prior?: string | undefined;
  /** Measurements of a finished trial that is visited again. */
  readonly earlier?: readonly Measurement[];
  /** True if its figures are reported, so that it is measured in full. */
  readonly isFinal?: boolean;
}

/**
 * Applies the candidate and measures it at the levels of its plan; a failure of the candidate is
 * the trial's outcome. Errors: those that end the run: SERVER_UNREACHABLE, INTERRUPTED, those of
 * the journal, and any that is no verdict on a candidate.
 */
export async function runTrial(run: Run, trial: Assigned): Promise<void> {
  const { number, role, candidate } = trial;
  const left = role === 'baseline' ? null : run.steering.beginTrial();
  await recordStart(run, trial);
  const measurements: Measurement[] = [...(trial.earlier ?? [])];
  let failure: TrialFailure | null = null;
  let fatal: unknown = null;
  let step: 'apply' | 'measure' = 'apply';
  try {
    const applied = await applyCandidate(run, number, candidate);
    step = 'measure';
    await measureLevels(left ? leavable(run, left) : run, trial, applied, measurements);
    failure = findFault(measurements);
  } catch (error) {
    const wasLeft = left?.aborted === true && step === 'measure';
    failure = wasLeft ? (measurements.length > 0 ? findFault(measurements) : skipped) : toFailure(error, step);
    if (run.signal.aborted || (failure === null && !wasLeft)) throw error;
    if (failure && endsStudy(run, trial, failure)) throw error;
    if (failure?.kind === 'server-lost') fatal = error;
  } finally {
    run.steering.endTrial();
  }
  // Earlier measurements stand, whatever the outcome of the visit.
  if (trial.earlier) failure = findFault(measurements);
  if (failure && role === 'baseline' && failure.kind === 'requests-failed') throw baselineFails(failure);
  await finishTrial(run, trial, measurements, failure);
  if (fatal !== null) throw fatal;
}

/** Records a failed trial that never reaches the server: illegal, or known to fail. */
export async function refuseTrial(run: Planning, trial: Assigned, failure: TrialFailure): Promise<void> {
  await recordStart(run, trial);
  await run.recorder.record({ type: 'trial-finished', trial: trial.number, chosen: null, feasible: false, failure });
}

function recordStart(
  run: Planning,
  { number, role, candidate, levels, bottleneck, prior, requested = false }: Assigned,
): Promise<void> {
  const why = { ...(bottleneck && { bottleneck }), ...(prior !== undefined && { prior }) };
  const start = { type: 'trial-started', trial: number, role, candidate, levels, ...why } as const;
  return run.recorder.record(requested ? { ...start, requested } : start);
}

/**
 * Applies the candidate to the server and records the outcome. Errors: those of `Control.apply`.
 */
export function applyCandidate(run: Run, trial: number, candidate: Candidate): Promise<Applied> {
  return outlasting(run, () => applyNow(run, trial, candidate));
}

async function applyNow(run: Run, trial: number, candidate: Candidate): Promise<Applied> {
  const { adapter } = run.parts;
  run.recorder.notify({ type: 'applying', trial });
  const applied = await run.time.timeApply(
    () => adapter.apply(candidate, run.signal),
    ({ buildMs = 0 }) => buildMs,
  );
  const { candidate: _, ...how } = applied;
  await run.recorder.record({ type: 'trial-applied', trial, ...how });
  return applied;
}

interface LookOptions extends Pick<MeasureOptions, 'purpose'> {
  readonly watch?: (progress: ProfileProgress) => void;
}

/** The time to wait for a brief load on the machine to end. */
const STARVED_WAIT_MS = 1_000;

/**
 * Makes one measurement of a candidate that is served throughout. A server that went away and came
 * back has forgotten the candidate, and someone may have changed the model meanwhile; then the
 * candidate is applied and measured again. A measurement is also repeated once if others had the
 * CPU that the load generator lacked. Errors: CONFIG_MISMATCH when the model is changed again;
 * FOREIGN_TRAFFIC unless the plan allows it; those of `Profile.measure`.
 */
export async function measureOnce(
  run: Run,
  trial: number,
  applied: Applied,
  at: LevelPoint,
  { purpose, watch = () => undefined }: LookOptions = {},
): Promise<Measurement> {
  const { value, batch } = at;
  const level = { mode: run.recorder.state.started.levels.mode, value, ...(batch !== undefined && { batch }) };
  const measure = (on: Applied): Promise<Measurement> => {
    run.recorder.notify({ type: 'measuring', trial, level });
    const onProgress = (progress: ProfileProgress): void => {
      run.recorder.notify({ type: 'progress', trial, level, progress });
      watch(progress);
    };
    const { goal } = run.recorder.state;
    const budgetMs = goal.budget?.latencyMs;
    const untilNs = run.time.lastNs;
    const options = {
      signal: run.signal,
      onProgress,
      budgetsMs: budgetsOfModels(goal),
      ...(budgetMs !== undefined && { budgetMs }),
      ...(purpose && { purpose }),
      ...(untilNs !== undefined && { untilNs }),
    };
    return run.time.timeMeasure(() => run.parts.adapter.measure(on, level, options));
  };
  const measureAnew = async (): Promise<Measurement> => measure(await applyNow(run, trial, applied.candidate));
  let measurement = await outlasting(run, () => measure(applied), measureAnew);
  const { starved, reason = '' } = measurement.client;
  if (starved && run.time.allowsLevel) {
    run.recorder.notify({ type: 'starved', trial, level, reason });
    await run.parts.clock.sleep(STARVED_WAIT_MS, run.signal);
    measurement = await outlasting(run, () => measure(applied), measureAnew);
  }
  let change = await changeSince(run);
  if (change !== null) {
    measurement = await outlasting(run, measureAnew);
    change = await changeSince(run);
  }
  if (change !== null) throw changedByOthers(change);
  if (!run.plan.allowForeignTraffic) checkAlone(measurement);
  return measurement;
}

const changeSince = (run: Run): Promise<string | null> => outlasting(run, () => run.parts.adapter.changed(run.signal));

function changedByOthers(change: string): TrituneError {
  return new TrituneError(
    'CONFIG_MISMATCH',
    `somebody changed the model during two measurements: ${change}`,
    'find out who else loads models on this server',
  );
}

/**
 * Figures that include others' requests say nothing, and the others would disturb every candidate.
 */
function checkAlone({ foreignRequests, foreignByModel, requests }: Measurement): void {
  if (foreignRequests === undefined) return;
  const models = Object.keys(foreignByModel ?? {});
  const where = models.length > 0 ? ` to ${models.join(' and ')}` : '';
  throw new TrituneError(
    'FOREIGN_TRAFFIC',
    `other clients sent ${foreignRequests} requests${where} during a measurement of ${requests}`,
    'stop that traffic and continue with --resume, or accept it with --allow-foreign-traffic',
  );
}

async function measureLevels(run: Run, trial: Assigned, applied: Applied, measurements: Measurement[]): Promise<void> {
  const { goal } = run.recorder.state;
  for (;;) {
    const next = levelAfter(run, trial, measurements);
    await catchUp(run.signal);
    if (next.kind === 'done' || (measurements.length > 0 && !run.time.allowsLevel)) return;
    await waitWhilePaused(run);
    const rest = measurements.length === 0 ? findRestLevel(run, trial) : null;
    const isRest = rest !== null && isSameLevel(next.level, rest);
    const purpose = isRest ? 'rest' : 'search';
    const measurement = await measureOnce(run, trial.number, applied, next.level, trial.isFinal ? {} : { purpose });
    await run.recorder.record({ type: 'trial-measured', trial: trial.number, measurement });
    measurements.push(measurement);
    if (isRest) tellNoise(run);
    requireMetrics(measurement, trial.candidate, goal);
  }
}

/**
 * Returns the level at rest for the baseline, so that a run shows at its start how much latency is
 * due to the machine; null for other trials.
 */
const findRestLevel = ({ recorder }: Run, { role }: Assigned): LevelPoint | null =>
  role === 'baseline' ? restLevel(recorder.state.started.levels) : null;

function tellNoise({ recorder }: Run): void {
  const floor = findNoiseFloor(recorder.state);
  if (floor) recorder.notify({ type: 'noise-floor', ...floor });
}

/**
 * Returns the next level: of the list if there is one, else of the sampler if it chooses levels,
 * else of the level search.
 */
function levelAfter(run: Run, trial: Assigned, measured: readonly Measurement[]): NextLoad {
  const { levels: plan, candidate } = trial;
  if (plan.kind === 'fixed') return fixedLevel(plan, measured.slice(trial.earlier?.length ?? 0));
  const { goal, started, speeds, compared } = run.recorder.state;
  const { trials } = compared;
  const measurements = measured.map((measurement) => speeds.comparable(measurement));
  const sampler = run.sampler();
  const isFirst = measurements.length === 0;
  const rest = isFirst ? findRestLevel(run, trial) : null;
  if (rest !== null) return { kind: 'measure', level: rest };
  const served = isFirst || measurements.some((each) => each.throughput.value > 0);
  if (sampler.level && served) {
    if (isFirst && plan.start !== undefined) return { kind: 'measure', level: { value: plan.start, ...batchIn(plan) } };
    const level = sampler.level({ trials }, { ...trial, measurements });
    if (level === null) return { kind: 'done', reason: 'the sampler' };
    return { kind: 'measure', level: typeof level === 'number' ? { value: level } : level };
  }
  const near = bestTrial(trials, goal);
  const known = near?.chosen == null ? undefined : near.measurements[near.chosen]?.level;
  const hint = plan.start === undefined ? known : { ...known, value: plan.start, ...batchIn(plan) };
  const outcomes = measurements.map((each) => ({ level: each.level, ...assess(each, candidate, goalOfLevels(goal)) }));
  const search = { range: started.levels, largestRequest: largestRequest(candidate.shape) };
  return nextLoad(outcomes, { ...search, ...(hint && { hint }) });
}

function fixedLevel(
  plan: Extract<LevelPlan, { readonly kind: 'fixed' }>,
  measurements: readonly Measurement[],
): NextLoad {
  const value = plan.values[measurements.length];
  if (value === undefined) return { kind: 'done', reason: 'the list' };
  return { kind: 'measure', level: { value, ...batchIn(plan) } };
}

const batchIn = ({ batch }: LevelPlan): { readonly batch?: number } => (batch === undefined ? {} : { batch });

async function finishTrial(
  run: Run,
  { number, candidate }: Assigned,
  measurements: readonly Measurement[],
  failure: TrialFailure | null,
): Promise<void> {
  // As measured: later knowledge about the speed may change how it compares.
  const standing = computeStanding(measurements, candidate, run.recorder.state.goal);
  const feasible = standing.feasible && failure === null;
  await run.recorder.record({ type: 'trial-finished', trial: number, chosen: standing.chosen, feasible, failure });
}

/**
 * If not even the first measured trial has a metric, the server lacks it, and no trial can do
 * better.
 */
function endsStudy(run: Run, trial: Assigned, failure: TrialFailure): boolean {
  if (failure.kind === 'server-lost') return trial.role === 'baseline';
  const measured = run.recorder.state.trials.some((earlier) => earlier.chosen !== null);
  return failure.kind === 'metric-missing' && !measured;
}

/** Returns the run for a trial that the user may leave. */
const leavable = (run: Run, left: AbortSignal): Run => ({ ...run, signal: AbortSignal.any([run.signal, left]) });

const skipped: TrialFailure = { kind: 'skipped', reason: 'left before anything was measured' };

const findFault = (measurements: readonly Measurement[]): TrialFailure | null =>
  servedNothing(measurements) ?? alwaysTooManyErrors(measurements) ?? alwaysClientBound(measurements);

function servedNothing(measurements: readonly Measurement[]): TrialFailure | null {
  if (measurements.some((measurement) => measurement.throughput.value > 0)) return null;
  const words = measurements.flatMap((measurement) => measurement.failures.map((failure) => failure.firstMessage));
  return { kind: 'requests-failed', reason: words[0] ?? 'no request got a reply' };
}

function alwaysTooManyErrors(measurements: readonly Measurement[]): TrialFailure | null {
  if (!measurements.every(({ tooManyErrors }) => tooManyErrors)) return null;
  const worst = measurements.flatMap(({ failures }) => failures)[0];
  return { kind: 'requests-failed', reason: `too many requests failed: ${worst?.firstMessage ?? ''}` };
}

function alwaysClientBound(measurements: readonly Measurement[]): TrialFailure | null {
  const limits = measurements.map(({ client }) => (client.bound ? (client.reason ?? '') : null));
  if (limits.length === 0 || limits.includes(null)) return null;
  return { kind: 'client-bound', reason: `the load generator was the limit, not the server: ${limits[0]}` };
}

function baselineFails({ reason }: TrialFailure): TrituneError {
  return new TrituneError(
    'SERVER_FAILED',
    `the model cannot be measured with its original config: ${reason}`,
    'try one request with tritune profile, and read the log of the server',
  );
}
