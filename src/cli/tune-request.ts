import { TrituneError } from '../base/errors.ts';
import type { JsonObject } from '../base/json.ts';
import { foldStudy } from '../study/fold.ts';
import { parseConstraint, parseObjective } from '../study/goal-text.ts';
import { createJournal, type Journal, resumeJournal } from '../study/journal.ts';
import type { StudyRecord, StudyStarted } from '../study/records.ts';
import type { Goal, LevelRange } from '../study/types.ts';
import { headerFlagNames, headersOf, withHeadersAgain, withoutHeaderValues } from './header-options.ts';
import { prepareOutput, studyFiles } from './output-directory.ts';
import { isSeries, occupied } from './series-directory.ts';
import { tlsFlagNames } from './tls-options.ts';
import type { TuneOptions } from './tune-options.ts';

/** What is to be done: the options in force, where it is written down, and what an earlier run has written. */
export interface TuneRequest {
  readonly options: TuneOptions;
  readonly model: string;
  readonly directory: string;
  readonly journal: Journal;
  readonly earlier: readonly StudyRecord[];
  /** Of the study that is resumed, else null. */
  readonly started: StudyStarted | null;
  /** What is written down as such; that of the process when not given. */
  readonly commandLine?: readonly string[];
}

/** What may be said anew when a study is resumed: where the server is, when to stop, what to show. */
const resumable: ReadonlySet<keyof TuneOptions> = new Set([
  'resume',
  'url',
  'controlUrl',
  'metricsUrl',
  'launch',
  ...tlsFlagNames,
  'leastGain',
  'maxTrials',
  'timeBudget',
  'allowForeignTraffic',
  'protect',
  'loadTimeout',
  'maxOutage',
  'ui',
  'verbose',
  // Their values are not in the journal; the names must be those that are.
  ...headerFlagNames,
]);

/** Opens the output directory, and with `--resume` the study in it. Errors: USAGE, OUTPUT_*, JOURNAL_INVALID. */
export async function openRequest(
  options: TuneOptions,
  given: ReadonlySet<keyof TuneOptions>,
  wallMs: number,
): Promise<TuneRequest> {
  return options.resume === undefined ? newRequest(options, wallMs) : resumedRequest(options, given, options.resume);
}

async function newRequest(options: TuneOptions, wallMs: number): Promise<TuneRequest> {
  const model = modelOf(options);
  checkOptions(options);
  const directory = await prepareOutput(options.output, model, wallMs);
  if (await isSeries(directory)) throw occupied(directory);
  const journal = await createJournal(studyFiles(directory).journal);
  return { options, model, directory, journal, earlier: [], started: null };
}

async function resumedRequest(
  options: TuneOptions,
  given: ReadonlySet<keyof TuneOptions>,
  directory: string,
): Promise<TuneRequest> {
  checkResumable(given);
  const { journal, records } = await resumeJournal(studyFiles(directory).journal);
  try {
    const { started } = foldStudy(records);
    const kept = started.options as unknown as TuneOptions;
    const anew = Object.fromEntries([...given].map((key) => [key, options[key]]));
    return {
      options: { ...withHeadersAgain(kept, options), ...anew },
      model: started.model,
      directory,
      journal,
      earlier: records,
      started,
    };
  } catch (error) {
    await journal.close();
    throw error;
  }
}

/** Errors: USAGE for options that a resumed study keeps as they were. */
export function checkResumable(given: ReadonlySet<keyof TuneOptions>): void {
  const fixed = [...given].filter((key) => !resumable.has(key));
  if (fixed.length === 0) return;
  throw new TrituneError(
    'USAGE',
    `a resumed study keeps its ${fixed.join(', ')}`,
    `leave that out, or start a new study; --resume goes with ${[...resumable].slice(1).join(', ')}`,
  );
}

/** Errors: USAGE for what is wrong with the options whatever the server is. */
export function checkOptions(options: TuneOptions): void {
  goalOf(options);
  levelsOf(options);
  headersOf(options);
}

/** The model that the options name. Errors: USAGE. */
export function modelOf(options: TuneOptions): string {
  if (options.model !== undefined && options.model !== '') return options.model;
  throw new TrituneError('USAGE', 'which model?', 'name it with -m MODEL');
}

/** The options as the journal keeps them. */
export const recordedOptions = (options: TuneOptions): JsonObject =>
  JSON.parse(JSON.stringify(withoutHeaderValues(options))) as JsonObject;

/** Errors: USAGE for a metric that there is none of, or a text that is no constraint or objective. */
export function goalOf(options: TuneOptions): Goal {
  const { latencyBudget, percentile } = options;
  return {
    budget: latencyBudget === undefined ? null : { percentile, latencyMs: latencyBudget },
    constraints: (options.constraint ?? []).map(parseConstraint),
    objectives: (options.objective ?? ['throughput']).map(parseObjective),
  };
}

const DEFAULT_CONCURRENCY = { low: 1, high: 256 };

/** The load levels to search. Errors: USAGE when two kinds are asked for. */
export function levelsOf({ concurrency, requestRate }: TuneOptions): LevelRange {
  if (requestRate === undefined) return { mode: 'concurrency', ...(concurrency ?? DEFAULT_CONCURRENCY) };
  if (concurrency === undefined) return { mode: 'request-rate', ...requestRate };
  throw new TrituneError(
    'USAGE',
    'load levels are either requests in flight or requests per second',
    'give --concurrency or --request-rate, not both',
  );
}
