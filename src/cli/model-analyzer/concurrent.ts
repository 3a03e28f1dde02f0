import type { JsonObject } from '#base/json.ts';
import type { FlatStudyOptions, NumberRange } from '#spec/tune-options.ts';
import type { Ignore } from './schema.ts';

/** One of the models that are profiled at the same time, with its options as if tuned alone. */
export interface Concurrent {
  readonly name: string;
  readonly weighting: number | undefined;
  readonly options: Partial<FlatStudyOptions>;
}

type Options = Partial<FlatStudyOptions>;

/** Figures of the whole server, which belong to no single model. */
const SHARED = /^gpu-/;
const PERCENTILE = 99;

/**
 * Returns one study of the models that are profiled at the same time. Each model's goals only
 * concern that model, and `weighting` sets its weight. They share one level, whereas Model Analyzer
 * gives each its own.
 */
export function concurrentStudy(models: readonly Concurrent[], ignore: Ignore): Options {
  const [first] = models as [Concurrent, ...Concurrent[]];
  const each = <T>(of: (options: Options) => T | undefined): { [model: string]: T } =>
    Object.fromEntries(
      models.flatMap(({ name, options }) => {
        const value = of(options);
        return value === undefined ? [] : [[name, value] as const];
      }),
    );
  const { percentile = PERCENTILE } = models.find(({ options }) => options.latencyBudget !== undefined)?.options ?? {};
  const isBudget = (options: Options): boolean => (options.percentile ?? PERCENTILE) === percentile;
  const budgets = each((options) => (isBudget(options) ? options.latencyBudget : undefined));
  const constraint = models.flatMap(({ name, options }) => [
    ...(options.constraint ?? []).map((text) => ofModel(text, name)),
    ...(options.latencyBudget !== undefined && !isBudget(options)
      ? [`latency-p${options.percentile}@${name}<=${options.latencyBudget}`]
      : []),
  ]);
  const isWeighted = models.some(({ weighting, options }) => weighting !== undefined || options.objective);
  const objective = models.flatMap(({ name, weighting = 1, options }) => listObjectives(options, name, weighting));
  for (const { name, options } of models) {
    if (options.batch !== first.options.batch || options.batchSize)
      ignore(
        `profile_models.${name}.parameters.batch_sizes`,
        'models that are tuned together have requests of one size',
      );
  }
  const {
    latencyBudget: _,
    percentile: __,
    constraint: ___,
    objective: ____,
    batchSize: _____,
    ...common
  } = first.options;
  const levels = first.options.modelAnalyzer?.levels;
  const members = each(({ modelAnalyzer }) => modelAnalyzer?.space);
  return {
    ...common,
    together: models.map(({ name }) => name),
    percentile,
    ...chooseLevels(models),
    modelRequests: each(({ inputData, shape, stringData, stringLength, requestParameter }) =>
      present({ inputData, shape, stringData, stringLength, requestParameter }),
    ),
    ...(Object.keys(budgets).length > 0 && { modelBudgets: budgets }),
    ...(constraint.length > 0 && { constraint }),
    ...(isWeighted && { objective }),
    ...(common.modelAnalyzer && {
      modelAnalyzer: {
        ...common.modelAnalyzer,
        space: { members } as JsonObject,
        ...(levels && { levels: levels.map((level) => level * models.length) }),
      },
    }),
  };
}

/** Returns the model's objectives, whose weights add up to its weighting. */
function listObjectives(
  { objective = ['throughput:1'] }: Options,
  model: string,
  weighting: number,
): readonly string[] {
  const parsed = objective.map((text) => text.split(':') as [string, string?]);
  const sum = parsed.reduce((total, [, weight = '1']) => total + Number(weight), 0);
  return parsed.map(([metric, weight = '1']) => {
    const share = Number(((weighting * Number(weight)) / sum).toPrecision(6));
    return `${SHARED.test(metric) ? metric : `${metric}@${model}`}:${share}`;
  });
}

const ofModel = (constraint: string, model: string): string =>
  SHARED.test(constraint) ? constraint : constraint.replace(/^[\w-]+/, (metric) => `${metric}@${model}`);

/** Returns the common level: the sum of the requests for each. */
function chooseLevels(models: readonly Concurrent[]): Pick<Options, 'concurrency' | 'requestRate'> {
  const sum = (ranges: readonly (NumberRange | undefined)[]): NumberRange | undefined =>
    ranges.reduce((total, range) => total && range && { low: total.low + range.low, high: total.high + range.high });
  const concurrency = sum(models.map(({ options }) => options.concurrency));
  const requestRate = sum(models.map(({ options }) => options.requestRate));
  return { ...(concurrency && { concurrency }), ...(requestRate && !concurrency && { requestRate }) };
}

/** Returns undefined if nothing is given. */
function present<T extends object>(fields: T): Partial<T> | undefined {
  const stated = Object.entries(fields).filter(([, value]) => value !== undefined);
  return stated.length > 0 ? (Object.fromEntries(stated) as Partial<T>) : undefined;
}
