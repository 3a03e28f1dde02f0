import type { AdapterDefinition } from '#adapter/definition.ts';
import { TrituneError } from '#base/errors.ts';
import { checkFree } from '#base/run-files.ts';
import { DOCUMENT_NAMES } from '#report/write-run.ts';
import { toCombination } from '#spec/combination-of.ts';
import { checkCombination } from '#spec/combinations.ts';
import type { StudySpec } from '#spec/study-spec.ts';
import type { Metric } from '#study/goal/metrics/metric.ts';
import { builtInMetrics, type Metrics } from '#study/goal/metrics/registry.ts';
import { foldStudy } from '#study/records/fold.ts';
import { createJournal, resumeJournal } from '#study/records/journal.ts';
import type { StudyStarted } from '#study/records/records.ts';
import { type SamplerDefinition, toKind } from '#study/search/samplers/registry.ts';
import { admitRun, type Trust } from '../admit-run.ts';
import type { TypedOptions } from '../control-target.ts';
import { journalToWrite, prepareOutput } from '../run-directory.ts';
import { effectsOfResuming } from '../run-effects.ts';
import { checkAdapter } from '../server/check-adapter.ts';
import { commandLineWithoutValues, readHeaders, withoutSecretValues } from '../server/headers.ts';
import { findAdapter } from '../target/find-adapter.ts';
import { toTarget } from '../target/target-of.ts';
import { withPrices } from './cost-terms.ts';
import { findSampler } from './find-sampler.ts';
import { chooseLevels, toGoal } from './goal.ts';
import { readPriors } from './read-priors.ts';
import { checkSameWorkloads, readWorkloads, type StudiedWorkloads, withWorkloads } from './read-workloads.ts';
import { hasBegun, isSeries, occupied } from './series-directory.ts';
import type { OpenStudy } from './study.ts';

/** Errors: USAGE for options that do not work with workloads. */
function checkWorkloads(spec: StudySpec): void {
  if (!spec.workloads) return;
  const { levels, measurement, together, adapter } = spec;
  if (levels.concurrency) refuse('--concurrency', 'give --request-rate instead');
  if (levels.batch) refuse('--batch-size', 'set the batch of each class in the workload file');
  if (levels.requestDistribution !== 'constant')
    refuse('--request-distribution', 'leave it out: the workload file has the arrivals');
  if (measurement.stability !== 'interval')
    refuse('--stability', 'leave it out: a workload is measured over whole passes');
  if (together?.mix) refuse('--mix', 'set the weights of the classes in the workload file');
  if (adapter !== undefined) refuse('--adapter', 'use --request-rate instead: an adapter sends its own requests');
  if (spec.recording) refuse('recordings', 'record without --workload');
}

function refuse(what: string, hint: string): never {
  throw new TrituneError('USAGE', `--workload cannot be used with ${what}`, hint);
}

/** Values that a spec cannot hold. */
export interface BesideSpec {
  /** The sampler, if a program passes one; else the spec names it. */
  readonly sampler?: SamplerDefinition | undefined;
  /** The adapter, if a program passes one; else the spec has its path. */
  readonly adapter?: AdapterDefinition | undefined;
  /** Metrics in addition to the built-in ones. */
  readonly metrics?: readonly Metric[] | undefined;
  readonly commandLine?: readonly string[];
}

/** The words of the usual command that resumes a run. */
export const RESUME: readonly string[] = ['tune', '--resume'];

/**
 * How a person trusts a run that is resumed, with the options and the words of the command that
 * resumes it.
 */
export interface ResumeTrust extends Trust {
  readonly typed?: TypedOptions;
  readonly command?: readonly string[];
}

/** Returns how a person trusts what is resumed with these options. */
export const resumeTrust = (
  typed: TypedOptions,
  trustRun: boolean | undefined,
  trust: Omit<Trust, 'trustRun'>,
): ResumeTrust => ({
  typed,
  trustRun,
  tell: trust.tell,
  confirm: trust.confirm,
  advice: trust.advice,
});

