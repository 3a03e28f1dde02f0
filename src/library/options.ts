import type { AdapterDefinition } from '../adapter/definition.ts';
import { TrituneError } from '../base/errors.ts';
import { changedSpec, specOf, studyOptionNames } from '../spec/spec-of-options.ts';
import { checkStudySpec, type StudySpec, type StudySpecInput } from '../spec/study-spec.ts';
import type { TuneOptions as StudyOptions } from '../spec/tune-options.ts';
import type { Metric } from '../study/goal/metrics/metric.ts';
import type { SamplerDefinition } from '../study/search/samplers/registry.ts';

/**
 * What `tune` takes: the options of `tritune tune`, under the same names in camelCase, as values in place of texts:
 * `latencyBudget` is in milliseconds, `timeBudget` in seconds, ranges are `{ low, high }`. An option that is left out is
 * as on the command line. Every study needs a `model`, a `spec`, or a directory to `resume`.
 */
export interface TuneOptions extends Partial<Omit<StudyOptions, 'sampler' | 'adapter' | 'modelAnalyzer'>> {
  /** A built-in sampler by its name, the path of a module that exports one, or a sampler itself. */
  readonly sampler?: string | SamplerDefinition;
  /** The study as one value, as a file for `--spec` has it; options beside it come before it. */
  readonly spec?: StudySpecInput;
  /** What opens a server that is no Triton: the path of a module that exports an adapter, or an adapter itself. */
  readonly adapter?: string | AdapterDefinition;
  /** Metrics of your own, beside the built-in ones, that constraints and objectives may name. */
  readonly metrics?: readonly Metric[];
  /** Go on with the study in this directory. */
  readonly resume?: string;
}

/** What was asked for: options by name, and the sampler where the caller gave it itself. */
export interface Asked {
  readonly options: Partial<StudyOptions>;
  readonly named: readonly string[];
  readonly sampler: SamplerDefinition | undefined;
  readonly adapter: AdapterDefinition | undefined;
}

/** The options without those that are undefined. Errors: USAGE for an option that does not exist: a program without types finds out here. */
export function askedOf({ resume, spec, sampler, adapter, metrics: _, ...given }: TuneOptions): Asked {
  const options = Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined));
  for (const name of Object.keys(options)) {
    if (studyOptionNames.includes(name)) continue;
    throw new TrituneError('USAGE', `tune() has no option '${name}'`, 'see docs/library.md for its options');
  }
  const own = typeof sampler === 'object' ? sampler : undefined;
  const byName = typeof sampler === 'string' ? sampler : resume === undefined ? own?.name : undefined;
  const all = {
    ...options,
    ...(byName !== undefined && { sampler: byName }),
    ...(typeof adapter === 'string' && { adapter }),
  };
  const ownAdapter = typeof adapter === 'object' ? adapter : undefined;
  return { options: all, named: Object.keys(all), sampler: own, adapter: ownAdapter };
}

/** The study that is asked for anew. Errors: USAGE. */
export function specIn({ spec }: Pick<TuneOptions, 'spec'>, { options, named }: Asked): StudySpec {
  if (spec !== undefined) return changedSpec(checkStudySpec(spec, 'the spec'), options, named);
  if (!options.model) throw new TrituneError('USAGE', 'the model is missing', 'give its name as model');
  return specOf(options);
}
