import { cacheDirectory } from '../../adapter/triton/variants/cache.ts';
import { withKnownBuilds } from '../../adapter/triton/variants/known-builds.ts';
import { TrituneError } from '../../base/errors.ts';
import type { JsonObject } from '../../base/json.ts';
import { lookUp } from '../../base/look-up.ts';
import { trituneVersion } from '../../base/package.ts';
import { MS_PER_S } from '../../base/units.ts';
import type { WindowRule } from '../../profiler/level-options.ts';
import { MARK } from '../../space/artifact.ts';
import { checkVariants } from '../../space/check-variants.ts';
import { originalOf, TRITON } from '../../space/model-configs.ts';
import type { Narrowing } from '../../space/narrowing.ts';
import { loadSpace, spaceFromJson } from '../../space/source/load.ts';
import { presetFor } from '../../space/source/presets.ts';
import type { Topology } from '../../space/topology.ts';
import type { Candidate } from '../../space/types.ts';
import type { StudySpec } from '../../spec/study-spec.ts';
import { FINAL_ROUNDS } from '../../study/final/final.ts';
import { goalOverModels } from '../../study/goal/goal-of-models.ts';
import type { Metrics } from '../../study/goal/metrics/registry.ts';
import type { ServerIdentity, StartedClients } from '../../study/records/records.ts';
import { createSampler, type SamplerKind } from '../../study/search/samplers/registry.ts';
import type { SpaceView } from '../../study/search/samplers/space-view.ts';
import type { Goal, Sampler } from '../../study/types.ts';
import type { ModelConfig } from '../../triton/config/model-config.ts';
import type { TunePlan } from '../../tuner/run.ts';
import type { UsualTime } from '../../tuner/time-keeper.ts';
import { checkAlike } from './check-alike.ts';
import { withEngine } from './engine/served-settings.ts';
import { type Expected, expectedDuration, type Seen } from './expected-duration.ts';
import { goalOf, levelsOf } from './goal.ts';
import { type OpenStudy, recordedSpec } from './open-study.ts';
import { jointTarget, jointTargetOf } from './pipeline/joint-target.ts';
import type { Together } from './pipeline/read-together.ts';
import { clientsOf, type ServedClients } from './pipeline/served-clients.ts';
import { spaceOfOne, spaceOfSeveral, type TunedSpace } from './pipeline/tuned-space.ts';
import { readCandidates } from './read-candidates.ts';
import { configsOf, limitsOf, type StudyModels } from './study-models.ts';
import { passesSeconds, simulatedWorkloads } from './workloads/read-workloads.ts';

/** The maximum number of trials for a sampler that never stops by itself, unless the user sets one. */
const DEFAULT_RANDOM_TRIALS = 30;

/** A run's plan, made before it does anything. */
export interface PlannedRun {
  readonly plan: TunePlan;
  readonly sampler: Sampler;
  readonly samplerFor: (goal: Goal, narrowing: Narrowing) => Sampler;
  /** Returns the expected duration, from what was seen of the model. */
  readonly expected: (seen: Seen) => Expected;
  /** Returns the usual duration of such runs, for the plan. Absent for samplers that do not use it. */
  readonly usual?: (seen: Seen) => UsualTime;
}

/** A run on a Triton. */
export interface PlannedStudy extends PlannedRun {
  readonly space: TunedSpace;
  /** The length of each measurement, if not the usual one. */
  readonly windows?: Partial<WindowRule>;
}

/** The inputs of a plan: a study, opened or not. */
export type PlannedFrom = Pick<OpenStudy, 'spec' | 'sampler' | 'earlier' | 'started' | 'commandLine' | 'workloads'> & {
  readonly metrics?: Metrics;
};

