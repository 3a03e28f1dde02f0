import type { BlsCalls, Budget, SeriesOptions } from '../../../spec/series-fields.ts';
import type { OptionTable } from '../../options/option-table.ts';
import { collect, positiveNumber } from '../../options/option-values.ts';
import { type TuneFleetFlags, tuneFleetOptionTable } from './fleet-options.ts';
import { type TuneFlags, tuneOptionTable } from './options.ts';

/** The options of `tritune tune` as they are given, for one model or several. */
export type SeriesFlags = SeriesOptions &
  TuneFleetFlags &
  Omit<TuneFlags, 'model' | 'space' | 'candidates' | 'latencyBudget'> & { readonly modelAnalyzerConfig?: string };

export const seriesOptionTable: OptionTable<
  Omit<SeriesFlags, 'modelAnalyzer' | 'own' | 'modelRequests' | 'modelBudgets'>
> = {
  ...tuneOptionTable,
  ...tuneFleetOptionTable,
  modelAnalyzerConfig: {
    flags: '--model-analyzer-config <file>',
    help: "a YAML file of Model Analyzer's says what to do; other options come before it (docs/model-analyzer.md)",
  },
  model: {
    flags: '-m, --model <names>',
    help: 'the model to tune; several, as a,b or each with its own -m, are tuned one after another',
    parse: (text, previous) => [...(previous ?? []), ...namesIn(text)],
  },
  together: {
    flags: '--together <a,b,…>',
    help: 'models that share the server: each gets requests of its own, and they are tuned as one (docs/pipelines.md)',
    parse: (text, previous) => [...(previous ?? []), ...namesIn(text)],
  },
  mix: {
    flags: '--mix <a=3,b=1>',
    help: 'with --together: their shares of the requests in flight or of the rate; a=40/s is a rate that stays (default: equal shares)',
    parse: (text, previous) => ({ ...previous, ...mixOf(text) }),
  },
  blsComposing: {
    flags: '--bls-composing <a,b,…>',
    help: 'the models that the model calls by BLS, which are tuned with it; MODEL=a,b for one of several; none for none (default: found by a few requests)',
    parse: (text, previous) => [...(previous ?? []), callsIn(text)],
  },
  space: { flags: tuneOptionTable.space.flags, help: forEach(tuneOptionTable.space.help), parse: collect },
  candidates: {
    flags: tuneOptionTable.candidates.flags,
    help: forEach(tuneOptionTable.candidates.help),
    parse: collect,
  },
  constraint: { ...tuneOptionTable.constraint, help: forEach(tuneOptionTable.constraint.help) },
  shape: { ...tuneOptionTable.shape, help: forEach(tuneOptionTable.shape.help) },
  inputData: { ...tuneOptionTable.inputData, help: forEach(tuneOptionTable.inputData.help) },
  latencyBudget: {
    flags: tuneOptionTable.latencyBudget.flags,
    help: forEach(tuneOptionTable.latencyBudget.help),
    parse: (text, previous) => [...(previous ?? []), ...text.split(',').map(budgetOf)],
  },
  timeBudget: {
    ...tuneOptionTable.timeBudget,
    help: `${tuneOptionTable.timeBudget.help}; of several models together`,
  },
};

/** The names in a list with commas. */
function namesIn(text: string): readonly string[] {
  return text.split(',').flatMap((name) => name.trim() || []);
}

/** `a=3,b=1` as shares, `a=40/s` as a rate; a name alone has an equal share. */
function mixOf(text: string): NonNullable<SeriesOptions['mix']> {
  const parts = namesIn(text).map((part) => {
    const [, model = part, value = '1', isRate] = /^(.+)=([^=]+?)(\/s)?$/.exec(part) ?? [];
    return [model, isRate ? { requestsPerSecond: positiveNumber(value) } : { share: positiveNumber(value) }] as const;
  });
  return Object.fromEntries(parts);
}

/** `a,b`, or `MODEL=a,b` for what another model calls than the study's; `none` for no model. */
function callsIn(text: string): BlsCalls {
  const at = text.indexOf('=');
  const models = namesIn(text.slice(at + 1));
  return { caller: at < 0 ? null : text.slice(0, at).trim(), models: models.join() === 'none' ? [] : models };
}

function forEach(help: string): string {
  return `${help}; for one of several models MODEL=…`;
}

/** A model's name may hold a '=', a number does not. */
function budgetOf(text: string): Budget {
  const at = text.lastIndexOf('=');
  return { model: at < 0 ? null : text.slice(0, at), latencyMs: positiveNumber(text.slice(at + 1)) };
}
