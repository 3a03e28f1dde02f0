import type { Json, JsonObject } from '../base/json.ts';
import { type SpecChange, withChange } from './spec-change.ts';
import { checkStudySpec, type StudySpec, specToJson } from './study-spec.ts';
import type { FlatStudyOptions, RecordingOptions } from './tune-options.ts';

/** Options of a study. `set`: changes of its spec, which take precedence over the other options. */
type Options = Partial<FlatStudyOptions & RecordingOptions> & { readonly set?: readonly SpecChange[] };
/** A section of a spec, and a field of it. */
type Place = readonly [section: keyof StudySpec, field?: string];

/** The place of each option in a spec. Names of fields include their units. */
const places: Readonly<Record<Exclude<keyof Options, 'modelAnalyzer' | 'serviceKind' | 'set'>, Place>> = {
  model: ['model'],
  together: ['together', 'models'],
  mix: ['together', 'mix'],
  blsComposing: ['together', 'blsComposing'],
  modelRequests: ['together', 'requests'],
  adapter: ['adapter'],
  url: ['server', 'url'],
  protocol: ['server', 'protocol'],
  controlUrl: ['server', 'controlUrl'],
  metricsUrl: ['server', 'metricsUrl'],
  tls: ['server', 'tls'],
  tlsCa: ['server', 'tlsCa'],
  tlsCert: ['server', 'tlsCert'],
  tlsKey: ['server', 'tlsKey'],
  tlsServerName: ['server', 'tlsServerName'],
  tlsInsecure: ['server', 'tlsInsecure'],
  header: ['server', 'header'],
  headerEnv: ['server', 'headerEnv'],
  headerFile: ['server', 'headerFile'],
  tokenEnv: ['server', 'tokenEnv'],
  tokenFile: ['server', 'tokenFile'],
  launch: ['server', 'launch'],
  modelRepository: ['server', 'modelRepository'],
  tritonserver: ['server', 'tritonserver'],
  dockerImage: ['server', 'dockerImage'],
  dockerGpus: ['server', 'dockerGpus'],
  serverArg: ['server', 'serverArg'],
  serverCpus: ['server', 'serverCpus'],
  dockerArg: ['server', 'dockerArg'],
  protect: ['server', 'protect'],
  restoreFirst: ['server', 'restoreFirst'],
  endpoint: ['server', 'endpoint'],
  launchCommand: ['server', 'launchCommand'],
  engineSettings: ['server', 'engineSettings'],
  original: ['server', 'original'],
  restore: ['server', 'restore'],
  latencyBudget: ['goal', 'latencyBudgetMs'],
  modelBudgets: ['goal', 'modelBudgetsMs'],
  percentile: ['goal', 'percentile'],
  constraint: ['goal', 'constraints'],
  objective: ['goal', 'objectives'],
  goodput: ['goal', 'goodput'],
  prices: ['prices'],
  gpu: ['cost', 'gpu'],
  serverGpus: ['cost', 'serverGpus'],
  instanceType: ['cost', 'instanceType'],
  forRate: ['cost', 'forRate'],
  headroom: ['cost', 'headroomPercent'],
  holdChance: ['cost', 'holdPercent'],
  space: ['space'],
  concurrency: ['levels', 'concurrency'],
  batchSize: ['levels', 'batch'],
  requestRate: ['levels', 'requestRate'],
  requestDistribution: ['levels', 'requestDistribution'],
  workload: ['workloads', 'files'],
  workloadWeights: ['workloads', 'weights'],
  robust: ['workloads', 'robust'],
  timeScale: ['workloads', 'timeScale'],
  workloadHoldout: ['workloads', 'holdout'],
  promptFile: ['prompts', 'promptFile'],
  inputTokens: ['prompts', 'inputTokens'],
  outputTokens: ['prompts', 'outputTokens'],
  prompts: ['prompts', 'prompts'],
  prefixPrompts: ['prompts', 'prefixPrompts'],
  prefixTokens: ['prompts', 'prefixTokens'],
  sessions: ['prompts', 'sessions'],
  turns: ['prompts', 'turns'],
  thinkTimeMs: ['prompts', 'thinkTimeMs'],
  traceSlice: ['prompts', 'traceSlice'],
  ignoreEos: ['prompts', 'ignoreEos'],
  tokenizer: ['prompts', 'tokenizer'],
  requestTimeout: ['traffic', 'requestTimeoutSeconds'],
  path: ['http', 'path'],
  method: ['http', 'method'],
  body: ['http', 'body'],
  bodyFile: ['http', 'bodyFile'],
  bodiesFile: ['http', 'bodiesFile'],
  disableKeepalive: ['http', 'disableKeepalive'],
  batch: ['traffic', 'batch'],
  clientBatch: ['traffic', 'clientBatch'],
  inputData: ['traffic', 'inputData'],
  shape: ['traffic', 'shape'],
  integers: ['traffic', 'integers'],
  stringData: ['traffic', 'stringData'],
  stringLength: ['traffic', 'stringLength'],
  maxInputSize: ['traffic', 'maxInputSize'],
  outputTolerance: ['traffic', 'outputTolerance'],
  requestParameter: ['traffic', 'requestParameter'],
  sequenceLength: ['traffic', 'sequenceLength'],
  sequenceLengthVariation: ['traffic', 'sequenceLengthVariation'],
  sequenceIds: ['traffic', 'sequenceIds'],
  streaming: ['traffic', 'streaming'],
  compression: ['traffic', 'compression'],
  tensorFormat: ['traffic', 'tensorFormat'],
  sharedMemory: ['traffic', 'sharedMemory'],
  outputSharedMemorySize: ['traffic', 'outputSharedMemorySize'],
  clientThreads: ['traffic', 'clientThreads'],
  maxErrors: ['traffic', 'maxErrors'],
  agents: ['traffic', 'agents'],
  agentTokenFile: ['traffic', 'agentTokenFile'],
  agentTokenEnv: ['traffic', 'agentTokenEnv'],
  agentTls: ['traffic', 'agentTls'],
  agentTlsCa: ['traffic', 'agentTlsCa'],
  agentTlsCert: ['traffic', 'agentTlsCert'],
  agentTlsKey: ['traffic', 'agentTlsKey'],
  agentPlaintext: ['traffic', 'agentPlaintext'],
  agentClockLimitMs: ['traffic', 'agentClockLimitMs'],
  sampler: ['sampler', 'name'],
  leastGain: ['sampler', 'leastGainPercent'],
  candidates: ['sampler', 'candidates'],
  atol: ['accuracy', 'absolute'],
  rtol: ['accuracy', 'relative'],
  outsideShare: ['accuracy', 'outsideShare'],
  precision: ['measurement', 'precisionPercent'],
  stability: ['measurement', 'stability'],
  allowForeignTraffic: ['measurement', 'allowForeignTraffic'],
  maxTrials: ['limits', 'maxTrials'],
  timeBudget: ['limits', 'timeBudgetSeconds'],
  loadTimeout: ['limits', 'loadTimeoutSeconds'],
  maxOutage: ['limits', 'maxOutageSeconds'],
  seed: ['seed'],
  trace: ['trace'],
  output: ['output'],
  grid: ['recording', 'grid'],
  levelValues: ['recording', 'levelValues'],
  repeats: ['recording', 'repeats'],
  latencyLimit: ['recording', 'latencyLimitMs'],
  window: ['recording', 'windowSeconds'],
  windows: ['recording', 'windows'],
};

