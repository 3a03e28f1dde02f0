import { TrituneError } from '#base/errors.ts';
import { listed } from '#base/format.ts';
import type { Json, JsonObject } from '#base/json.ts';
import { type BlsCalls, modelsIn, type SeriesOptions, splitOwner } from './series-fields.ts';
import type { FlatStudyOptions } from './tune-options.ts';

/** Returns the calls by their callers; nothing for callers without calls. */
export const toCalls = (calls: readonly BlsCalls[], model: string): { readonly [caller: string]: readonly string[] } =>
  Object.fromEntries(
    [...Map.groupBy(calls, ({ caller }) => caller ?? model)].flatMap(([caller, each]) => {
      const called = [...new Set(each.flatMap(({ models }) => models))];
      return called.length > 0 ? [[caller, called]] : [];
    }),
  );

/**
 * Returns the options of the single study of models that share a server: the options of one model
 * by its name, together with those of all. Errors: USAGE for an option of a model that is not among
 * them.
 */
export function togetherOptions(series: SeriesOptions): Partial<FlatStudyOptions> {
  const {
    model: _,
    modelOptions: all,
    space,
    candidates,
    constraint,
    inputData,
    shape,
    latencyBudget = [],
    ...rest
  } = series;
  const { blsComposing, ...common } = rest;
  const models = [...new Set([...modelsIn(series), ...(series.together ?? [])])];
  const [first = ''] = models;
  // No file of a study can hold shares or budgets under this name.
  if (models.includes('__proto__'))
    throw new TrituneError('USAGE', "'__proto__' cannot be tuned together with other models", 'tune it alone, with -m');
  for (const named of [...latencyBudget.flatMap((each) => each.model ?? []), ...Object.keys(series.mix ?? {})])
    checkNamed(named, models);
  const inputs = byOwner(inputData, models);
  const spaces = byOwner(space, models);
  const shapes = Map.groupBy(Object.entries(shape ?? {}), ([name]) => splitOwner(name, models).owner);
  const readShapes = (owner: string | null): FlatStudyOptions['shape'] =>
    Object.fromEntries((shapes.get(owner) ?? []).map(([name, dims]) => [splitOwner(name, models).text, dims]));
  const requests = models.flatMap((name) => {
    const requests = {
      ...present('inputData', inputs.get(name)),
      ...(shapes.has(name) && { shape: readShapes(name) }),
    };
    return Object.keys(requests).length > 0 ? [[name, requests] as const] : [];
  });
  const budgets = latencyBudget.flatMap(({ model, latencyMs }) =>
    model === null ? [] : [[model, latencyMs] as const],
  );
  const options = all && Object.hasOwn(all, first) ? all[first] : {};
  return {
    ...common,
    ...options,
    model: first,
    together: models,
    ...present('blsComposing', blsComposing ? toCalls(blsComposing, first) : options?.blsComposing),
    ...present('space', findSpace(spaces)),
    ...present('candidates', candidates?.at(-1)),
    ...present(
      'constraint',
      constraint?.map((text) => aboutModel(text, models)),
    ),
    ...present('inputData', inputs.get(null)),
    ...(shapes.has(null) && { shape: readShapes(null) }),
    ...present('latencyBudget', latencyBudget.findLast(({ model }) => model === null)?.latencyMs),
    ...(requests.length > 0 && { modelRequests: Object.fromEntries(requests) }),
    ...(budgets.length > 0 && { modelBudgets: Object.fromEntries(budgets) }),
  };
}

function byOwner(texts: readonly string[] | undefined, models: readonly string[]): Map<string | null, string[]> {
  const owned = (texts ?? []).map((text) => splitOwner(text, models));
  return new Map(
    [...Map.groupBy(owned, ({ owner }) => owner)].map(([owner, all]) => [owner, all.map(({ text }) => text)]),
  );
}

/** Errors: USAGE for a space of all models together with those of some. */
function findSpace(spaces: ReadonlyMap<string | null, readonly string[]>): string | JsonObject | undefined {
  const whole = spaces.get(null)?.at(-1);
  const members = [...spaces].flatMap(([owner, files]) => (owner === null ? [] : [[owner, files.at(-1) as Json]]));
  if (members.length === 0) return whole;
  if (whole === undefined) return { members: Object.fromEntries(members) };
  const hint = 'give each model its own with --space MODEL=FILE, or one for all';
  throw new TrituneError(
    'USAGE',
    `there is a search space for all models, ${whole}, and others for single models`,
    hint,
  );
}

/** `a=latency<=10` becomes a constraint on `latency@a`. */
function aboutModel(text: string, models: readonly string[]): string {
  const { owner, text: constraint } = splitOwner(text, models);
  return owner === null ? text : constraint.replace(/^\s*[\w-]+/, (metric) => `${metric}@${owner}`);
}

function checkNamed(model: string, models: readonly string[]): void {
  if (models.includes(model)) return;
  const hint = `use one of ${listed(models)}`;
  throw new TrituneError('USAGE', `'${model}' is not among the models that are tuned together`, hint);
}

/** Returns the field, or nothing without a value: an option that was not given has no key. */
const present = <K extends string, T>(key: K, value: T | undefined): { [P in K]?: T } =>
  (value === undefined ? {} : { [key]: value }) as { [P in K]?: T };
