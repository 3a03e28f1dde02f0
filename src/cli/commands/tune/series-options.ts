import type { BlsCalls, Budget, SeriesOptions } from '#spec/series-fields.ts';
import { studyDocument } from '#spec/spec-of-options.ts';
import type { OptionTable } from '../../options/option-table.ts';
import { collect, latencyMs, positiveNumber } from '../../options/option-values.ts';
import { setOptionTable } from '../../options/set.ts';
import { type TuneFleetFlags, tuneFleetOptionTable } from './fleet-options.ts';
import { type TuneFlags, tuneOptionTable } from './options.ts';

/** The options of `tritune tune` as given, for one model or several. */
export type SeriesFlags = SeriesOptions &
  TuneFleetFlags &
  Omit<TuneFlags, 'model' | 'space' | 'candidates' | 'latencyBudget'> & { readonly modelAnalyzerConfig?: string };

export const seriesOptionTable: OptionTable<
  Omit<SeriesFlags, 'modelAnalyzer' | 'modelOptions' | 'modelRequests' | 'modelBudgets'>
> = {
  ...tuneOptionTable,
  ...tuneFleetOptionTable,
  modelAnalyzerConfig: {
    flags: '--model-analyzer-config <file>',
    help: "Model Analyzer's YAML file to run; options on the command line override it (docs/model-analyzer.md)",
    heading: 'Output',
  },
  ...setOptionTable(studyDocument),
  model: {
    flags: '-m, --model <names>',
    help: 'Model to tune; several, as a,b or with -m for each, are tuned one after another',
    heading: 'Several models',
    parse: (text, previous) => [...(previous ?? []), ...namesIn(text)],
  },
  together: {
    flags: '--together <a,b,…>',
    help: 'Tune these models together on one server, each with its own requests (docs/pipelines.md)',
    heading: 'Several models',
    parse: (text, previous) => [...(previous ?? []), ...namesIn(text)],
  },
  mix: {
    flags: '--mix <a=3,b=1>',
    help: 'Shares of the load for --together; a=40/s is a fixed rate (default: equal shares)',
    heading: 'Several models',
    parse: (text, previous) => ({ ...previous, ...parseMix(text) }),
  },
  blsComposing: {
    flags: '--bls-composing <a,b,…>',
    help: 'Models that the model calls by BLS, tuned with it; MODEL=a,b for one of several, or none (default: found by sending a few requests)',
    heading: 'Several models',
    parse: (text, previous) => [...(previous ?? []), callsIn(text)],
  },
  space: {
    flags: tuneOptionTable.space.flags,
    help: forEach(tuneOptionTable.space.help),
    heading: 'Search',
    parse: collect,
  },
  candidates: {
    flags: tuneOptionTable.candidates.flags,
    help: forEach(tuneOptionTable.candidates.help),
    heading: 'Search',
    parse: collect,
  },
  constraint: { ...tuneOptionTable.constraint, help: forEach(tuneOptionTable.constraint.help) },
  shape: { ...tuneOptionTable.shape, help: forEach(tuneOptionTable.shape.help) },
  inputData: { ...tuneOptionTable.inputData, help: forEach(tuneOptionTable.inputData.help) },
  latencyBudget: {
    flags: tuneOptionTable.latencyBudget.flags,
    help: forEach(tuneOptionTable.latencyBudget.help),
    heading: 'Goal',
    parse: (text, previous) => [...(previous ?? []), ...text.split(',').map(toBudget)],
  },
  timeBudget: {
    ...tuneOptionTable.timeBudget,
    help: `${tuneOptionTable.timeBudget.help}; of all models together`,
  },
};

/** Returns the names in a comma-separated list. */
function namesIn(text: string): readonly string[] {
  return text.split(',').flatMap((name) => name.trim() || []);
}

/** Parses `a=3,b=1` as shares, `a=40/s` as a rate. A name alone has an equal share. */
function parseMix(text: string): NonNullable<SeriesOptions['mix']> {
  const parts = namesIn(text).map((part) => {
    const [, model = part, value = '1', isRate] = /^(.+)=([^=]+?)(\/s)?$/.exec(part) ?? [];
    return [model, isRate ? { requestsPerSecond: positiveNumber(value) } : { share: positiveNumber(value) }] as const;
  });
  return Object.fromEntries(parts);
}

/**
 * Parses `a,b`, or `MODEL=a,b` for the calls of a model other than the study's; `none` for no
 * model.
 */
function callsIn(text: string): BlsCalls {
  const at = text.indexOf('=');
  const models = namesIn(text.slice(at + 1));
  return { caller: at < 0 ? null : text.slice(0, at).trim(), models: models.join() === 'none' ? [] : models };
}

function forEach(help: string): string {
  return `${help}; MODEL=… for one of several models`;
}

/** A model's name may contain '='; a number does not. */
function toBudget(text: string): Budget {
  const at = text.lastIndexOf('=');
  return { model: at < 0 ? null : text.slice(0, at), latencyMs: latencyMs(text.slice(at + 1)) };
}
