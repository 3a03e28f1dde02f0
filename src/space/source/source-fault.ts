import { TrituneError } from '#base/errors.ts';

/** Keys and indexes from the top of a search-space file to one of its values. */
export type FilePath = readonly (string | number)[];

/** The origin of a search space, and the position of each value in it. */
export interface SourcePlace {
  /** The file's name as the user knows it. */
  readonly label: string;
  /**
   * Line and column from 1, of the key or item at the path or of the nearest one above it; null
   * without a text.
   */
  position(path: FilePath): { readonly line: number; readonly column: number } | null;
}

/** Returns the error for a wrong search space: `my.yaml:12:5 parameters.delay.path: reason`. */
export function spaceInvalid(
  place: SourcePlace,
  path: FilePath,
  reason: string,
  hint = 'see docs/search-spaces.md for the format',
): TrituneError {
  const at = place.position(path);
  const where = at === null ? place.label : `${place.label}:${at.line}:${at.column}`;
  const what = path.length === 0 ? '' : ` ${formatFilePath(path)}`;
  return new TrituneError('SPACE_INVALID', `${where}${what}: ${reason}`, hint);
}

function formatFilePath(path: FilePath): string {
  return path
    .map((segment, index) => (typeof segment === 'number' ? `[${segment}]` : `${index === 0 ? '' : '.'}${segment}`))
    .join('');
}