/** The thing being tuned. */
export interface Subject {
  /** The name of its adapter. */
  readonly adapter: string;
  readonly server: ServerIdentity;
  readonly original: Candidate;
  readonly wasLoaded: boolean;
  readonly unloadedOthers?: readonly string[] | undefined;
  /** Absent for a single model. */
  readonly topology?: Topology | undefined;
  readonly clients?: readonly StartedClients[];
  /** The search space for the journal, and its number of candidates. */
  readonly space: JsonObject;
  readonly size: number;
  /** The most samples that a candidate executes at once, if known. */
  readonly places?: number;
  viewSpace(narrowing: Narrowing): SpaceView;
}

/**
 * Returns the plan of a study. A resumed study keeps the config, goal and space of its journal. Errors: SPACE_INVALID, USAGE, INPUT_INVALID,
 * UNSUPPORTED for a variant with other tensors.
 */
export function planStudy(study: PlannedFrom, server: ServerIdentity, models: StudyModels): PlannedStudy {
  const { started } = study;
  const { own, others, together } = models;
  if (!started) for (const { config } of [own, ...others.values()]) checkNotUploaded(config);
  const clients = started ? started.clients : undefined;
  const served = clientsOf(study, models);
  const space = together ? spaceOfTogether(study, models, served) : spaceOfModel(study, models, served);
  const told = clients ?? served?.told();
  const run = planRun(study, {
    ...{ adapter: TRITON, server, original: space.original },
    wasLoaded: started?.wasLoaded ?? own.wasLoaded,
    unloadedOthers: started ? started.unloadedOthers : unloadedIn(others),
    topology: together?.topology,
    ...(told && told.length > 0 && { clients: told }),
    space: space.definition,
    size: space.size,
    places: space.places,
    viewSpace: space.view,
  });
  return { ...run, space };
}

function spaceOfModel(
  { spec, started }: PlannedFrom,
  { own, others, given, names }: StudyModels,
  clients: ServedClients | null,
): TunedSpace {
  if (started) return spaceOfOne(spaceFromJson(started.space), started.original);
  if (given.across) throw aboutSeveral(spec.model);
  const { config } = own;
  const preset = presetFor(config.backend || config.platform);
  const limits = limitsOf(spec.goal.latencyBudgetMs);
  const asked = lookUp(given.members, names[0]) ?? given.whole ?? loadSpace(preset, { limits });
  const space = withKnownBuilds(clients?.serving(asked, spec.model, config) ?? asked, cacheDirectory());
  for (const [name, other] of others) checkAlike(spec.model, own, name, other);
  const otherConfigs = Object.fromEntries([...others].map(([name, other]) => [name, other.config]));
  // An exact copy, because a config that the server has already needs no load.
  const original = withEngine(originalOf(config, otherConfigs), space, spec);
  checkVariants(space, original);
  return spaceOfOne(space, original);
}

function aboutSeveral(model: string): TrituneError {
  const hint = 'put them into the search space of the model, without the name of the model before its parameters';
  return new TrituneError(
    'SPACE_INVALID',
    `the search space has rules over several models, but '${model}' is tuned alone`,
    hint,
  );
}

function spaceOfTogether(
  { spec, started }: PlannedFrom,
  models: StudyModels,
  clients: ServedClients | null,
): TunedSpace {
  if (started) return spaceOfSeveral(jointTargetOf(started));
  const limits = limitsOf(spec.goal.latencyBudgetMs);
  return spaceOfSeveral(jointTarget(models.together as Together, configsOf(models), models.given, limits, clients));
}

/** Errors: RESTORE_FAILED for a model that another study has uploaded files for, because this study could not restore the model's own files. */
function checkNotUploaded({ name = '', parameters }: ModelConfig): void {
  const mark = (parameters as JsonObject | undefined)?.[MARK];
  if (mark === undefined) return;
  throw new TrituneError(
    'RESTORE_FAILED',
    `'${name}' still serves files that an earlier study uploaded`,
    'run `tritune restore` with the output directory of that study, or unload and load the model',
  );
}