/** Opens the output directory and the journal of a new study. Errors: USAGE, OUTPUT_*. */
export async function openStudy(studySpec: StudySpec, besideSpec: BesideSpec, wallMs: number): Promise<OpenStudy> {
  checkSpec(studySpec, metricsWith(besideSpec));
  const { spec, workloads } = await withWorkloads(studySpec);
  const parts = await readParts(spec, besideSpec, null, workloads);
  const priors = await readPriors(spec);
  const directory = await prepareOutput(spec.output, spec.model, wallMs);
  if (await isSeries(directory)) throw occupied(directory);
  if (!(await hasBegun(directory))) await checkFree(directory, DOCUMENT_NAMES);
  const journal = await createJournal(await journalToWrite(directory));
  const shown = commandLineWithoutValues(besideSpec.commandLine ?? [], spec.server);
  return { spec, ...parts, workloads, priors, directory, journal, earlier: [], started: null, commandLine: shown };
}

/**
 * Opens the study in a directory to continue it. `change` takes the spec in the journal and returns
 * the one to use. Errors: OUTPUT_LOCKED, JOURNAL_INVALID, RUN_UNTRUSTED, UNSUPPORTED for a study of
 * another kind of server, those of `change`.
 */
export async function resumeStudy(
  directory: string,
  change: (kept: StudySpec) => StudySpec,
  trust: ResumeTrust,
  besideSpec: BesideSpec = {},
): Promise<OpenStudy> {
  const metrics = metricsWith(besideSpec);
  const { typed = {}, command = RESUME } = trust;
  const admit = admitRun(directory, command, (run) => effectsOfResuming(run, typed), trust);
  const { journal, records } = await resumeJournal(await journalToWrite(directory), metrics, admit);
  try {
    const { started } = foldStudy(records);
    const spec = change(started.spec);
    const workloads = await readWorkloads(spec, started);
    const parts = await readParts(spec, besideSpec, started, workloads);
    checkAdapter(started, parts.target.name);
    checkSameWorkloads(started.workloads, workloads);
    const priors = await readPriors(spec, records);
    const kept = { journal, earlier: records, started, commandLine: started.commandLine };
    return { spec, ...parts, workloads, priors, directory, ...kept };
  } catch (error) {
    await journal.close();
    throw error;
  }
}

type Parts = Pick<OpenStudy, 'sampler' | 'target' | 'metrics'>;

/** Returns the parts of a study that users may supply. Errors: USAGE, INPUT_INVALID. */
async function readParts(
  spec: StudySpec,
  besideSpec: BesideSpec,
  started: StudyStarted | null,
  workloads: StudiedWorkloads | null,
): Promise<Parts> {
  const adapter = besideSpec.adapter ?? (spec.adapter === undefined ? undefined : await findAdapter(spec.adapter));
  return {
    target: toTarget({ spec, started, workloads }, adapter),
    sampler: besideSpec.sampler ? toKind(besideSpec.sampler) : await findSampler(spec, adapter !== undefined),
    metrics: metricsWith(besideSpec),
  };
}

const metricsWith = ({ metrics = [] }: BesideSpec): Metrics =>
  metrics.length === 0 ? builtInMetrics : builtInMetrics.with(...metrics);

/**
 * Checks a spec for faults that do not depend on the server. Errors: USAGE, INPUT_INVALID for a
 * file of headers.
 */
export function checkSpec(spec: StudySpec, metrics?: Metrics): void {
  toGoal(spec, metrics);
  chooseLevels(spec);
  readHeaders(spec.server);
  checkCombination(toCombination(spec));
  checkWorkloads(spec);
}

/** Returns the spec for the journal: without secrets, and with its prices instead of their file. */
export const recordedSpec = (spec: StudySpec): StudySpec => ({
  ...withPrices(spec),
  server: withoutSecretValues(spec.server),
});
