import type { Json, JsonObject } from '#base/json.ts';
import type { BatcherPolicy } from '#queueing/batcher-policy.ts';
import type { ContinuousPolicy } from '#queueing/continuous/policy.ts';
import type { Artifact } from './artifact.ts';

/** A value of a parameter: written at its path, or null to keep the base config's value. */
export type ParameterValue = Json;

/**
 * One value for each parameter that applies, by parameter name. The empty assignment is the base
 * config.
 */
export type Assignment = { readonly [parameter: string]: ParameterValue };

/** A legal state of a server to try. Two candidates with equal `fingerprint` are the same state. */
export interface Candidate {
  /** First 12 hex digits of a SHA-256 over the canonical JSON of what it sets. */
  readonly fingerprint: string;
  readonly assignment: Assignment;
  /**
   * The value that the server's adapter applies; opaque to all other code. For Triton a set of
   * model configs (`model-configs.ts`).
   */
  readonly value: JsonObject;
  readonly shape: CandidateShape;
}

/**
 * What is known of a candidate without knowing its server: the input of the performance model,
 * samplers, metrics and documents. The code that builds the candidate computes it, and the journal
 * keeps it.
 */
export interface CandidateShape {
  /** Number of instances, and how they form batches. */
  readonly policy: BatcherPolicy;
  readonly scheduling: Scheduling;
  /** Where instances run, in the server's order; empty if the server decides. */
  readonly groups: readonly InstanceGroupShape[];
  /**
   * All settings of queueing and batching except the largest batch, as text; equal settings give
   * equal texts.
   */
  readonly batching: string;
  /** A digest of everything else. */
  readonly rest: string;
  /**
   * Everything except instance counts and batching, by readable path: settings that may change the
   * execution time.
   */
  readonly settings: Settings;
  /** The build that it needs before it can be served for the first time. */
  readonly preparation?: Preparation;
  /** How a language model's engine forms its steps; present if `scheduling` is `continuous`. */
  readonly continuous?: ContinuousPolicy;
  /** GPUs that an engine uses according to its settings; absent if they do not state it. */
  readonly parallelGpus?: number;
  /**
   * The shapes of the models that are tuned together, by name; absent for one model alone. The
   * fields above then hold for all of them: the sum of the instances, the groups of all, and
   * settings by `MODEL/path`. The largest batch is that of the first front.
   */
  readonly members?: { readonly [model: string]: CandidateShape };
}

/**
 * Work before a first load, such as building an engine; candidates with the same `key` share its
 * outcome.
 */
export interface Preparation {
  readonly key: string;
  /** A readable name of the product. */
  readonly name: string;
  /** The expected duration; 0 if it exists already. */
  readonly seconds: number;
}

/**
 * How requests reach instances. `batcher`: the dynamic batcher and the default scheduler.
 * `network`: several models that are tuned together (`CandidateShape.members`), each with its own
 * scheduling. `continuous`: engines of language models (`CandidateShape.continuous`). The
 * performance model simulates these. For the others, and for an `unknown` scheduling, a search
 * learns from measurements alone.
 */
export type Scheduling = 'batcher' | 'sequence' | 'ensemble' | 'decoupled' | 'network' | 'continuous' | 'unknown';

export interface InstanceGroupShape {
  readonly device: 'auto' | 'cpu' | 'gpu' | 'model';
  /** Instances, over all devices of the group. */
  readonly count: number;
  /** All settings of where they run, as text; equal for groups that differ only in their counts. */
  readonly place: string;
  /** The GPUs that it names; absent if it names none. */
  readonly gpus?: readonly number[];
}

export type Settings = { readonly [path: string]: string };

export type CandidateOutcome =
  | { readonly legal: true; readonly candidate: Candidate }
  | { readonly legal: false; readonly reason: string };

/**
 * A checked search space: what can be set, to which values, when, and which combinations are legal.
 */
export interface SearchSpace {
  readonly name: string;
  readonly description: string;
  /** The backend that the space is for; null for any. */
  readonly backend: string | null;
  /** Figures that rules refer to; null if unknown, and rules that need it do not apply. */
  readonly limits: Limits;
  /** The slowest to change first: `assignments` varies the last one fastest. */
  readonly parameters: readonly Parameter[];
  readonly rules: readonly Rule[];
  /** The engine of a language model whose settings the space has; null for other spaces. */
  readonly engine: EngineTraits | null;
  /** How settings determine the engine's steps; null if the space does not state it. */
  readonly law: EngineSettingNames | null;
  /**
   * The whole space in the vocabulary of the file, with inherited parts resolved: for the journal.
   */
  readonly definition: JsonObject;
}

export type Limits = { readonly [name: string]: number | null };

/**
 * The cost of a change of the parameter: instances only, a full load, or a load that takes long (an
 * engine build).
 */
