import { TrituneError } from '#base/errors.ts';
import { trituneVersion } from '#base/package.ts';
import { MS_PER_S } from '#base/units.ts';
import type { Machine } from '#profiler/machine.ts';
import type { Narrowing } from '#space/narrowing.ts';
import type { StudySpec } from '#spec/study-spec.ts';
import { FINAL_ROUNDS } from '#study/final/final.ts';
import { goalOverModels } from '#study/goal/goal-of-models.ts';
import type { Metrics } from '#study/goal/metrics/registry.ts';
import { createSampler, type SamplerKind } from '#study/search/samplers/registry.ts';
import type { SpaceView } from '#study/search/samplers/space-view.ts';
import type { Goal, Sampler } from '#study/types.ts';
import type { TunePlan } from '#tuner/run.ts';
import type { UsualTime } from '#tuner/time-keeper.ts';
import { type Expected, expectedDuration, type Seen } from './expected-duration.ts';
import { levelsOfStudy, toGoal } from './goal.ts';
import { recordedSpec } from './open-study.ts';
import { readCandidates } from './read-candidates.ts';
import { passesSeconds, simulatedWorkloads } from './read-workloads.ts';
import type { DescribedTarget, OpenStudy } from './study.ts';

/**
 * The maximum number of trials for a sampler that never stops by itself, unless the user sets one.
 */
const DEFAULT_RANDOM_TRIALS = 30;

/** A study's plan, made before it does anything. */
export interface PlannedStudy {
  readonly plan: TunePlan;
  readonly sampler: Sampler;
  readonly samplerFor: (goal: Goal, narrowing: Narrowing) => Sampler;
  /** Returns the expected duration, from what was seen of the model. */
  readonly expected: (seen: Seen) => Expected;
  /**
   * Returns the usual duration of such runs, for the plan. Absent for samplers that do not use it.
   */
  readonly usual?: (seen: Seen) => UsualTime;
}

/** The inputs of a plan: a study, opened or not. */
export type PlannedFrom = Pick<OpenStudy, 'spec' | 'sampler' | 'earlier' | 'started' | 'commandLine' | 'workloads'> & {
  readonly metrics?: Metrics;
  readonly priors?: OpenStudy['priors'];
  /** What the study is measured on, for its journal. */
  readonly machine?: Machine;
};

/**
 * Returns the plan of a study of a target. A resumed study keeps the config, goal and space of its
 * journal. Errors: USAGE, INPUT_INVALID.
 */