/** The names of the options that describe a study. */
export const studyOptionNames: readonly string[] = [
  'serviceKind',
  ...Object.entries(places).flatMap(([name, [section]]) => (section === 'recording' ? [] : [name])),
];

/** Options for the same setting: one that is given replaces the others. */
const replaced: Readonly<Record<string, readonly (keyof typeof places)[]>> = {
  concurrency: ['requestRate'],
  requestRate: ['concurrency'],
  batch: ['batchSize'],
  batchSize: ['batch'],
  gpu: ['instanceType'],
  instanceType: ['gpu'],
  launchCommand: ['url', 'launch'],
  url: ['launchCommand', 'launch', 'serverArg', 'serverCpus', 'dockerArg', 'controlUrl', 'metricsUrl'],
  launch: ['url', 'controlUrl', 'metricsUrl'],
};

/**
 * Returns the study that the options describe. Options that are no part of a study, such as `ui`,
 * do not count. Errors: USAGE.
 */
export const specOf = (options: Options): StudySpec =>
  checkStudySpec(withOptions({}, options, Object.keys(options)), 'the command line');

/**
 * Returns the spec with the named options replacing its values. An undefined option leaves the spec
 * as it is. Errors: USAGE.
 */
export function changedSpec(spec: StudySpec, options: Options, named: Iterable<string>): StudySpec {
  const keys = [...named];
  const base = keys.reduce<JsonObject>(
    (json, key) => (replaced[key] ?? []).reduce((left, other) => without(left, places[other]), json),
    specToJson(spec),
  );
  return checkStudySpec(withOptions(base, options, keys), 'the command line');
}

function withOptions(base: JsonObject, options: Options, keys: readonly string[]): JsonObject {
  const fields = [
    // Our own option for the space takes precedence over the space of a Model Analyzer file.
    ...(keys.includes('modelAnalyzer') ? analyzerFields(options) : []),
    ...(keys.includes('serviceKind') ? fieldsOfKind(options) : []),
    ...keys.map((key): Field | null => {
      const place = Object.hasOwn(places, key) ? places[key as keyof typeof places] : undefined;
      return place ? [place, options[key as keyof Options] as Json | undefined] : null;
    }),
  ];
  const filled = fields.reduce<JsonObject>((json, field) => (field ? withField(json, field) : json), base);
  return keys.includes('set') ? (options.set ?? []).reduce(withChange, filled) : filled;
}

type Field = readonly [place: Place, value: Json | undefined];

/** The sections that make a spec one of this kind of service. */
function fieldsOfKind({ serviceKind, endpoint = 'openai' }: Options): readonly Field[] {
  if (serviceKind === 'http') return [[['http'], {}]];
  return serviceKind === 'openai' ? [[['server', 'endpoint'], endpoint]] : [];
}

/** The fields of a spec that a Model Analyzer file sets, in addition to the options. */
function analyzerFields({ modelAnalyzer }: Options): readonly Field[] {
  if (!modelAnalyzer) return [];
  const { file, ignored, space, levels, earlyExits } = modelAnalyzer;
  return [
    [['modelAnalyzer'], { file, ignored: ignored.map(({ key, reason }) => ({ key, reason })) }],
    [['space'], space],
    [['sampler', 'earlyExits'], earlyExits],
    [['levels', 'values'], levels],
  ];
}

function withField(json: JsonObject, [[section, field], value]: Field): JsonObject {
  if (value === undefined) return json;
  if (field === undefined) return { ...json, [section]: value };
  return { ...json, [section]: { ...fieldsOf(json[section]), [field]: value } };
}

function without(json: JsonObject, [section, field]: Place): JsonObject {
  if (field === undefined) return json;
  const { [field]: _, ...rest } = fieldsOf(json[section]);
  return { ...json, [section]: rest };
}

const fieldsOf = (value: Json | undefined): JsonObject => (value ?? {}) as JsonObject;
