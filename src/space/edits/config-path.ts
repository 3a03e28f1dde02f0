import type { Json } from '#base/json.ts';
import type { ConfigPath, PathSegment } from '../types.ts';

const maxSegments = 16;
const maxIndex = 255;
/** Names that reach an object's prototype instead of its own field. */
const forbidden = new Set(['__proto__', 'constructor', 'prototype']);

const segmentPattern =
  /\.?([A-Za-z_][A-Za-z0-9_]*)|\[(\d{1,6})\]|\[("(?:[^"\\]|\\.)*")\]|\[([A-Za-z_][A-Za-z0-9_]*)=([^\]\s]+)\]/y;

export type ParsedPath =
  | { readonly ok: true; readonly path: ConfigPath }
  | { readonly ok: false; readonly reason: string };

/**
 * Reads `a.b[0].c`, `a["key with.dots"]` and `list[name=x].field`. The backend parameter
 * `parameters.KEY` stands for `parameters.KEY.string_value`, its only field.
 */
export function parseConfigPath(text: string): ParsedPath {
  const path: PathSegment[] = [];
  segmentPattern.lastIndex = 0;
  while (segmentPattern.lastIndex < text.length) {
    const start = segmentPattern.lastIndex;
    const match = segmentPattern.exec(text);
    if (match === null || (start === 0 && match[1] === undefined) || (start > 0 && bareWord(match))) {
      return { ok: false, reason: `'${text}' is not a path: '${text.slice(start)}' cannot be read` };
    }
    path.push(toSegment(match));
  }
  const reason = findFault(text, path);
  if (reason !== undefined) return { ok: false, reason };
  return { ok: true, path: path[0] === 'parameters' && path.length === 2 ? [...path, 'string_value'] : path };
}

/** True for a name without the required dot after the previous segment. */
function bareWord(match: RegExpExecArray): boolean {
  return match[1] !== undefined && !match[0].startsWith('.');
}

function toSegment(match: RegExpExecArray): PathSegment {
  const [, name, index, quoted, field, value] = match;
  if (name !== undefined) return name;
  if (index !== undefined) return Number(index);
  if (quoted !== undefined) return unquote(quoted);
  return { field: field as string, value: value as string };
}

function unquote(quoted: string): string {
  return quoted.slice(1, -1).replace(/\\(.)/g, '$1');
}

function findFault(text: string, path: ConfigPath): string | undefined {
  if (path.length === 0) return 'a path must name a field';
  if (text.startsWith('.')) return `'${text}' is not a path: it starts with a dot`;
  if (path.length > maxSegments) return `the path is deeper than ${maxSegments} levels`;
  for (const segment of path) {
    const name = typeof segment === 'object' ? segment.field : segment;
    if (typeof name === 'number' && name > maxIndex) return `index ${name} is above ${maxIndex}`;
    if (typeof name === 'string' && forbidden.has(name)) return `'${name}' is not a field`;
  }
  return undefined;
}

/**
 * True for a key that no part of a space may have, because it would reach an object's prototype.
 */
export function isForbiddenKey(key: string): boolean {
  return forbidden.has(key);
}

/** Returns the path as it is written in a file. */
export function formatPath(path: ConfigPath): string {
  return path
    .map((segment, index) => {
      if (typeof segment === 'number') return `[${segment}]`;
      if (typeof segment === 'object') return `[${segment.field}=${segment.value}]`;
      if (!/^[A-Za-z_][A-Za-z0-9_]*$/.test(segment)) return `[${JSON.stringify(segment)}]`;
      return index === 0 ? segment : `.${segment}`;
    })
    .join('');
}

/** Returns the value at the path, or undefined when nothing is there. */
export function readPath(root: Json | undefined, path: ConfigPath): Json | undefined {
  let node: Json | undefined = root;
  for (const segment of path) {
    if (node === null || typeof node !== 'object') return undefined;
    node = child(node as Json, segment);
  }
  return node;
}

function child(node: Json, segment: PathSegment): Json | undefined {
  if (Array.isArray(node)) {
    const at = positionIn(node, segment);
    return at === undefined ? undefined : (node[at] as Json | undefined);
  }
  if (typeof segment !== 'string' || !Object.hasOwn(node as object, segment)) return undefined;
  return (node as { [key: string]: Json | undefined })[segment];
}

/** Returns the index that the segment selects in a list; undefined if it selects no item. */
export function positionIn(list: readonly Json[], segment: PathSegment): number | undefined {
  if (typeof segment === 'number') return segment < list.length ? segment : undefined;
  if (typeof segment === 'string') return undefined;
  const at = list.findIndex((item) => readPath(item, [segment.field]) === segment.value);
  return at < 0 ? undefined : at;
}
