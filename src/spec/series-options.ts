import { TrituneError } from '#base/errors.ts';
import { listed } from '#base/format.ts';
import { lookUp } from '#base/look-up.ts';
import { modelsIn, type SeriesOptions, splitOwner } from './series-fields.ts';
import { checkSeriesSpec, type SeriesSpec } from './series-spec.ts';
import { toSpec } from './spec-of-options.ts';
import type { StudySpec } from './study-spec.ts';
import { toCalls, togetherOptions } from './together-options.ts';
import type { FlatStudyOptions } from './tune-options.ts';

/** Returns the series that the options describe. Errors: USAGE. */
export function toSeries(options: SeriesOptions): SeriesSpec {
  const { timeBudget, output, ...others } = options;
  const studies = modelsIn(options).map((model) => toSpec(optionsFor(others, model)));
  return checkSeriesSpec({ studies, timeBudgetSeconds: timeBudget, output }, 'the command line');
}

/**
 * Returns the study that the options describe, or the series if they name several models. Errors:
 * USAGE, also without a model.
 */
export function toStudyOrSeries(options: SeriesOptions): StudySpec | SeriesSpec {
  if (options.together) return toSpec(togetherOptions(options));
  const [model = options.serviceKind === 'http' ? 'service' : undefined, ...others] = modelsIn(options);
  if (model === undefined || model === '')
    throw new TrituneError(
      'USAGE',
      'the model is missing',
      'add -m MODEL, or run `tritune` alone, which asks for everything',
    );
  return others.length > 0 ? toSeries(options) : toSpec(optionsFor(options, model));
}

/**
 * Returns the options of one model's study: its own values, or else those for all. Errors: USAGE
 * for a budget of no model of the series.
 */
export function optionsFor(series: SeriesOptions, model: string | undefined): Partial<FlatStudyOptions> {
  const {
    model: _,
    space,
    candidates,
    constraint,
    inputData,
    shape,
    latencyBudget = [],
    modelOptions: all,
    ...rest
  } = series;
  const { blsComposing, ...common } = rest;
  const models = modelsIn(series);
  const stray = latencyBudget.find((budget) => budget.model !== null && !models.includes(budget.model));
  if (stray) {
    throw new TrituneError(
      'USAGE',
      `there is a latency budget for '${stray.model}', which is not tuned`,
      `the models are ${listed(models) || 'none'}`,
    );
  }
  const forModel = (texts: readonly string[] | undefined) => textsFor(texts, model, models);
  const lists = { constraint: forModel(constraint), inputData: forModel(inputData) };
  const last = { space: forModel(space)?.at(-1), candidates: forModel(candidates)?.at(-1) };
  const budget =
    latencyBudget.findLast((each) => each.model === model) ?? latencyBudget.findLast((each) => each.model === null);
  return {
    ...common,
    ...(model !== undefined && { model, ...pickModelOptions(all, model, budget === undefined) }),
    ...(blsComposing && model !== undefined && { blsComposing: toCalls(blsComposing, model) }),
    ...present({ ...lists, ...last, shape: shapesFor(shape, model, models), latencyBudget: budget?.latencyMs }),
  };
}

/** Returns a file's options of the model; without the percentile if the budget is another. */
function pickModelOptions(
  all: SeriesOptions['modelOptions'],
  model: string,
  keepsBudget: boolean,
): Partial<FlatStudyOptions> {
  const options = (lookUp(all, model) ?? {}) as Partial<FlatStudyOptions>;
  if (keepsBudget) return options;
  const { latencyBudget: _, percentile: __, ...rest } = options;
  return rest;
}

/**
 * Texts such as `b=FILE` apply to model b only; the part before any other '=' belongs to the text.
 */
function textsFor(
  texts: readonly string[] | undefined,
  model: string | undefined,
  models: readonly string[],
): readonly string[] | undefined {
  const owned = (texts ?? []).map((text) => splitOwner(text, models));
  const ofModel = owned.filter(({ owner }) => owner !== null && owner === model);
  const chosen = ofModel.length > 0 ? ofModel : owned.filter(({ owner }) => owner === null);
  return chosen.length > 0 ? chosen.map(({ text }) => text) : undefined;
}

/** A model's own shapes, together with those for all. */
function shapesFor(
  shapes: FlatStudyOptions['shape'],
  model: string | undefined,
  models: readonly string[],
): FlatStudyOptions['shape'] {
  const owned = Object.entries(shapes ?? {}).map(([name, dims]) => ({ ...splitOwner(name, models), dims }));
  const common = owned.filter(({ owner }) => owner === null);
  const ofModel = owned.filter(({ owner }) => owner !== null && owner === model);
  const chosen = [...common, ...ofModel].map(({ text, dims }) => [text, dims] as const);
  return chosen.length > 0 ? Object.fromEntries(chosen) : undefined;
}

/** Returns the fields without the undefined ones: an option that was not given has no key. */
function present<T extends object>(fields: T): { [K in keyof T]?: NonNullable<T[K]> } {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as {
    [K in keyof T]?: NonNullable<T[K]>;
  };
}
