import type { z } from 'zod';
import { formatMessage, TrituneError } from '#base/errors.ts';
import { readDocument } from '#base/read-document.ts';
import { describeFaults } from '#base/schema-faults.ts';
import { type AnalyzerFile, analyzerFile, type ModelSettings, modelSettings } from './schema.ts';

/** A parsed and checked file of Model Analyzer's. */
export interface ReadFile {
  readonly file: string;
  readonly content: AnalyzerFile;
  /** The models in the order of the file. */
  readonly models: ReadonlyMap<string, ModelSettings>;
  /** The models that a BLS model calls. */
  readonly called: ReadonlyMap<string, ModelSettings>;
  /** Models of ensembles for which the file lists values to try. */
  readonly steps: ReadonlyMap<string, ModelSettings>;
}

/**
 * Reads the file by the rules of YAML 1.1, as Model Analyzer does. Errors: INPUT_INVALID with the
 * path of the key.
 */
export function readAnalyzerFile(file: string): ReadFile {
  const content = checked(analyzerFile, readContent(file), file, []);
  const modelsUnder = (key: keyof AnalyzerFile & string): ReadonlyMap<string, ModelSettings> => {
    const named = namedModels(content[key]);
    if (named === null) throw invalid(file, [key], 'expected names of models, or settings by name');
    return new Map(
      named.map(([name, settings]) => [name, checked(modelSettings, settings ?? {}, file, [key, name])] as const),
    );
  };
  const listModels = (key: keyof AnalyzerFile & string) => (isStated(content[key]) ? modelsUnder(key) : new Map());
  const composing = { called: listModels('bls_composing_models'), steps: listModels('ensemble_composing_models') };
  return { file, content, models: modelsUnder('profile_models'), ...composing };
}

/** An empty list counts as absent. */
const isStated = (value: unknown): boolean =>
  value !== undefined && value !== null && !(Array.isArray(value) && value.length === 0);

/** `file: path: reason`. */
export function invalid(file: string, path: readonly PropertyKey[], reason: string): TrituneError {
  const where = path.length === 0 ? '' : `${path.map(String).join('.')}: `;
  return new TrituneError('INPUT_INVALID', `${file}: ${where}${reason}`, 'see docs/model-analyzer.md');
}

function readContent(file: string): unknown {
  try {
    return readDocument(file, { version: '1.1' });
  } catch (error) {
    throw invalid(file, [], formatMessage(error));
  }
}

function checked<T>(schema: z.ZodType<T>, value: unknown, file: string, above: readonly PropertyKey[]): T {
  const outcome = schema.safeParse(value);
  if (outcome.success) return outcome.data;
  const [issue, ...others] = outcome.error.issues as [z.core.$ZodIssue, ...z.core.$ZodIssue[]];
  const isEmpty = issue.code === 'too_small' && issue.origin === 'array' && issue.minimum === 1;
  const reason = isEmpty ? 'the list is empty; give a value, or leave the key out' : issue.message;
  const more = others.length > 0 ? ` (also ${describeFaults(others)})` : '';
  throw invalid(file, [...above, ...issue.path], reason.replace(/^Invalid input: /, '') + more);
}

type Named = readonly (readonly [string, unknown])[];

/**
 * Parses `a,b`, a list of names and of settings by name, or settings by name. null for anything
 * else, and for none.
 */
function namedModels(value: unknown): Named | null {
  const items: unknown = typeof value === 'string' ? value.split(',').flatMap((name) => name.trim() || []) : value;
  const named = (Array.isArray(items) ? items : [items]).map((item: unknown): Named | null => {
    if (typeof item === 'string') return [[item, {}]];
    return typeof item === 'object' && item !== null && !Array.isArray(item) ? Object.entries(item) : null;
  });
  const all = named.flatMap((each) => each ?? []);
  return named.includes(null) || all.length === 0 ? null : all;
}