/** Returns the plan of a study of any server. Errors: USAGE, INPUT_INVALID. */
export function planRun(study: PlannedFrom, subject: Subject): PlannedRun {
  const { spec, sampler: kind, earlier, started, workloads } = study;
  const { sampler: asked, limits: given } = spec;
  const goal = started?.goal ?? goalOverModels(goalOf(spec, study.metrics), subject.topology);
  const levels = started?.levels ?? levelsOf(spec, subject.places);
  const candidates = kind.name === 'manual' ? readCandidates(asked.candidates, subject.viewSpace({})) : [];
  const { values } = spec.levels;
  const limits = {
    maxTrials: maxTrials(spec, kind),
    timeBudgetMs: (given.timeBudgetSeconds ?? Number.POSITIVE_INFINITY) * MS_PER_S,
  };
  const expected = (seen: Seen): Expected =>
    expectedDuration({
      sampler: kind,
      trials: Math.min(limits.maxTrials, subject.size),
      listedLevels: values?.length,
      finalRounds: FINAL_ROUNDS,
      budgetMs: goal.budget?.latencyMs ?? null,
      timeBudgetMs: limits.timeBudgetMs,
      isEmulated: subject.server.emulated !== null,
      isLaunched: spec.server.launch !== undefined,
      ...(workloads && { passesSeconds: passesSeconds(workloads) }),
      ...seen,
    });
  // A user who sets a limit or a minimum gain has decided how long the study may take.
  const isAim = [given.maxTrials, given.timeBudgetSeconds, asked.leastGainPercent].every(
    (limit) => limit === undefined,
  );
  const simulated = workloads ? simulatedWorkloads(workloads, spec) : undefined;
  const listed = { ...(asked.earlyExits !== undefined && { earlyExits: asked.earlyExits }), ...(values && { values }) };
  const samplerFor = (wanted: Goal, narrowing: Narrowing): Sampler =>
    createSampler(kind, subject.viewSpace(narrowing), {
      seed: spec.seed,
      goal: wanted,
      levels,
      topology: subject.topology,
      workloads: simulated,
      leastGain: asked.leastGainPercent === undefined ? undefined : asked.leastGainPercent / 100,
      candidates,
      ...listed,
    });
  return {
    sampler: samplerFor(goal, {}),
    samplerFor,
    expected,
    ...(kind.keepsTime && {
      usual: (seen: Seen) => ({ ...expected(seen).even, isAim }),
    }),
    plan: {
      study: {
        schemaVersion: 2,
        adapter: subject.adapter,
        model: spec.model,
        server: subject.server,
        original: subject.original,
        wasLoaded: subject.wasLoaded,
        ...(subject.unloadedOthers && { unloadedOthers: subject.unloadedOthers }),
        ...(subject.topology && { topology: subject.topology }),
        ...(subject.clients && { clients: subject.clients }),
        goal,
        levels,
        ...(workloads && { workloads: workloads.record }),
        sampler: kind.name,
        seed: spec.seed,
        space: subject.space,
        spec: recordedSpec(spec),
        commandLine: study.commandLine,
        ...(spec.modelAnalyzer && { modelAnalyzer: spec.modelAnalyzer }),
        trituneVersion,
      },
      ...limits,
      finalRounds: FINAL_ROUNDS,
      ...(given.maxOutageSeconds !== undefined && { maxOutageMs: given.maxOutageSeconds * MS_PER_S }),
      allowForeignTraffic: spec.measurement.allowForeignTraffic,
      earlier,
    },
  };
}

function maxTrials({ limits: { maxTrials, timeBudgetSeconds } }: StudySpec, { isEndless }: SamplerKind): number {
  if (maxTrials !== undefined) return maxTrials;
  const needsLimit = isEndless && timeBudgetSeconds === undefined;
  return needsLimit ? DEFAULT_RANDOM_TRIALS : Number.POSITIVE_INFINITY;
}

function unloadedIn(models: StudyModels['others']): readonly string[] | undefined {
  const unloaded = [...models].filter(([, { wasLoaded }]) => !wasLoaded).map(([name]) => name);
  return unloaded.length > 0 ? unloaded : undefined;
}
