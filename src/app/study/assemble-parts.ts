import { tritonAdapter } from '../../adapter/triton/adapter.ts';
import { createProfile, shorterWindows, studyWindows } from '../../adapter/triton/profile.ts';
import { createTracing } from '../../adapter/triton/tracing.ts';
import { type AccuracyRule, createAccuracyGuard } from '../../adapter/triton/variants/accuracy-guard.ts';
import { realClock } from '../../base/clock.ts';
import { MS_PER_S } from '../../base/units.ts';
import type { Accuracy } from '../../loadgen/accuracy.ts';
import type { PreparedInputs } from '../../loadgen/inputs.ts';
import { defaultPerfAnalyzerRule, type PerfAnalyzerRule } from '../../profiler/level-options.ts';
import { configOfModel } from '../../space/model-configs.ts';
import type { Candidate } from '../../space/types.ts';
import type { StudySpec } from '../../spec/study-spec.ts';
import type { LevelRange } from '../../study/types.ts';
import type { ModelConfig } from '../../triton/config/model-config.ts';
import type { TuneParts } from '../../tuner/run.ts';
import { safeName } from '../output/directory.ts';
import { devicesOf } from '../server/devices.ts';
import type { OpenServer } from '../server/open-server.ts';
import { compareReplies, expectsOutputs } from '../traffic/compare-outputs.ts';
import { type FrontAsked, openFronts } from '../traffic/open-fronts.ts';
import { controlOfStudy } from './control-over.ts';
import type { OpenStudy } from './open-study.ts';
import { type FrontInputs, trafficTo } from './pipeline/front-inputs.ts';
import type { PlannedStudy } from './plan-study.ts';
import { profiledWorkloads, type WorkloadInputs } from './workloads/profiled-workloads.ts';

const REQUEST_TIMEOUT_S = 30;
/** Default tolerance of outputs. */
const EXACT: AccuracyRule = { absolute: 0, relative: 0, outsideShare: 0 };

/**
 * The parts of a run, connected to its server. `close` releases the traffic's sockets and shared memory, and the device readers. Errors: USAGE,
 * UNSUPPORTED, SERVER_FAILED (shared memory that the server cannot use).
 */
export async function assembleParts(
  study: OpenStudy,
  { plan, space, sampler, samplerFor, windows }: PlannedStudy,
  opened: OpenServer,
  inputs: PreparedInputs,
  onBuild?: (variant: string, log: string) => void,
  otherFronts: readonly FrontInputs[] = [],
  workloadInputs: WorkloadInputs = [],
): Promise<{ readonly parts: TuneParts; close(): Promise<void> }> {
  const { spec, journal, workloads } = study;
  const { client } = opened;
  const { model, goal, measurement } = spec;
  const { original, levels } = plan.study;
  const config = configOfModel(original, model);
  const configIn = (candidate: Candidate): ModelConfig => configOfModel(candidate, model, config);
  const isGuarded = expectsOutputs(inputs, config) && (spec.accuracy !== undefined || space.hasVariants);
  const [first, ...others] = [{ config, inputs }, ...otherFronts].map((front, index) =>
    frontAsked(spec, levels, front, index),
  ) as [FrontAsked, ...FrontAsked[]];
  const fronts = await openFronts(opened, [
    // Outputs that the accuracy guard has checked need not be checked in every reply.
    { ...first, ...(isGuarded && spec.traffic.outputTolerance === undefined && { check: null }) },
    ...others,
  ]);
  const devices = devicesOf(opened, model);
  const profile = createProfile({
    ...fronts.traffic,
    topology: plan.study.topology,
    ...(workloads && {
      workloads: profiledWorkloads(spec, plan.study.topology, workloads, workloadInputs, fronts),
    }),
    stats: client,
    clock: realClock,
    percentile: goal.percentile,
    precision: measurement.precisionPercent / 100,
    ...(plan.study.levels.mode === 'concurrency' && { maxInFlight: plan.study.levels.high }),
    ...(measurement.stability === 'perf-analyzer' && { stability: perfAnalyzerRuleOf(goal) }),
    ...(windows ? { windows } : { windows: studyWindows, shorterWindows }),
    deviceProbe: devices.probe,
    hostWorkUs: devices.hostWorkUs,
    maxErrors: spec.traffic.maxErrors,
    ...(goal.latencyBudgetMs !== undefined && { budgetMs: goal.latencyBudgetMs }),
    ...(goal.goodput && { limits: goal.goodput }),
  });
  const control = controlOfStudy(study, plan, opened, onBuild);
  const rule = spec.accuracy ?? EXACT;
  const compare = (candidate: Candidate, signal: AbortSignal): Promise<Accuracy> =>
    compareReplies(opened, trafficTo(spec, model), inputs, configIn(candidate), rule, signal);
  const adapter = tritonAdapter({
    ...{ model, original, control, profile, identity: opened.server, segmentOf: safeName },
    space: space.view(),
    ...(isGuarded && { guard: createAccuracyGuard({ rule, original, compare }) }),
  });
  const tracing = spec.trace ? { tracing: createTracing(client) } : {};
  return {
    parts: { adapter, sampler, samplerFor, journal, clock: realClock, ...tracing },
    close: async () => {
      await devices.close();
      await fronts.close();
    },
  };
}

/** Fronts with the same seed would get arrivals at the same moments. The first front has the study's seed, and each further one the next. */
const frontAsked = (
  spec: StudySpec,
  levels: LevelRange,
  { config, inputs }: FrontInputs,
  index: number,
): FrontAsked => ({
  spec: { ...trafficTo(spec, config.name ?? ''), seed: spec.seed + index },
  ...{ config, inputs, levels, timeoutMs: (spec.traffic.requestTimeoutSeconds ?? REQUEST_TIMEOUT_S) * MS_PER_S },
  requestDistribution: spec.levels.requestDistribution,
});

/** With a budget, the budgeted latency must be stable, and the budget is the threshold. */
const perfAnalyzerRuleOf = ({ latencyBudgetMs, percentile }: StudySpec['goal']): PerfAnalyzerRule =>
  latencyBudgetMs === undefined
    ? defaultPerfAnalyzerRule
    : { ...defaultPerfAnalyzerRule, percentile, latencyThresholdMs: latencyBudgetMs };
