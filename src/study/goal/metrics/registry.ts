import { TrituneError } from '#base/errors.ts';
import { didYouMean } from '#base/nearest.ts';
import type { Measurement } from '#profiler/measurement.ts';
import type { Candidate } from '#space/types.ts';
import type { CostTerms } from '../../records/goal-schema.ts';
import { builtInEntries } from './built-in.ts';
import { listColumns } from './columns.ts';
import { metricsByPrices } from './cost-metrics.ts';
import type { Metric } from './metric.ts';
import { metricOfModel, partsOfName } from './of-model.ts';

/** The characters that constraints and objectives can hold as text (`goal-text.ts`). */
const NAME = /^[A-Za-z][\w-]*$/;
const UNIT = /^[A-Za-z%/]+$/;

/**
 * The metrics that a study knows, by name. A value without state: a goal carries its own
 * (`Goal.metrics`), and there is no global list. It has no enumerable fields and no JSON, so that a
 * goal in a journal holds names only.
 */
export class Metrics {
  readonly #byName: ReadonlyMap<string, Metric>;
  /** Metrics of one model, created on demand. */
  readonly #ofModels = new Map<string, Metric>();

  /**
   * Errors: USAGE for an entry with a name that cannot be written, or two entries that share a name
   * or a column.
   */
  constructor(entries: readonly Metric[]) {
    for (const entry of entries) check(entry);
    const twice =
      repeated(entries.map(({ name }) => name)) ?? repeated(entries.flatMap(listColumns).map(({ name }) => name));
    if (twice !== undefined) throw new TrituneError('USAGE', `there are two metrics '${twice}'`, 'rename one of them');
    this.#byName = new Map(entries.map((entry) => [entry.name, entry]));
  }

  /** Returns the entries in their order. */
  get all(): readonly Metric[] {
    return [...this.#byName.values()];
  }

  /** Returns the names in the order of the entries. */
  get names(): readonly string[] {
    return [...this.#byName.keys()];
  }

  /** True if the metric exists; `METRIC@MODEL` is the one of a model among several. */
  has(name: string): boolean {
    const { base, model } = partsOfName(name);
    return model === undefined ? this.#byName.has(base) : this.#isOfModel(base, model);
  }

  /**
   * Returns the entry of that name, or that of one model for `METRIC@MODEL`. Errors: USAGE where
   * there is none.
   */
  named(name: string): Metric {
    const { base, model } = partsOfName(name);
    const metric = this.#byName.get(base);
    if (!metric)
      throw new TrituneError(
        'USAGE',
        `there is no metric '${base}'${didYouMean(base, this.names)}`,
        `the metrics are ${this.names.join(', ')}`,
      );
    if (model === undefined) return metric;
    if (!this.#isOfModel(base, model)) throw notOfModel(metric, model);
    const made = this.#ofModels.get(name) ?? metricOfModel(metric, model);
    this.#ofModels.set(name, made);
    return made;
  }

  #isOfModel(base: string, model: string): boolean {
    const metric = this.#byName.get(base);
    return metric !== undefined && !metric.ofServer && model !== '';
  }

  /**
   * Returns the value if the measurement has a finite one, else undefined: never a zero instead of
   * a missing value. Errors: USAGE.
   */
  read(name: string, measurement: Measurement, candidate: Candidate): number | undefined {
    const value = this.named(name).read(measurement, candidate);
    return typeof value === 'number' && Number.isFinite(value) ? value : undefined;
  }

  /**
   * Returns a registry with these entries added after its own. Errors: USAGE, as the constructor.
   */
  with(...more: readonly Metric[]): Metrics {
    return new Metrics([...this.all, ...more]);
  }

  /**
   * Returns a registry with these entries replacing those of the same names. Errors: USAGE, as the
   * constructor.
   */
  replacing(entries: readonly Metric[]): Metrics {
    const byName = new Map(entries.map((entry) => [entry.name, entry]));
    return new Metrics(this.all.map((entry) => byName.get(entry.name) ?? entry));
  }

  /** Leaves the registry out of JSON. */
  toJSON(): undefined {
    return undefined;
  }
}

/** The metrics that a study knows by default. */
export const builtInMetrics = new Metrics(builtInEntries);

/** Returns the registry that defines the names of a goal, with its prices if it has some. */
export function toMetrics({
  metrics = builtInMetrics,
  cost,
}: {
  readonly metrics?: Metrics | undefined;
  readonly cost?: CostTerms | undefined;
}): Metrics {
  if (!cost) return metrics;
  const byTerms = priced.get(metrics) ?? new WeakMap<CostTerms, Metrics>();
  const known = byTerms.get(cost) ?? metrics.replacing(metricsByPrices(cost));
  priced.set(metrics, byTerms.set(cost, known));
  return known;
}

const priced = new WeakMap<Metrics, WeakMap<CostTerms, Metrics>>();

function check({ name, units }: Metric): void {
  const unit = Object.keys(units).find((each) => !UNIT.test(each));
  if (NAME.test(name) && unit === undefined) return;
  throw new TrituneError(
    'USAGE',
    unit === undefined ? `'${name}' cannot name a metric` : `'${unit}' cannot be a unit of ${name}`,
    'names are letters, digits and hyphens; units are letters, % and /',
  );
}

const notOfModel = ({ name, ofServer }: Metric, model: string): TrituneError =>
  ofServer && model !== ''
    ? new TrituneError('USAGE', `${name} is a figure of the whole server, not of '${model}'`, `write ${name}`)
    : new TrituneError('USAGE', `'${name}@' names no model`, `write ${name}@MODEL`);

function repeated(names: readonly string[]): string | undefined {
  return names.find((name, index) => names.indexOf(name) !== index);
}
