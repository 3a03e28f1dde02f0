import type { Json, JsonObject } from '#base/json.ts';
import { type FlatDocument, type OptionPlace, placesIn } from './flat-options.ts';
import { type SpecChange, withChange } from './spec-change.ts';
import { checkStudySpec, type StudySpec, specToJson, studySpec } from './study-spec.ts';
import { type FlatStudyOptions, optionNames, type RecordingOptions } from './tune-options.ts';

/** Options of a study. `set`: changes of its spec, which take precedence over the other options. */
type Options = Partial<FlatStudyOptions & RecordingOptions> & { readonly set?: readonly SpecChange[] };

/** A study as `--set` reaches it. */
export const studyDocument: FlatDocument = {
  name: 'study',
  schema: studySpec,
  names: optionNames,
  page: 'docs/reference/study-spec.md',
};

const places = placesIn(studySpec, optionNames);

/** The names of the options that describe a study. */
export const studyOptionNames: readonly string[] = [
  'serviceKind',
  ...[...places].flatMap(([name, [section]]) => (section === 'recording' ? [] : [name])),
];

/** Options for the same setting: one that is given replaces the others. */
const replaced: Readonly<Record<string, readonly (keyof FlatStudyOptions)[]>> = {
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
export const toSpec = (options: Options): StudySpec =>
  checkStudySpec(withOptions({}, options, Object.keys(options)), 'the command line');

/**
 * Returns the spec with the named options replacing its values. An undefined option leaves the spec
 * as it is. Errors: USAGE.
 */
export function changedSpec(spec: StudySpec, options: Options, named: Iterable<string>): StudySpec {
  const keys = [...named];
  const base = keys.reduce<JsonObject>(
    (json, key) => (replaced[key] ?? []).reduce((left, other) => without(left, places.get(other)), json),
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
      const place = places.get(key);
      return place ? [place, options[key as keyof Options] as Json | undefined] : null;
    }),
  ];
  const filled = fields.reduce<JsonObject>((json, field) => (field ? withField(json, field) : json), base);
  return keys.includes('set') ? (options.set ?? []).reduce(withChange, filled) : filled;
}

type Field = readonly [place: OptionPlace, value: Json | undefined];

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
  return { ...json, [section]: { ...toFields(json[section]), [field]: value } };
}

function without(json: JsonObject, [section = '', field]: OptionPlace | [] = []): JsonObject {
  if (field === undefined) return json;
  const { [field]: _, ...rest } = toFields(json[section]);
  return { ...json, [section]: rest };
}

const toFields = (value: Json | undefined): JsonObject => (value ?? {}) as JsonObject;
