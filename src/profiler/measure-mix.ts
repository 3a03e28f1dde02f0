import { lookUp } from '#base/look-up.ts';
import type { Interval } from '#stats/interval.ts';
import { clientFigures } from './client/client-figures.ts';
import { foreignTraffic } from './foreign-traffic.ts';
import { allOrNone } from './fronts/all-or-none.ts';
import { type FrontResult, measureFront } from './fronts/measure-front.ts';
import { MixProgress } from './fronts/mix-progress.ts';
import { type WatchOptions, withSurroundings } from './fronts/surroundings.ts';
import { toWhole } from './fronts/whole.ts';
import { defaultPrecision, type LevelOptions } from './level-options.ts';
import type { FrontMeasurement, Measurement } from './measurement.ts';

/** Options shared by fronts that are measured together. */
type Common = WatchOptions &
  Pick<LevelOptions, 'level' | 'signal' | 'percentile' | 'percentiles' | 'precision' | 'budgetMs'>;

/**
 * Each front's own options: its part of the level, its requests, and its senders. Its own budget
 * replaces the overall one.
 */
export type FrontOptions = Omit<LevelOptions, Exclude<keyof Common, 'level' | 'budgetMs'>>;

/**
 * Measures several models at the same time, each at its part of the level. Counting begins once all
 * are warm, and all requests continue until every model has been counted enough. The figures cover
 * all requests together; `fronts` has those of each model. The budget of the options applies to the
 * whole. An error in one front ends all of them. Errors: as `measureLevel`.
 */
export function measureMix(options: Common, fronts: readonly FrontOptions[]): Promise<Measurement> {
  const { precision = defaultPrecision, budgetMs } = options;
  return withSurroundings(options, fronts.length, async ({ gates, devices, use }) => {
    const progress = new MixProgress(fronts.map(({ requests }) => requests.model));
    const results = await allOrNone(options.signal, fronts, (front, signal, index) => {
      const levelOptions: LevelOptions = { ...options, ...front, signal };
      return measureFront(levelOptions, gates, (step) => {
        devices.readIfDue();
        const whole = progress.after(index, step);
        if (whole) options.onProgress?.(whole);
      });
    });
    const client = await clientFigures(use(), results);
    const whole = toWhole(results, options);
    const foreign = foreignTraffic(results.flatMap(({ atRest }) => atRest));
    const isDecided = budgetMs !== undefined && !client.starved && results.some(({ figures }) => figures.budgetVerdict);
    return {
      ...whole,
      ...(isDecided && verdictOn(whole.budgetLatencyMs, budgetMs, precision)),
      ...longestFirstAnswers(results),
      ...foreign,
      client,
      fronts: results.map((result) => frontMeasurement(result, foreign)),
    };
  });
}

function longestFirstAnswers(results: readonly FrontResult[]): Pick<Measurement, 'firstAnswersMs'> {
  const times = results.flatMap(({ frontFigures }) => frontFigures.firstAnswersMs ?? []);
  return times.length > 0 ? { firstAnswersMs: Math.max(...times) } : {};
}

/** Returns the verdict on the budget if the percentile is clearly on one side of it. */
function verdictOn({ low, high }: Interval, budgetMs: number, precision: number): Pick<Measurement, 'budgetVerdict'> {
  if (low > budgetMs * (1 + precision)) return { budgetVerdict: 'missed' };
  return high < budgetMs * (1 - precision) ? { budgetVerdict: 'met' } : {};
}

function frontMeasurement(
  {
    frontFigures: own,
    options: {
      requests: { model },
    },
  }: FrontResult,
  { foreignByModel = {} }: Pick<Measurement, 'foreignByModel'>,
): FrontMeasurement {
  const foreign = lookUp(foreignByModel, model) ?? 0;
  return {
    model,
    level: own.level,
    throughput: own.throughput,
    ...(own.goodput && { goodput: own.goodput }),
    latencyMs: own.latencyMs,
    budgetLatencyMs: own.budgetLatencyMs,
    stable: own.stable,
    durationMs: own.durationMs,
    requests: own.requests,
    sendRate: own.sendRate,
    failures: own.failures,
    errorRate: own.errorRate,
    server: own.server,
    ...(own.serverNote !== undefined && { serverNote: own.serverNote }),
    ...(own.composing && { composing: own.composing }),
    ...(foreign > 0 && { foreignRequests: foreign }),
    ...(own.openLoop && { openLoop: own.openLoop }),
  };
}
