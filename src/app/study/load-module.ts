import { resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { formatMessage, TrituneError } from '#base/errors.ts';

/** True for a text that is the path of a module, not a name. */
export const isModulePath = (text: string): boolean => /[/\\]|\.[cm]?[jt]s$/.test(text);

/**
 * Returns the export of a module by name, or its default export. `what` names it in errors, and
 * `hint` explains how to write it. Errors: INPUT_INVALID for a module that cannot be loaded, or has
 * no such export.
 */
export async function loadExport<T>(
  path: string,
  {
    name,
    hint,
    isValid,
  }: { readonly name: string; readonly hint: string; readonly isValid: (value: unknown) => value is T },
): Promise<T> {
  const module: unknown = await import(pathToFileURL(resolve(path)).href).catch((error: unknown) => {
    const remedy = isOfCommonJs(error, path) ? AS_ES_MODULE : hint;
    throw new TrituneError('INPUT_INVALID', `cannot load ${path}: ${formatMessage(error)}`, remedy, { cause: error });
  });
  const { [name]: named, default: byDefault } = module as Readonly<Record<string, unknown>>;
  const value = named ?? byDefault;
  if (isValid(value)) return value;
  throw new TrituneError('INPUT_INVALID', `${path} exports no ${name}`, hint);
}

const AS_ES_MODULE =
  'the project is CommonJS, as npm init makes it: name the file .mts or .mjs, or run npm pkg set type=module';

/** True if Node took an ES module for CommonJS, by the package.json above it. */
const isOfCommonJs = (error: unknown, path: string): boolean =>
  error instanceof SyntaxError &&
  /\.[jt]s$/.test(path) &&
  /Unexpected token 'export'|Cannot use import statement|outside a module|await is only valid/.test(error.message);

/** True for an object that has a name and these functions. */
export const hasFunctions = (value: unknown, ...functions: readonly string[]): boolean =>
  typeof value === 'object' &&
  value !== null &&
  typeof (value as { readonly name?: unknown }).name === 'string' &&
  functions.every((name) => typeof (value as Readonly<Record<string, unknown>>)[name] === 'function');