export type ChangeCost = 'in-place' | 'reload' | 'expensive';

export interface Parameter {
  readonly name: string;
  readonly description: string;
  /** The one field that it sets; null when its choices set several. */
  readonly path: ConfigPath | null;
  /**
   * The first case whose condition holds gives the options; when none holds, the parameter does not
   * apply.
   */
  readonly cases: readonly ParameterCase[];
  readonly change: ChangeCost;
  /**
   * Expected execution time with a value, by its text, relative to values that are not named: a
   * prior, not measured.
   */
  readonly expects: ReadonlyMap<string, number>;
}

export interface ParameterCase {
  readonly when: Condition;
  readonly options: readonly ParameterOption[];
}

/** One value of a parameter and what it writes into the config; a choice is known by its name. */
export interface ParameterOption {
  readonly value: ParameterValue;
  readonly writes: readonly FieldWrite[];
  /** The files that it serves; absent for those of the server. */
  readonly artifact?: Artifact;
  /** The model on the server that it serves and configures; absent for the study's model. */
  readonly model?: string;
}

/**
 * `set` a value, `ensure` that a message is present (as the base config has it, or empty), `remove`
 * the field, or `fit` a value to the largest batch of the resulting config.
 */
export type FieldWrite =
  | { readonly action: 'set'; readonly path: ConfigPath; readonly value: Json }
  | { readonly action: 'fit'; readonly path: ConfigPath; readonly value: RelativeValue }
  | { readonly action: 'ensure' | 'remove'; readonly path: ConfigPath };

/**
 * A value relative to the largest batch. `sizes`: the multiples of a number up to it, or it alone.
 * `warm-up`: `model_warmup` with a request of the largest batch, or also one of each power of two
 * below it. `graphs`: CUDA graphs that execute every batch up to it.
 */
export type RelativeValue =
  | { readonly kind: 'sizes'; readonly multiplesOf: number | null }
  | { readonly kind: 'warm-up'; readonly batches: 'max' | 'each' }
  | { readonly kind: 'graphs' };

/** A field or map key, an index, or the list item whose field has this value. */
export type PathSegment = string | number | { readonly field: string; readonly value: string };
export type ConfigPath = readonly PathSegment[];

/**
 * The value that a condition or rule refers to. `device` is cpu, gpu, model or auto: that of the
 * base config's first instance group.
 */
export type ConditionSubject =
  | { readonly scope: 'parameter' | 'limits'; readonly name: string }
  | { readonly scope: 'base' | 'config'; readonly path: ConfigPath }
  | { readonly scope: 'device' }
  /** The value of one model that a rule over several models refers to. */
  | { readonly scope: 'member'; readonly model: string; readonly of: ConditionSubject };

export type Condition =
  | { readonly kind: 'all' | 'any'; readonly of: readonly Condition[] }
  | { readonly kind: 'not'; readonly of: Condition }
  | { readonly kind: 'test'; readonly subject: ConditionSubject; readonly label: string; readonly test: Test };

export type Test =
  | { readonly operator: 'in' | 'not-in'; readonly operand: readonly Json[] }
  | { readonly operator: 'above' | 'at least' | 'below' | 'at most'; readonly operand: number }
  | { readonly operator: 'present'; readonly operand: boolean };

/** A relation that every candidate must satisfy. */
export interface Rule {
  readonly name: string;
  readonly when: Condition;
  readonly require: Expression;
  readonly message: string;
}

export type Expression =
  | { readonly kind: 'value'; readonly value: number | string | boolean }
  | { readonly kind: 'subject'; readonly subject: ConditionSubject }
  | { readonly kind: 'call'; readonly function: string; readonly of: readonly Expression[] }
  | { readonly kind: 'operation'; readonly operator: string; readonly of: readonly Expression[] };

/** How an engine receives its settings, and its defaults. */
export interface EngineTraits {
  readonly name: string;
  /** The separator between the words of a flag's name. */
  readonly words: 'hyphens' | 'underscores';
  /** The way a command line turns a switch off: `--no-NAME`, or nothing. */
  readonly off: 'no' | 'nothing';
  /** Path of the server's health page, and of its metrics; null if it has none. */
  readonly health: string | null;
  readonly metrics: string | null;
  readonly defaults: JsonObject;
  /**
   * Names of defaults that differ between installations, so that setting one explicitly may have an
   * effect.
   */
  readonly varying: readonly string[];
}

/**
 * The settings behind each field of a ContinuousPolicy, and the number of GPUs; null if the engine
 * has no such setting.
 */
export type EngineSettingNames = {
  readonly [field in
    | 'maxSequences'
    | 'maxStepTokens'
    | 'chunksPrefill'
    | 'mixesPrefill'
    | 'kvCacheTokens'
    | 'cachesPrefixes'
    | 'gpus']: Expression | null;
};