export function planStudy(study: PlannedFrom, target: DescribedTarget): PlannedStudy {
  const { spec, sampler: kind, earlier, started, workloads, priors } = study;
  const { sampler: samplerSpec, limits: statedSamplerSpec } = spec;
  const goal = started?.goal ?? goalOverModels(toGoal(spec, study.metrics), target.topology);
  const levels = levelsOfStudy(study, target.space.places);
  const candidates = kind.name === 'manual' ? readCandidates(samplerSpec.candidates, target.space.view({})) : [];
  const { values } = spec.levels;
  const limits = {
    maxTrials: maxTrials(spec, kind),
    timeBudgetMs: (statedSamplerSpec.timeBudgetSeconds ?? Number.POSITIVE_INFINITY) * MS_PER_S,
  };
  const expected = (seen: Seen): Expected =>
    expectedDuration({
      sampler: kind,
      trials: Math.min(limits.maxTrials, target.space.size),
      listedLevels: values?.length,
      finalRounds: FINAL_ROUNDS,
      budgetMs: goal.budget?.latencyMs ?? null,
      timeBudgetMs: limits.timeBudgetMs,
      isEmulated: target.identity.emulated !== null,
      isLaunched: spec.server.launch !== undefined,
      ...(workloads && { passesSeconds: passesSeconds(workloads) }),
      ...seen,
    });
  // A user who sets a limit or a minimum gain has decided how long the study may take.
  const isAim = [statedSamplerSpec.maxTrials, statedSamplerSpec.timeBudgetSeconds, samplerSpec.leastGainPercent].every(
    (limit) => limit === undefined,
  );
  const simulated = workloads ? simulatedWorkloads(workloads, spec) : undefined;
  const listed = {
    ...(samplerSpec.earlyExits !== undefined && { earlyExits: samplerSpec.earlyExits }),
    ...(values && { values }),
  };
  const samplerFor = (goal: Goal, narrowing: Narrowing): Sampler =>
    createSampler(kind, target.space.view(narrowing), {
      seed: spec.seed,
      goal,
      levels,
      topology: target.topology,
      workloads: simulated,
      leastGain: toFraction(samplerSpec.leastGainPercent),
      certify: toFraction(samplerSpec.certifyPercent),
      candidates,
      priors,
      ...listed,
    });
  const sampler = samplerFor(goal, {});
  checkCertificate(spec, sampler, kind);
  checkProposals(priors ?? [], target.space.view({}));
  return {
    sampler,
    samplerFor,
    expected,
    ...(kind.keepsTime && {
      usual: (seen: Seen) => ({ ...expected(seen).even, isAim }),
    }),
    plan: {
      study: {
        schemaVersion: 2,
        adapter: target.name,
        model: spec.model,
        server: { ...target.identity, ...(study.machine && { machine: study.machine }) },
        original: target.original,
        wasLoaded: target.wasLoaded,
        ...(target.unloadedOthers && { unloadedOthers: target.unloadedOthers }),
        ...(target.topology && { topology: target.topology }),
        ...(target.clients && { clients: target.clients }),
        ...(target.assumptions && target.assumptions.length > 0 && { assumptions: target.assumptions }),
        goal,
        levels,
        ...(workloads && { workloads: workloads.record }),
        sampler: kind.name,
        seed: spec.seed,
        space: target.space.definition,
        spec: recordedSpec(spec),
        commandLine: study.commandLine,
        ...(spec.modelAnalyzer && { modelAnalyzer: spec.modelAnalyzer }),
        trituneVersion,
      },
      ...limits,
      finalRounds: FINAL_ROUNDS,
      ...(statedSamplerSpec.maxOutageSeconds !== undefined && {
        maxOutageMs: statedSamplerSpec.maxOutageSeconds * MS_PER_S,
      }),
      allowForeignTraffic: spec.measurement.allowForeignTraffic,
      earlier,
    },
  };
}

const toFraction = (percent: number | undefined): number | undefined =>
  percent === undefined ? undefined : percent / 100;

/** Errors: INPUT_INVALID for a proposed config that the space does not have. */
function checkProposals(priors: OpenStudy['priors'], space: Pick<SpaceView, 'build'>): void {
  for (const prior of priors) {
    if (!('proposal' in prior)) continue;
    const built = space.build(prior.proposal.assignment);
    if (built.legal) continue;
    throw new TrituneError(
      'INPUT_INVALID',
      `${prior.name}: the search space does not have the proposed config: ${built.reason}`,
      'leave out --prior, or widen the search space',
    );
  }
}

/**
 * Errors: USAGE for a certificate that the sampler cannot give, or that listed levels cannot have.
 */
function checkCertificate(
  { sampler: { certifyPercent }, levels }: Pick<StudySpec, 'sampler' | 'levels'>,
  sampler: Sampler,
  kind: SamplerKind,
): void {
  if (certifyPercent === undefined || sampler.certify) return;
  if (levels.values)
    throw new TrituneError(
      'USAGE',
      '--certify needs a range of load levels: at listed ones, it is not known what other configs serve',
      'give a range, such as --concurrency 1:64, or leave out --certify',
    );
  throw new TrituneError(
    'USAGE',
    `--certify does not go with --sampler ${kind.name}: it cannot tell how good other configs may be`,
    'leave out --sampler, or --certify',
  );
}

function maxTrials({ limits: { maxTrials, timeBudgetSeconds } }: StudySpec, { isEndless }: SamplerKind): number {
  if (maxTrials !== undefined) return maxTrials;
  const needsLimit = isEndless && timeBudgetSeconds === undefined;
  return needsLimit ? DEFAULT_RANDOM_TRIALS : Number.POSITIVE_INFINITY;
}
