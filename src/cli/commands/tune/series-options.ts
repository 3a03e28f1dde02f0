import type { Budget, SeriesOptions } from '../../../spec/series-options.ts';
import type { OptionTable } from '../../options/option-table.ts';
import { collect, positiveNumber } from '../../options/option-values.ts';
import { type TuneFlags, tuneOptionTable } from './options.ts';

/** The options of `tritune tune` as they are given, for one model or several. */
export type SeriesFlags = SeriesOptions &
  Omit<TuneFlags, 'model' | 'space' | 'candidates' | 'latencyBudget'> & { readonly modelAnalyzerConfig?: string };

export const seriesOptionTable: OptionTable<Omit<SeriesFlags, 'modelAnalyzer' | 'own'>> = {
  ...tuneOptionTable,
  modelAnalyzerConfig: {
    flags: '--model-analyzer-config <file>',
    help: "a YAML file of Model Analyzer's says what to do; other options come before it (docs/model-analyzer.md)",
  },
  model: {
    flags: '-m, --model <names>',
    help: 'the model to tune; several, as a,b or each with its own -m, are tuned one after another',
    parse: (text, previous) => [...(previous ?? []), ...text.split(',').flatMap((name) => name.trim() || [])],
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
    parse: (text, previous) => [...(previous ?? []), budgetOf(text)],
  },
  timeBudget: {
    ...tuneOptionTable.timeBudget,
    help: `${tuneOptionTable.timeBudget.help}; of several models together`,
  },
};

function forEach(help: string): string {
  return `${help}; for one of several models MODEL=…`;
}

/** A model's name may hold a '=', a number does not. */
function budgetOf(text: string): Budget {
  const at = text.lastIndexOf('=');
  return { model: at < 0 ? null : text.slice(0, at), latencyMs: positiveNumber(text.slice(at + 1)) };
}
