import { createProfile, shorterWindows, studyWindows } from '#adapter/triton/profile.ts';
import { type AccuracyGuard, type AccuracyRule, createAccuracyGuard } from '#adapter/variants/accuracy-guard.ts';
import { realClock } from '#base/clock.ts';
import { TrituneError } from '#base/errors.ts';
import { plainLine } from '#base/format.ts';
import { didYouMean } from '#base/nearest.ts';
import { MS_PER_S } from '#base/units.ts';
import { type Accuracy, OTHER_OUTPUTS, type Tolerance } from '#loadgen/accuracy.ts';
import type { PreparedInputs } from '#loadgen/inputs.ts';
import { defaultPerfAnalyzerRule, type PerfAnalyzerRule } from '#profiler/level-options.ts';
import { configOfModel } from '#space/model-configs.ts';
import type { Candidate } from '#space/types.ts';
import type { StudySpec } from '#spec/study-spec.ts';
import type { LevelRange } from '#study/types.ts';
import { takesSequences } from '#triton/config/batching-rules.ts';
import type { ModelConfig } from '#triton/config/model-config.ts';
import type { Profile } from '#tuner/adapter.ts';
import { listDevices } from '../../server/devices.ts';
import type { OpenServer } from '../../server/open-server.ts';
import { nothingSeen, type Seen } from '../../study/expected-duration.ts';
import { levelsOfStudy } from '../../study/goal.ts';
import type { OpenStudy, TargetSetting } from '../../study/study.ts';
import { type AccuracyCommand, parseAccuracyCommand } from '../../traffic/accuracy-command.ts';
import { compareReplies, expectsOutputs } from '../../traffic/compare-outputs.ts';
import { firstTimeoutMs, lookFirst } from '../../traffic/first-requests.ts';
import { checkEndOnly } from '../../traffic/limits.ts';
import { openFronts } from '../../traffic/open-fronts.ts';
import type { TrafficOrder } from '../../traffic/open-traffic.ts';
import { REPLY_TIMEOUT_MS } from '../../traffic/sender.ts';
import { listAssumptions } from '../../traffic/tensor-requests.ts';
import { promptRequests } from '../prompt-requests.ts';
import { requestProfile } from '../request-profile.ts';
import { toFirstAnswersMs } from '../time-limits.ts';
import type { DescribedTriton } from './describe.ts';
import { type FrontInputs, inputsOfFronts, trafficTo } from './front-inputs.ts';
import type { TritonModels } from './models.ts';
import { inputsOfWorkloads, profiledWorkloads, type WorkloadInputs } from './tensor-workloads.ts';

/** The requests of a study of tensors, for each front and under each workload. */
interface StudyInputs {
  readonly inputs: PreparedInputs;
  readonly otherFronts: readonly FrontInputs[];
  readonly underWorkloads: WorkloadInputs;
  /** All inputs, each once. */
  readonly all: readonly PreparedInputs[];
}

/** Prepares the requests of a study. Errors: USAGE, INPUT_INVALID, those of `readRequests`. */
async function inputsOfStudy(
  { spec, workloads }: Pick<OpenStudy, 'spec' | 'workloads'>,
  models: TritonModels,
): Promise<StudyInputs> {
  checkEndOnly(spec.goal.goodput, '--goodput');
  const underWorkloads = workloads ? await inputsOfWorkloads(spec, models, workloads) : [];
  const [{ inputs }, ...otherFronts] = await inputsOfFronts(spec, models, underWorkloads[0]);
  const all = [inputs, ...otherFronts.map((front) => front.inputs), ...underWorkloads.slice(1).flat()];
  return { inputs, otherFronts, underWorkloads, all };
}

/** Default tolerance of outputs. */
const EXACT: AccuracyRule = { absolute: 0, relative: 0, outsideShare: 0 };

/** Returns the user's command for outputs; null without one. Errors: USAGE. */
function readCommand(spec: StudySpec, config: ModelConfig): AccuracyCommand | null {
  const words = spec.accuracy?.command;
  if (words === undefined) return null;
  const command = parseAccuracyCommand(words);
  const { inputData = [] } = trafficTo(spec, spec.model);
  if (takesSequences(config)) throw unusable('a model with sequences');
  if (inputData.every((name) => name === 'zero' || name === 'random')) throw unusable('made-up requests');
  return command;
}

const unusable = (reason: string): TrituneError =>
  new TrituneError('USAGE', `--accuracy-command cannot be used with ${reason}`, 'give requests with --input-data FILE');

/** Errors: USAGE for an allowed error in an output that the model does not have. */
function checkAllowances({ absolute, relative }: Tolerance, { output = [], name }: ModelConfig): void {
  const outputs = output.map((each) => each.name);
  const unknown = [absolute, relative]
    .flatMap((each) => (typeof each === 'number' ? [] : Object.keys(each)))
    .find((each) => each !== OTHER_OUTPUTS && outputs.length > 0 && !outputs.includes(each));
  if (unknown === undefined) return;
  throw new TrituneError(
    'USAGE',
    `model '${name}' has no output '${plainLine(unknown)}'${didYouMean(unknown, outputs)}`,
    `its outputs are ${outputs.join(', ')}`,
  );
}

/** The open senders of a study, in the form of a profile. */
export interface StudySending {
  readonly profile: Profile;
  /** What was made up for the requests, one line for each input. */
  readonly assumptions: readonly string[];
  /** Compares the outputs of candidates with the expected ones; absent if nobody asked for that. */
  readonly guard?: AccuracyGuard | undefined;
  /** Returns what is seen of the original before the study. */
  look(): Promise<Seen>;
  /** Closes the sockets, frees shared memory, and closes the device readers. */
  close(): Promise<void>;
}

