import type { JsonObject } from '#base/json.ts';
import type { FlatFields, FlatSection, OptionNames } from './flat-options.ts';
import type { StudySpec } from './study-spec.ts';

export const serviceKinds = ['triton', 'openai', 'http'] as const;

export type ServiceKindName = (typeof serviceKinds)[number];

export interface NumberRange {
  readonly low: number;
  readonly high: number;
}

/** The settings of a study that only a Model Analyzer file has. */
export interface AnalyzerSettings {
  readonly file: string;
  /** Keys of the file that do not count; `key` is the path of the key. */
  readonly ignored: readonly IgnoredKey[];
  /** The search space, in the form of a tritune file. */
  readonly space: JsonObject;
  /** The load levels to measure, in rising order, if the file lists them. */
  readonly levels?: readonly number[];
  /** False: no candidate of a grid is left out because of others' results. */
  readonly earlyExits: boolean;
}

export interface IgnoredKey {
  readonly key: string;
  readonly reason: string;
}

/** The options of a study whose names are not those of their fields. */
export const optionNames = {
  specVersion: null,
  modelAnalyzer: null,
  'together.models': 'together',
  'together.requests': 'modelRequests',
  'goal.constraints': 'constraint',
  'goal.objectives': 'objective',
  'cost.holdPercent': 'holdChance',
  'levels.batch': 'batchSize',
  'levels.values': null,
  'workloads.files': 'workload',
  'workloads.weights': 'workloadWeights',
  'workloads.holdout': 'workloadHoldout',
  'prompts.thinkTimeMs': 'thinkTimeMs',
  'traffic.agentClockLimitMs': 'agentClockLimitMs',
  'sampler.name': 'sampler',
  'sampler.priors': 'prior',
  'sampler.earlyExits': null,
  'accuracy.absolute': 'atol',
  'accuracy.relative': 'rtol',
  'accuracy.command': 'accuracyCommand',
} as const satisfies OptionNames;

type Names = typeof optionNames;
type Section<S extends keyof StudySpec & string> = FlatSection<S, NonNullable<StudySpec[S]>, Names>;

type OfSections = Section<'server'> &
  Section<'goal'> &
  Section<'levels'> &
  Section<'traffic'> &
  Section<'sampler'> &
  Section<'measurement'> &
  Section<'limits'> &
  Partial<
    Section<'together'> &
      Section<'cost'> &
      Section<'workloads'> &
      Section<'prompts'> &
      Section<'http'> &
      Section<'accuracy'>
  >;

type OfStudy = OfSections & FlatFields<Pick<StudySpec, 'adapter' | 'prices' | 'seed' | 'trace' | 'output'>, Names>;

/**
 * A study as one flat set of options, as the command line and the library's `tune()` take them. A
 * study works from a `StudySpec`; `toSpec` makes one from these.
 */
export interface FlatStudyOptions extends Omit<OfStudy, 'constraint'> {
  readonly model?: string;
  readonly constraint?: readonly string[];
  /** The kind of the service; by default that of the other options. */
  readonly serviceKind?: ServiceKindName;
  /** A preset, a file, or the definition of a space. */
  readonly space?: string | JsonObject;
  readonly modelAnalyzer?: AnalyzerSettings;
}

/** The options of a recording, in addition to those of a study. */
export type RecordingOptions = Section<'recording'>;
