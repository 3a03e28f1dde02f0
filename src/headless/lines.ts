import { formatDuration, formatMs, inertLine, plainLine } from '#base/format.ts';
import { MS_PER_S } from '#base/units.ts';
import type { Measurement } from '#profiler/measurement.ts';
import type { Topology } from '#space/topology.ts';
import type { Candidate } from '#space/types.ts';
import { listChangedSettings } from '#study/analysis/explain/changed-parameters.ts';
import { toMetrics } from '#study/goal/metrics/registry.ts';
import type {
  StartedWorkloads,
  StudyRecord,
  StudyStarted,
  TrialApplied,
  TrialStarted,
} from '#study/records/records.ts';
import { describeAccuracy } from '#study/summary/accuracy-words.ts';
import { describeCertificate } from '#study/summary/certificate-words.ts';
import { describeClients } from '#study/summary/client-words.ts';
import type { NoiseFloor } from '#study/summary/context-schema.ts';
import {
  assignmentLines,
  describeBottleneck,
  describeConstraint,
  describeLevel,
  describeObjectives,
  describeRequestLimits,
  describeServer,
  describeSpeedChange,
} from '#study/summary/describe.ts';
import { latencyWarning } from '#study/summary/latency-note.ts';
import { describeNoise, noiseSentence } from '#study/summary/noise-words.ts';
import type { Doubted, Goal, TrialFailure } from '#study/types.ts';
import type { TunerEvent } from '#tuner/seams.ts';
import { agentsLine } from './agent-lines.ts';
import { describeMeasurement } from './measurement-line.ts';
import { describeParts } from './part-lines.ts';
import { describeWorkloads, workloadLines } from './studied-workloads.ts';

/** Writes one line of text. */
export type Print = (line: string) => void;

/**
 * Describes the end of a run: the state in which it left the model, or why it stopped, with a line
 * for each note on that.
 */
export function describeEnd(
  event: Extract<TunerEvent, { type: 'model-restored' | 'study-finished' }>,
): readonly string[] {
  if (event.type === 'model-restored') return [`${event.verified ? 'restored' : 'NOT RESTORED'}: ${event.detail}`];
  const { certificate, wallSeconds, stopReason, notes = [] } = event;
  const all = certificate ? [...notes, `certificate: ${describeCertificate(certificate)}`] : notes;
  return [`ended after ${formatDuration(wallSeconds)}: ${stopReason}`, ...all.map((note) => `    ${note}`)];
}

/**
 * Writes the run as lines for a log: every trial, every measurement, and every failure with its
 * reason. `earlier`: the records of earlier runs. Returns a function to call with every event.
 */
export function createLines(write: Print, earlier: readonly StudyRecord[] = []): (event: TunerEvent) => void {
  const print = (line: string): void => write(inertLine(line));
  const candidates = new Map<number, Candidate>();
  let goal: Goal | undefined;
  let started: StudyStarted | undefined;
  let topology: Topology | undefined;
  let workloads: StartedWorkloads | undefined;
  let finals = 0;
  const learn = (event: TunerEvent): void => {
    if (event.type === 'study-started' || event.type === 'goal-changed') goal = event.goal;
    if (event.type === 'study-started') {
      started = event;
      ({ topology, workloads } = event);
    }
    if (event.type === 'trial-started') candidates.set(event.trial, event.candidate);
  };
  const measured = ({ trial, measurement }: { trial: number; measurement: Measurement }): string =>
    describeMeasurement(measurement, goal, candidates.get(trial));
  const parts = ({ trial, measurement }: { trial: number; measurement: Measurement }): readonly string[] => [
    ...(workloads ? describeWorkloads(measurement, goal, candidates.get(trial), workloads) : []),
    ...(topology ? describeParts(measurement, topology, candidates.get(trial)) : []),
  ];
  for (const record of earlier) learn(record);
  return (event) => {
    learn(event);
    switch (event.type) {
      case 'study-started':
        for (const line of opening(event)) print(line);
        return;
      case 'study-resumed':
        print(`resuming on ${describeServer(event.server)} at ${event.server.url}`);
        return;
      case 'trial-started':
        for (const line of trialLines(event, started)) print(line);
        if (event.prior !== undefined) print(`    from ${plainLine(event.prior)}, tried first`);
        if (event.bottleneck) print(`    in trial ${event.bottleneck.trial}, ${describeBottleneck(event.bottleneck)}`);
        return;
      case 'trial-measured':
        if (event.measurement.firstAnswersMs !== undefined)
          print(`    first answers after ${formatDuration(event.measurement.firstAnswersMs / MS_PER_S)}`);
        print(`    ${measured(event)}`);
        for (const line of [...parts(event), ...agentsLine(event.measurement.client.agents)]) print(`        ${line}`);
        return;
      case 'noise-floor':
        for (const line of noiseLines(event, goal)) print(line);
        return;
      case 'starved':
        print(
          `    ${describeLevel(event.level)}: measuring again, because the load generator was the limit: ${event.reason}`,
        );
        return;
      case 'server-away':
        print(`    ${plainLine(event.reason)}: waiting for it, ${formatDuration(event.limitMs / MS_PER_S)} at most`);
        return;
      case 'speed-changed':
        print(`    ${describeSpeedChange(event)}`);
        return;
      case 'trial-applied':
        for (const line of preparationLines(event)) print(line);
        return;
      case 'trial-finished':
        if (event.failure) print(`    failed: ${describeFailure(event.failure)}`);
        return;
      case 'readings-doubted':
        print(describeDoubts(event.readings));
        return;
      case 'final-measured':
        if (finals++ === 0) print('final: measuring the best and the original config in turn');
        print(`    trial ${event.trial}: ${measured(event)}`);
        for (const line of parts(event)) print(`        ${line}`);
        return;
      case 'round-voided':
        print(
          `    round ${event.round} is discarded: the original config was ${event.slower.toFixed(1)} times slower than before`,
        );
        return;
      case 'tracing-started':
        print(`tracing trial ${event.trial} on the server, into ${plainLine(event.file)}`);
        return;
      case 'tracing-ended':
        print(event.verified ? `trace settings: ${event.detail}` : `TRACE SETTINGS NOT RESTORED: ${event.detail}`);
        return;
      case 'model-restored':
      case 'study-finished':
        for (const line of describeEnd(event)) print(line);
        return;
      default:
        return;
    }
  };
}