type Study = Pick<OpenStudy, 'spec' | 'started' | 'workloads' | 'directory'>;

const UNCHECKED =
  'accuracy of the variants is not checked: --input-data with expected outputs would (docs/variants.md)';

/** Opens the senders of prompts to a language model on a Triton. Errors: USAGE, INPUT_INVALID. */
export async function openPrompts(
  { spec, workloads }: Study,
  { headers, tls, metricsUrl, server }: OpenServer,
): Promise<StudySending> {
  const serving = () => ({ address: server.url, headers, tls, metricsUrl });
  const profile = requestProfile(spec, serving, await promptRequests(spec, workloads));
  return { profile, assumptions: [], look: () => Promise.resolve(nothingSeen), close: () => profile.close() };
}

/**
 * Opens the senders of tensors to the models of a study. Errors: USAGE, UNSUPPORTED, SERVER_FAILED
 * (shared memory that the server cannot use).
 */
export async function openTensors(
  study: Study,
  opened: OpenServer,
  models: TritonModels,
  { topology, space, original }: DescribedTriton,
  { tell, windows }: Pick<TargetSetting, 'tell' | 'windows'>,
): Promise<StudySending> {
  const { spec, workloads } = study;
  const { model, goal, measurement } = spec;
  const { inputs, otherFronts, underWorkloads, all } = await inputsOfStudy(study, models);
  const config = configOfModel(original, model);
  const assumptions = [...new Set(all.flatMap(listAssumptions))];
  for (const line of assumptions) tell(line);
  const isExpected = expectsOutputs(inputs, config);
  const command = readCommand(spec, config);
  checkAllowances(spec.accuracy ?? EXACT, config);
  if (space.hasVariants && !isExpected && !command) tell(UNCHECKED);
  const isGuarded = command !== null || (isExpected && (spec.accuracy !== undefined || space.hasVariants));
  const levels = levelsOfStudy(study, space.places);
  const [first, ...others] = [{ config, inputs }, ...otherFronts].map((front, index) =>
    trafficAsked(spec, levels, front, index, underWorkloads),
  ) as [TrafficOrder, ...TrafficOrder[]];
  // Outputs that the accuracy guard has checked need not be checked in every reply.
  const unchecked = isGuarded && spec.traffic.outputTolerance === undefined && { check: null };
  const fronts = await openFronts(opened, [{ ...first, ...unchecked }, ...others], spec.levels.requestDistribution);
  const devices = listDevices(opened, model);
  const profile = createProfile({
    ...fronts.traffic,
    topology,
    ...(workloads && { workloads: profiledWorkloads(spec, topology, workloads, underWorkloads, fronts) }),
    stats: opened.client,
    clock: realClock,
    percentile: goal.percentile,
    precision: measurement.precisionPercent / 100,
    ...(levels.mode === 'concurrency' && { maxInFlight: levels.high }),
    ...(measurement.stability === 'perf-analyzer' && { stability: toPerfAnalyzerRule(goal) }),
    ...(windows ? { windows } : { windows: studyWindows, shorterWindows }),
    deviceProbe: devices.probe,
    hostWorkUs: devices.hostWorkUs,
    maxErrors: spec.traffic.maxErrors,
    firstAnswersMs: toFirstAnswersMs(spec.limits),
    ...(goal.latencyBudgetMs !== undefined && { budgetMs: goal.latencyBudgetMs }),
    ...(goal.goodput && { limits: goal.goodput }),
  });
  const rule = spec.accuracy ?? EXACT;
  const compare = (candidate: Candidate, signal: AbortSignal): Promise<Accuracy> =>
    compareReplies(
      opened,
      { spec: trafficTo(spec, model), config: configOfModel(candidate, model, config), inputs },
      { tolerance: rule, command, directory: study.directory, timeoutMs: toFirstAnswersMs(spec.limits) },
      signal,
    );
  return {
    profile,
    assumptions,
    guard: isGuarded ? createAccuracyGuard({ rule, original, compare }) : undefined,
    look: async () =>
      (await lookFirst(trafficTo(spec, model), opened, models.originalModel, inputs, firstTimeoutMs(spec))).seen,
    close: async () => {
      await devices.close();
      await fronts.close();
    },
  };
}

/**
 * Fronts with the same seed would get arrivals at the same moments. The first front has the study's
 * seed, and each further one the next.
 */
const trafficAsked = (
  spec: StudySpec,
  levels: LevelRange,
  { config, inputs }: FrontInputs,
  index: number,
  underWorkloads: WorkloadInputs,
): TrafficOrder => ({
  spec: { ...trafficTo(spec, config.name ?? ''), seed: spec.seed + index },
  config,
  inputs,
  otherInputs: underWorkloads
    .flatMap((workloadInputs) => workloadInputs[index] ?? [])
    .filter((each) => each !== inputs),
  levels,
  timeoutMs:
    spec.traffic.requestTimeoutSeconds === undefined ? REPLY_TIMEOUT_MS : spec.traffic.requestTimeoutSeconds * MS_PER_S,
});

/** With a budget, the budgeted latency must be stable, and the budget is the threshold. */
const toPerfAnalyzerRule = ({ latencyBudgetMs, percentile }: StudySpec['goal']): PerfAnalyzerRule =>
  latencyBudgetMs === undefined
    ? defaultPerfAnalyzerRule
    : { ...defaultPerfAnalyzerRule, percentile, latencyThresholdMs: latencyBudgetMs };
