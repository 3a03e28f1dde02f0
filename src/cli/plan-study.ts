import { TrituneError } from '../base/errors.ts';
import { MS_PER_S } from '../base/units.ts';
import { trituneVersion } from '../base/version.ts';
import type { WindowRule } from '../profiler/level-options.ts';
import { spaceSize } from '../space/enumerate.ts';
import { loadSpace, spaceFromJson, spaceToJson } from '../space/load.ts';
import type { Narrowing } from '../space/narrowing.ts';
import { presetFor } from '../space/presets.ts';
import type { SearchSpace } from '../space/types.ts';
import { FINAL_ROUNDS } from '../study/final.ts';
import type { ServerIdentity } from '../study/records.ts';
import { viewSpace } from '../study/samplers/space-view.ts';
import type { Goal, Sampler } from '../study/types.ts';
import type { ModelConfig } from '../triton/model-config.ts';
import type { TunePlan } from '../tuner/run.ts';
import type { UsualTime } from '../tuner/time-keeper.ts';
import { type Expected, expectedDuration, type Seen } from './expected-duration.ts';
import { commandLineWithoutValues } from './header-options.ts';
import type { OriginalModel } from './open-server.ts';
import { readCandidates } from './read-candidates.ts';
import { makeSampler } from './samplers.ts';
import type { TuneOptions } from './tune-options.ts';
import { goalOf, levelsOf, recordedOptions, type TuneRequest } from './tune-request.ts';

/** Without any limit of the user's, a sampler that would never stop by itself stops after so many trials. */
const DEFAULT_RANDOM_TRIALS = 30;

/** What a run will do, before it does anything. */
export interface PlannedStudy {
  readonly plan: TunePlan;
  readonly space: SearchSpace;
  readonly sampler: Sampler;
  readonly samplerFor: (goal: Goal, narrowing: Narrowing) => Sampler;
  /** What it is likely to take, by what was seen of the model. */
  readonly expected: (seen: Seen) => Expected;
  /** For the plan: what such runs take as a rule. Absent but for the default sampler, which alone heeds it. */
  readonly usual?: (seen: Seen) => UsualTime;
  /** How long each level is measured, where that is not as usual. */
  readonly windows?: Partial<WindowRule>;
}

/** A resumed study keeps the config, goal and space that its journal says. Errors: SPACE_INVALID, USAGE, INPUT_INVALID. */
export function planStudy(
  request: Pick<TuneRequest, 'options' | 'model' | 'earlier' | 'started' | 'commandLine'>,
  server: ServerIdentity,
  original: OriginalModel,
): PlannedStudy {
  const { options, model, earlier, started } = request;
  const originalConfig = started?.originalConfig ?? original.config;
  const space = started ? spaceFromJson(started.space) : spaceOf(options, originalConfig);
  const view = viewSpace(space, originalConfig);
  const baseline = view.build({});
  if (!baseline.legal)
    throw new TrituneError('INTERNAL', `the original config is refused: ${baseline.reason}`, 'please report it');
  const goal = started?.goal ?? goalOf(options);
  const levels = started?.levels ?? levelsOf(options);
  const candidates = options.sampler === 'manual' ? readCandidates(options.candidates, view) : [];
  const { earlyExits, levels: values, file, ignored } = options.modelAnalyzer ?? {};
  const limits = {
    maxTrials: maxTrials(options),
    timeBudgetMs: (options.timeBudget ?? Number.POSITIVE_INFINITY) * MS_PER_S,
  };
  const expected = (seen: Seen): Expected =>
    expectedDuration({
      sampler: options.sampler,
      trials: Math.min(limits.maxTrials, spaceSize(space, originalConfig)),
      listedLevels: values?.length,
      finalRounds: FINAL_ROUNDS,
      budgetMs: goal.budget?.latencyMs ?? null,
      timeBudgetMs: limits.timeBudgetMs,
      isEmulated: server.emulated !== null,
      isLaunched: options.launch !== undefined,
      ...seen,
    });
  // Whoever names a limit or what a gain must be has said how long it may take.
  const isAim = [options.maxTrials, options.timeBudget, options.leastGain].every((asked) => asked === undefined);
  const asked = { ...(earlyExits !== undefined && { earlyExits }), ...(values && { values }) };
  const samplerFor = (wanted: Goal, narrowing: Narrowing): Sampler =>
    makeSampler(options.sampler, viewSpace(space, originalConfig, narrowing), {
      seed: options.seed,
      goal: wanted,
      levels,
      leastGain: options.leastGain === undefined ? undefined : options.leastGain / 100,
      candidates,
      ...asked,
    });
  return {
    space,
    sampler: samplerFor(goal, {}),
    samplerFor,
    expected,
    ...(options.sampler === 'queueing' && {
      usual: (seen: Seen) => ({ ...expected(seen).even, isAim }),
    }),
    plan: {
      study: {
        schemaVersion: 1,
        model,
        server,
        originalConfig,
        wasLoaded: started?.wasLoaded ?? original.wasLoaded,
        goal,
        levels,
        sampler: options.sampler,
        seed: options.seed,
        space: spaceToJson(space),
        options: recordedOptions(options),
        commandLine: request.commandLine ?? commandLineWithoutValues(process.argv.slice(2), options),
        ...(file !== undefined && { modelAnalyzer: { file, ignored: ignored ?? [] } }),
        trituneVersion,
      },
      // To the letter: what the server has already needs no load.
      baseline: { ...baseline.candidate, config: originalConfig },
      build: view.build,
      ...limits,
      finalRounds: FINAL_ROUNDS,
      ...(options.maxOutage !== undefined && { maxOutageMs: options.maxOutage * MS_PER_S }),
      allowForeignTraffic: options.allowForeignTraffic === true,
      earlier,
    },
  };
}

function maxTrials({ maxTrials, timeBudget, sampler }: TuneOptions): number {
  if (maxTrials !== undefined) return maxTrials;
  const isEndless = sampler === 'random' || sampler === 'tpe' || sampler === 'nsga2';
  return isEndless && timeBudget === undefined ? DEFAULT_RANDOM_TRIALS : Number.POSITIVE_INFINITY;
}

function spaceOf(options: TuneOptions, config: ModelConfig): SearchSpace {
  if (options.modelAnalyzer && options.space === undefined) return spaceFromJson(options.modelAnalyzer.space);
  const budget = options.latencyBudget;
  return loadSpace(options.space ?? presetFor(config.backend || config.platform), {
    limits: budget === undefined ? {} : { latency_budget_us: budget * 1e3 },
  });
}