/**
 * Returns what a trial changes of the original config, in a line, or in one for each of several
 * models.
 */
function trialLines({ trial, candidate }: TrialStarted, started: StudyStarted | undefined): readonly string[] {
  const changed = started ? listChangedSettings(started, candidate) : candidate.assignment;
  const { first, rest } = assignmentLines(`trial ${trial}:`, changed);
  return [first, ...rest.map((line) => `    ${line}`)];
}

function opening(event: Extract<TunerEvent, { type: 'study-started' }>): string[] {
  const { server, goal } = event;
  const warning = latencyWarning(event, goal);
  const emulated =
    server.emulated === null
      ? []
      : [`EMULATED SERVER (${server.emulated}): these are not the figures of a real server`];
  const control =
    server.controlUrl === server.url ? '' : `, control at ${server.controlUrl} (${server.controlProtocol})`;
  return [
    ...emulated,
    `model ${event.model} on ${describeServer(server)} at ${server.url} (${server.protocol})${control}`,
    `goal: ${describeGoal(goal)}; sampler ${event.sampler}, seed ${event.seed}`,
    ...(event.workloads ? workloadLines(event.workloads) : []),
    ...describeClients(event),
    ...(warning === null ? [] : [`WARNING: ${warning}`]),
  ];
}

function describeGoal(goal: Goal): string {
  const constraints = goal.constraints.map((constraint) => describeConstraint(constraint, toMetrics(goal)));
  const budget = goal.budget ? [`p${goal.budget.percentile} ≤ ${formatMs(goal.budget.latencyMs)}`] : [];
  const good = goal.goodput ? ` (requests within ${describeRequestLimits(goal.goodput)})` : '';
  return [`best ${describeObjectives(goal.objectives)}${good}`, ...budget, ...constraints].join(', ');
}

/** Noise that needs no attention takes one indented line under the measurement. */
function noiseLines(floor: NoiseFloor, goal: Goal | undefined): string[] {
  const words = describeNoise(floor, goal?.budget ?? null);
  if (words.tone === 'quiet') return [`    idle: ${noiseSentence(words)}`];
  return [`${words.tone}: ${noiseSentence(words)}`, ...(words.advice === null ? [] : [`    ${words.advice}`])];
}

function describeDoubts(readings: readonly Doubted[]): string {
  const trials = [...new Set(readings.map(({ trial }) => trial))].sort((a, b) => a - b);
  if (trials.length === 0) return 'the performance model no longer doubts any trial that met the goal';
  return `the performance model doubts that trial ${trials.join(' and ')} really meets the goal`;
}

function preparationLines({ buildMs, accuracy }: Pick<TrialApplied, 'buildMs' | 'accuracy'>): string[] {
  return [
    ...(buildMs === undefined ? [] : [`    built in ${formatMs(buildMs)}`]),
    ...(accuracy === undefined ? [] : [`    accuracy: ${describeAccuracy(accuracy)}`]),
  ];
}

const describeFailure = (failure: TrialFailure): string => `${failure.kind}: ${plainLine(failure.reason)}`;
