import { TrituneError } from '#base/errors.ts';
import { formatFigure, plainLine } from '#base/format.ts';
import { NS_PER_S } from '#base/units.ts';
import { MIN_REQUESTS } from '#explain/arrivals.ts';
import type { ServerWork } from '#explain/readings.ts';
import { readTracedRequests } from '../study/read-traces.ts';

/** When requests arrived at each model, in nanoseconds, rising. */
export type Arrivals = ReadonlyMap<string, Float64Array>;

/** The moment at which the server has read a request, on its way to the model. */
const ARRIVAL = 'REQUEST_START';

/**
 * Returns when the requests in trace files arrived, those to models of an ensemble included.
 * Errors: as `readTracedRequests`.
 */
export async function readArrivals(files: readonly string[]): Promise<Arrivals> {
  const { traces } = await readTracedRequests(files);
  const byModel = Map.groupBy(traces, ({ model }) => model);
  return new Map(
    [...byModel].map(([model, own]) => [
      model,
      Float64Array.from(own.flatMap(({ momentsNs }) => momentsNs.get(ARRIVAL) ?? [])).sort(),
    ]),
  );
}

/** Traces of fewer requests than this share of what the server counted are a sample of them. */
const MIN_TRACED = 0.5;

/**
 * Returns the work with the arrivals of each of these models that has enough of them. `tell`:
 * called for models with requests that the traces do not have. Errors: INPUT_INVALID for traces of
 * a part of the requests only, which are less bursty than all of them.
 */
export function withArrivals(
  work: ServerWork,
  arrivals: Arrivals,
  models: readonly string[],
  tell: (line: string) => void,
): ServerWork {
  return new Map(
    [...work].map(([model, served]) => {
      if (!models.includes(model)) return [model, served];
      const arrivalsNs = arrivals.get(model) ?? new Float64Array();
      const spanNs = (arrivalsNs.at(-1) ?? 0) - (arrivalsNs[0] ?? 0);
      const counted = (served.breakdown?.successCount ?? 0) / served.seconds;
      if (arrivalsNs.length < MIN_REQUESTS || spanNs === 0) {
        if (counted > 0) tell(`the traces have too few requests to '${plainLine(model, 80)}': ${arrivalsNs.length}`);
        return [model, served];
      }
      const traced = ((arrivalsNs.length - 1) * NS_PER_S) / spanNs;
      if (traced < MIN_TRACED * counted) {
        throw new TrituneError(
          'INPUT_INVALID',
          `the traces have ${formatFigure(traced)} requests/s to '${plainLine(model, 80)}', of which the server counted ${formatFigure(counted)}/s`,
          'trace every request (trace_rate 1), or leave out --trace-file',
        );
      }
      return [model, { ...served, arrivalsNs }];
    }),
  );
}
