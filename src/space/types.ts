import type { Json, JsonObject } from '../base/json.ts';
import type { BatcherPolicy } from '../queueing/batcher-policy.ts';
import type { ContinuousPolicy } from '../queueing/continuous/policy.ts';
import type { Artifact } from './artifact.ts';

/** A value that a parameter can take: what is written at its path, or null to leave the base config's own value. */
export type ParameterValue = Json;

/** One value for each parameter that applies, by parameter name. The empty assignment is the base config. */
export type Assignment = { readonly [parameter: string]: ParameterValue };

/** A legal state of a server to try. Two candidates with equal `fingerprint` are the same state. */
export interface Candidate {
  /** First 12 hex digits of a SHA-256 over the canonical JSON of what it sets. */
  readonly fingerprint: string;
  readonly assignment: Assignment;
  /** What the server's adapter applies; opaque to everybody else. For Triton a set of model configs (`model-configs.ts`). */
  readonly value: JsonObject;
  readonly shape: CandidateShape;
}

/**
 * What can be known of a candidate without knowing its server: what the performance model, the samplers, the metrics and the
 * documents read. Whoever builds the candidate works it out, and the journal keeps it.
 */
export interface CandidateShape {
  /** How many instances there are, and how they form batches. */
  readonly policy: BatcherPolicy;
  readonly scheduling: Scheduling;
  /** Where instances run, in the server's order; empty where that is left to the server. */
  readonly groups: readonly InstanceGroupShape[];
  /** All that is set about how requests wait and form batches, but for the largest batch; equal texts for what is set alike. */
  readonly batching: string;
  /** A digest of everything else. */
  readonly rest: string;
  /** Everything but instance counts and batching, by a path, as people read it: each may change how long an execution takes. */
  readonly settings: Settings;
  /** What has to be made before it can be served for the first time. */
  readonly preparation?: Preparation;
  /** How an engine of a language model forms its steps; present where `scheduling` is `continuous`. */
  readonly continuous?: ContinuousPolicy;
  /** GPUs that an engine spreads itself over, by its settings; absent where they do not say it. */
  readonly parallelGpus?: number;
  /**
   * The shapes of the models that are tuned together, by name; absent for one model alone. The fields above then hold for all of them: the sum of
   * the instances, the groups of all, and settings by `MODEL/path`. The largest batch is that of the first front.
   */
  readonly members?: { readonly [model: string]: CandidateShape };
}

/** Work before a first load, such as building an engine; candidates with the same `key` share its outcome. */
export interface Preparation {
  readonly key: string;
  /** For people: what is made. */
  readonly name: string;
  /** How long it is thought to take; 0 for what is there already. */
  readonly seconds: number;
}

/**
 * How requests come to instances: `batcher` for the dynamic batcher and the default scheduler, which the performance model knows; `network`
 * for several models that are tuned together (`CandidateShape.members`), each of which has a scheduling of its own; `continuous` for
 * engines of language models (`CandidateShape.continuous`). Of the others, and of a server whose scheduling nobody told (`unknown`), a search learns from measurements alone.
 */
export type Scheduling = 'batcher' | 'sequence' | 'ensemble' | 'decoupled' | 'network' | 'continuous' | 'unknown';

export interface InstanceGroupShape {
  readonly device: 'auto' | 'cpu' | 'gpu' | 'model';
  /** Instances, over all devices of the group. */
  readonly count: number;
  /** All that is set about where they run; equal texts for groups that differ in their counts alone. */
  readonly place: string;
  /** The GPUs that it names; absent where it names none. */
  readonly gpus?: readonly number[];
}

export type Settings = { readonly [path: string]: string };

export type CandidateOutcome =
  | { readonly legal: true; readonly candidate: Candidate }
  | { readonly legal: false; readonly reason: string };

/** A search space, read and checked: what can be set, to which values, when, and which combinations are legal. */
export interface SearchSpace {
  readonly name: string;
  readonly description: string;
  /** The backend that the space is for; null when it is for any. */
  readonly backend: string | null;
  /** Figures that rules refer to; null when nobody stated it, and then the rules that need it do not count. */
  readonly limits: Limits;
  /** The slowest to change first: `assignments` varies the last one fastest. */
  readonly parameters: readonly Parameter[];
  readonly rules: readonly Rule[];
  /** The engine of a language model whose settings the space has; null for other spaces. */
  readonly engine: EngineTraits | null;
  /** How settings make the engine form its steps; null where nobody says so. */
  readonly law: EngineLaw | null;
  /** The whole space in the vocabulary of the file, nothing inherited: for the journal. */
  readonly definition: JsonObject;
}

