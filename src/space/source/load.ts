import { dirname } from 'node:path';
import { formatMessage, TrituneError } from '#base/errors.ts';
import type { JsonObject } from '#base/json.ts';
import { didYouMean } from '#base/nearest.ts';
import { fileLimits, pathBelow, readTextSync } from '#base/read-file.ts';
import type { Limits, SearchSpace } from '../types.ts';
import { compileSpace } from './compile.ts';
import type { EngineFile } from './engine-form.ts';
import { inherit } from './inherit.ts';
import { locate, presetNames, type ResolvedSpace } from './presets.ts';
import { readJsonSource, readKeptSource, readSource, type SpaceSource } from './source.ts';
import { spaceInvalid } from './source-fault.ts';

const maxAncestors = 8;

export interface SpaceLoadOptions {
  /**
   * Limits that the run knows, such as `cores` of the server or `latency_budget_us`; they override
   * those of the file.
   */
  readonly limits?: Limits;
  /** The base of relative files; default the working directory. */
  readonly directory?: string;
  /** What the parameters are settings of, if no file says so. */
  readonly engine?: EngineFile;
  /**
   * True if another file names this one, which then must lie below the directory. Default false.
   */
  readonly isNamedByFile?: boolean;
}

/**
 * Returns the search space of that file, or the preset of that name, with everything that it
 * inherits. Errors: SPACE_INVALID, with file, line, column, path and reason if there is a file.
 */
export function loadSpace(fileOrPreset: string, options: SpaceLoadOptions = {}): SearchSpace {
  const sources = readWithAncestors(fileOrPreset, options.directory ?? process.cwd(), options.isNamedByFile ?? false);
  return compile(sources, options);
}

/**
 * The same for the content of such a file; `label` names it in errors. Files that it extends are
 * relative to the directory.
 */
export function loadInlineSpace(json: JsonObject, label: string, options: SpaceLoadOptions = {}): SearchSpace {
  const source = readJsonSource(label, json);
  const parent = source.file.extends;
  const ancestors = parent === undefined ? [] : readWithAncestors(parent, options.directory ?? process.cwd(), true);
  return compile([...ancestors, source], options);
}

/** Returns the space in the file's own vocabulary, without inheritance: for the journal. */
export function spaceToJson(space: SearchSpace): JsonObject {
  return space.definition;
}

/** Returns the space that `spaceToJson` wrote; needs no file. Errors: SPACE_INVALID. */
export function spaceFromJson(json: JsonObject): SearchSpace {
  return compile([readKeptSource('search space of the journal', json)]);
}

function compile(
  sources: readonly SpaceSource[],
  { limits = {}, engine }: Pick<SpaceLoadOptions, 'limits' | 'engine'> = {},
): SearchSpace {
  const joined = inherit(sources);
  return compileSpace({
    ...joined,
    limits: { ...joined.limits, ...limits },
    engine: joined.engine ?? engine ?? null,
  });
}

/** The file and those it extends, the most general first. */
function readWithAncestors(fileOrPreset: string, directory: string, isNamedByFile: boolean): SpaceSource[] {
  const space = locate(fileOrPreset, directory);
  if (space === undefined) throw unknownSpace(fileOrPreset);
  if (isNamedByFile) checkBelow(space, directory);
  const sources: SpaceSource[] = [];
  const seen = new Set<string>();
  let next: { path: string; label: string } | undefined = space;
  while (next !== undefined) {
    const { path, label } = next;
    seen.add(path);
    const source = readSource(label, readText(path, label), dirname(path));
    sources.unshift(source);
    next = findAncestor(source, dirname(path), seen);
  }
  return sources;
}

function findAncestor(source: SpaceSource, directory: string, seen: ReadonlySet<string>) {
  const parent = source.file.extends;
  if (parent === undefined) return undefined;
  const space = locate(parent, directory);
  const refuse = (reason: string): never => {
    throw spaceInvalid(source.place, ['extends'], reason, presetHint());
  };
  if (space === undefined) return refuse(`there is no preset or file '${parent}'${didYouMean(parent, presetNames())}`);
  checkBelow(space, directory);
  if (seen.has(space.path)) return refuse(`'${parent}' extends this file in turn`);
  if (seen.size >= maxAncestors) return refuse(`more than ${maxAncestors} files extend one another`);
  return space;
}

/** A file that came from elsewhere could otherwise have any file read, and shown in an error. */
function checkBelow({ path, label, isPreset }: ResolvedSpace, folder: string): void {
  if (isPreset || pathBelow(folder, path) !== undefined) return;
  const what = `${label} lies outside of ${folder}, the folder of the file that names it`;
  throw new TrituneError('SPACE_INVALID', what, 'put it into that folder, or below');
}

function readText(path: string, label: string): string {
  try {
    return readTextSync(path, fileLimits.space);
  } catch (error) {
    throw new TrituneError('SPACE_INVALID', `${label}: it cannot be read: ${formatMessage(error)}`, 'check the file', {
      cause: error,
    });
  }
}

function unknownSpace(name: string): TrituneError {
  const guess = didYouMean(name, presetNames());
  return new TrituneError('SPACE_INVALID', `there is no search space '${name}'${guess}`, presetHint());
}

const presetHint = (): string => `the presets are ${presetNames().join(', ')}; or give the path of a file`;
