import type { SpecChange } from './spec-change.ts';
import type { FlatStudyOptions } from './tune-options.ts';

/** A budget of one model, or of all models without one of their own. */
export interface Budget {
  readonly model: string | null;
  readonly latencyMs: number;
}

/** The models that a BLS model calls; the caller is null if it is the study's model. */
export interface BlsCalls {
  readonly caller: string | null;
  readonly models: readonly string[];
}

/** The options of a study, or of several that are tuned one after another. */
export interface SeriesOptions
  extends Partial<Omit<FlatStudyOptions, 'model' | 'space' | 'candidates' | 'latencyBudget' | 'blsComposing'>> {
  readonly model?: readonly string[];
  readonly space?: readonly string[];
  readonly candidates?: readonly string[];
  readonly latencyBudget?: readonly Budget[];
  readonly blsComposing?: readonly BlsCalls[];
  /** Changes of the specs of all models. */
  readonly set?: readonly SpecChange[];
  /**
   * The settings of each model in a Model Analyzer file, which apply if the command line has none.
   */
  readonly modelOptions?: { readonly [model: string]: Partial<FlatStudyOptions> };
}

/** Returns the models that the options name, each once, in their order. */
export const modelsIn = ({ model = [] }: SeriesOptions): readonly string[] => [...new Set(model)];

/**
 * Returns the model that a text belongs to: the part before its first '=' if that is one of the
 * models; null for all of them.
 */
export function splitOwner(
  text: string,
  models: readonly string[],
): { readonly owner: string | null; readonly text: string } {
  const owner = models.find((name) => text.startsWith(`${name}=`)) ?? null;
  return { owner, text: owner === null ? text : text.slice(owner.length + 1) };
}