export type Limits = { readonly [name: string]: number | null };

/** What a change of the parameter costs: instances only, a full load, or a load that takes long (an engine build). */
export type ChangeCost = 'in-place' | 'reload' | 'expensive';

export interface Parameter {
  readonly name: string;
  readonly description: string;
  /** The one field that it sets; null when its choices set several. */
  readonly path: ConfigPath | null;
  /** The first case whose condition holds gives the options; when none holds, the parameter does not apply. */
  readonly cases: readonly ParameterCase[];
  readonly change: ChangeCost;
  /** How many times as long executions are thought to take with a value, by its text, beside values that are not named: a belief, not measured. */
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
  /** The files that the model is served from with it; absent for those that the server has. */
  readonly artifact?: Artifact;
  /** The model of the server that serves with it, and whose config is written into; absent for the study's. */
  readonly model?: string;
}

/**
 * `set` a value, `ensure` that a message is there (as the base config has it, or empty), `remove` the field, or `fit` a value to the
 * largest batch that the config then has.
 */
export type FieldWrite =
  | { readonly action: 'set'; readonly path: ConfigPath; readonly value: Json }
  | { readonly action: 'fit'; readonly path: ConfigPath; readonly value: RelativeValue }
  | { readonly action: 'ensure' | 'remove'; readonly path: ConfigPath };

/**
 * A value in terms of the largest batch. `sizes`: the multiples of a number up to it, or it alone. `warm-up`: `model_warmup` with a request of the
 * largest batch, or with one of each power of two up to it as well.
 */
export type RelativeValue =
  | { readonly kind: 'sizes'; readonly multiplesOf: number | null }
  | { readonly kind: 'warm-up'; readonly batches: 'max' | 'each' };

/** A field or map key, an index, or the list item whose field has this value. */
export type PathSegment = string | number | { readonly field: string; readonly value: string };
export type ConfigPath = readonly PathSegment[];

/** What a condition or a rule looks at. `device` is cpu, gpu, model or auto: the base config's first instance group. */
export type Subject =
  | { readonly scope: 'parameter' | 'limits'; readonly name: string }
  | { readonly scope: 'base' | 'config'; readonly path: ConfigPath }
  | { readonly scope: 'device' }
  /** What a rule over several models looks at in one of them. */
  | { readonly scope: 'member'; readonly model: string; readonly of: Subject };

export type Condition =
  | { readonly kind: 'all' | 'any'; readonly of: readonly Condition[] }
  | { readonly kind: 'not'; readonly of: Condition }
  | { readonly kind: 'test'; readonly subject: Subject; readonly label: string; readonly test: Test };

export type Test =
  | { readonly operator: 'in' | 'not-in'; readonly operand: readonly Json[] }
  | { readonly operator: 'above' | 'at least' | 'below' | 'at most'; readonly operand: number }
  | { readonly operator: 'present'; readonly operand: boolean };

/** A relation that every candidate must keep. */
export interface Rule {
  readonly name: string;
  readonly when: Condition;
  readonly require: Expression;
  readonly message: string;
}

export type Expression =
  | { readonly kind: 'value'; readonly value: number | string | boolean }
  | { readonly kind: 'subject'; readonly subject: Subject }
  | { readonly kind: 'call'; readonly function: string; readonly of: readonly Expression[] }
  | { readonly kind: 'operation'; readonly operator: string; readonly of: readonly Expression[] };

/** How an engine is told its settings, and what it does where it is not told. */
export interface EngineTraits {
  readonly name: string;
  /** Between the words of a flag's name. */
  readonly words: 'hyphens' | 'underscores';
  /** What a switch that is off is on a command line: `--no-NAME`, or nothing. */
  readonly off: 'no' | 'nothing';
  /** The paths of an HTTP server that says when it serves, and what it counts. */
  readonly health: string;
  readonly metrics: string | null;
  readonly defaults: JsonObject;
  /** Names of defaults that are not the same everywhere, so that saying one may change something. */
  readonly varying: readonly string[];
}

/** Which settings are which field of a ContinuousPolicy, and how many GPUs they ask for; null for what the engine has no setting for. */
export type EngineLaw = {
  readonly [field in
    | 'maxSequences'
    | 'maxStepTokens'
    | 'chunksPrefill'
    | 'kvCacheTokens'
    | 'cachesPrefixes'
    | 'gpus']: Expression | null;
};
