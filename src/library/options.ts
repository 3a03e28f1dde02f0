import type { AdapterDefinition } from '#adapter/definition.ts';
import { TrituneError } from '#base/errors.ts';
import { changedSpec, studyOptionNames, toSpec } from '#spec/spec-of-options.ts';
import { checkStudySpec, type StudySpec, type StudySpecInput } from '#spec/study-spec.ts';
import type { FlatStudyOptions } from '#spec/tune-options.ts';
import type { Metric } from '#study/goal/metrics/metric.ts';
import type { SamplerDefinition } from '#study/search/samplers/registry.ts';

/**
 * The options of `tune`: those of `tritune tune`, with the same names in camelCase, as values
 * instead of texts. `latencyBudget` is in milliseconds, `timeBudget` in seconds, and ranges are
 * `{ low, high }`. Defaults are those of the command line. Every study needs a `model`, a `spec`,
 * or a directory to `resume`.
 */
export interface TuneOptions extends Partial<Omit<FlatStudyOptions, 'sampler' | 'adapter' | 'modelAnalyzer'>> {
  /** The name of a built-in sampler, the path of a module that exports one, or a sampler. */
  readonly sampler?: string | SamplerDefinition;
  /** The study as one value, as in a file for `--spec`; other options take precedence. */
  readonly spec?: StudySpecInput;
  /**
   * For a server that is not Triton: the path of a module that exports an adapter, or an adapter.
   */
  readonly adapter?: string | AdapterDefinition;
  /** Your own metrics, which constraints and objectives may name like the built-in ones. */
  readonly metrics?: readonly Metric[];
  /** Directory of a study to continue. */
  readonly resume?: string;
  /**
   * Resume a study that this user did not start on this machine; `onNote` is called with what it
   * does. Else that is refused with RUN_UNTRUSTED.
   */
  readonly trustRun?: boolean;
}

/** The given options by name, and the sampler if the caller passed one. */
export interface CheckedOptions {
  readonly options: Partial<FlatStudyOptions>;
  readonly named: readonly string[];
  readonly sampler: SamplerDefinition | undefined;
  readonly adapter: AdapterDefinition | undefined;
}

/**
 * Returns the options without undefined ones. Errors: USAGE for an unknown option, for programs
 * without types.
 */
export function checkOptions(
  { resume, trustRun: _trust, spec, sampler, adapter, metrics: _, ...rest }: TuneOptions,
  of = 'tune()',
): CheckedOptions {
  const options = Object.fromEntries(Object.entries(rest).filter(([, value]) => value !== undefined));
  for (const name of Object.keys(options)) {
    if (studyOptionNames.includes(name)) continue;
    throw new TrituneError('USAGE', `${of} has no option '${name}'`, 'see docs/library.md for its options');
  }
  const definition = typeof sampler === 'object' ? sampler : undefined;
  const byName = typeof sampler === 'string' ? sampler : resume === undefined ? definition?.name : undefined;
  const all = {
    ...options,
    ...(byName !== undefined && { sampler: byName }),
    ...(typeof adapter === 'string' && { adapter }),
  };
  const ownAdapter = typeof adapter === 'object' ? adapter : undefined;
  return { options: all, named: Object.keys(all), sampler: definition, adapter: ownAdapter };
}

/** Returns the study spec of a new study. Errors: USAGE. */
export function specIn({ spec }: Pick<TuneOptions, 'spec'>, { options, named }: CheckedOptions): StudySpec {
  if (spec !== undefined) return changedSpec(checkStudySpec(spec, 'the spec'), options, named);
  if (!options.model) throw new TrituneError('USAGE', 'the model is missing', 'give its name as model');
  return toSpec(options);
}
