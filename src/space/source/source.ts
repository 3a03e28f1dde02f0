import type { z } from 'zod';
import type { Json } from '#base/json.ts';
import { didYouMean } from '#base/nearest.ts';
import { fileLimits } from '#base/read-file.ts';
import { joinFaults } from '#base/schema-faults.ts';
import { readYaml, YamlFault, type YamlText } from '#base/yaml.ts';
import { isForbiddenKey } from '../edits/config-path.ts';
import { formKeys, type SpaceFile, spaceFile } from './schema.ts';
import { type FilePath, type SourcePlace, spaceInvalid } from './source-fault.ts';
import { ContentFault, unreadIn, withContent } from './variant-content.ts';
import { buildKeys, type VariantFile } from './variant-form.ts';

/** One search-space file, read and of the right form, with the position of everything in it. */
export interface SpaceSource {
  readonly place: SourcePlace;
  readonly file: SpaceFile;
}

/** A preset is a few kilobytes. */
const rules = { maxBytes: fileLimits.space, maxDepth: 24, maxAliases: 50, isForbiddenKey } as const;

/**
 * Reads the text of a search-space file that lies in `directory`. Errors: SPACE_INVALID with file,
 * line, column, path and reason.
 */
export function readSource(label: string, text: string, directory: string = process.cwd()): SpaceSource {
  const yaml = parseYamlText(label, text);
  const place: SourcePlace = { label, position: (path) => yaml.toPosition(path) };
  return { place, file: readVariants(place, checkForm(place, yaml.value as Json), directory) };
}

/** The same from values without a text. */
export function readJsonSource(label: string, value: Json): SpaceSource {
  const place: SourcePlace = { label, position: () => null };
  return { place, file: readVariants(place, checkForm(place, value), process.cwd()) };
}

/** The same from a journal. Reads no file: what the variants contain must be in it. */
export function readKeptSource(label: string, value: Json): SpaceSource {
  const place: SourcePlace = { label, position: () => null };
  const file = checkForm(place, value);
  for (const [name, variant] of Object.entries(file.variants ?? {})) {
    const fault = unreadIn(variant);
    if (fault !== null) throw spaceInvalid(place, ['variants', name, fault], 'the content of its files is missing');
  }
  return { place, file };
}

/** Returns the file with the contents of its variants' files. */
function readVariants(place: SourcePlace, file: SpaceFile, directory: string): SpaceFile {
  if (file.variants === undefined) return file;
  const read = (name: string, variant: VariantFile): VariantFile => {
    try {
      return withContent(variant, directory);
    } catch (error) {
      if (error instanceof ContentFault) throw spaceInvalid(place, ['variants', name, error.key], error.message);
      throw error;
    }
  };
  const variants = Object.entries(file.variants).map(([name, variant]) => [name, read(name, variant)]);
  return { ...file, variants: Object.fromEntries(variants) };
}

function parseYamlText(label: string, text: string): YamlText {
  try {
    return readYaml(text, rules);
  } catch (error) {
    if (!(error instanceof YamlFault)) throw error;
    throw spaceInvalid({ label, position: () => error.position }, [], error.reason);
  }
}

function checkForm(place: SourcePlace, value: Json): SpaceFile {
  const outcome = spaceFile.safeParse(value ?? {});
  if (outcome.success) return outcome.data;
  const faults = outcome.error.issues.map((issue) => toFault(issue, []));
  const first = faults[0] as Fault;
  // Faults above the first one only repeat it.
  const others = faults.filter(({ path }) => !first.path.join('\n').startsWith(path.join('\n')));
  const more = others.length > 0 ? ` (also ${joinFaults(others.map(formatFault))})` : '';
  throw spaceInvalid(place, first.path, first.reason + more);
}

interface Fault {
  readonly path: FilePath;
  readonly reason: string;
}

const formatFault = ({ path, reason }: Fault): string => `${path.join('.')}: ${reason}`;

function toFault(issue: z.core.$ZodIssue, above: FilePath): Fault {
  const path = [...above, ...(issue.path as (string | number)[])];
  if (issue.code === 'invalid_union') return unionFault(issue, path);
  if (issue.code === 'unrecognized_keys') {
    const key = issue.keys[0] as string;
    return { path: [...path, key], reason: `unknown key '${key}'${didYouMean(key, knownKeys(path))}` };
  }
  return { path, reason: issue.message.replace(/^Invalid input: /, '') };
}

/**
 * The fault of the form that the writer most likely meant: the one that got furthest before it
 * failed.
 */
function unionFault(issue: z.core.$ZodIssueInvalidUnion, path: FilePath): Fault {
  const meant = issue.errors.filter((branch) => !branch.some(atTop));
  const branch = meant[0];
  if (branch?.[0] !== undefined) return toFault(branch[0], path);
  const expected = issue.errors.flatMap((inner) => inner.flatMap((one) => ('expected' in one ? [one.expected] : [])));
  return { path, reason: `expected ${[...new Set(expected)].join(', ')}` };
}

/** True for a value that is not even of the right kind. */
function atTop(issue: z.core.$ZodIssue): boolean {
  if (issue.path.length > 0) return false;
  return issue.code === 'invalid_union'
    ? issue.errors.every((branch) => branch.some(atTop))
    : issue.code === 'invalid_type';
}

/** The keys that the file may have at the path. */
function knownKeys(path: FilePath): readonly string[] {
  if (path.length === 0) return formKeys.top;
  if (path.includes('when')) return formKeys.test;
  if (path[0] === 'rules') return formKeys.rule;
  if (path[0] === 'variants') return path.length === 2 ? formKeys.variant : buildKeys;
  return path.includes('cases') ? formKeys.case : formKeys.parameter;
}
