import type { Json, JsonObject } from '#base/json.ts';
import type { ConfigPath, FieldWrite, PathSegment } from '../types.ts';
import { formatPath, positionIn } from './config-path.ts';

type Container = { [key: string]: Json | undefined } | Json[];

/**
 * Writes into `root` (a shallow copy that the caller owns), copying the messages and lists on the
 * way, or creating them: what is not on the way stays shared. Returns why it cannot, such as a list
 * item far beyond the end, or undefined on success.
 */
export function writeField(root: Container, write: FieldWrite): string | undefined {
  const last = write.path[write.path.length - 1] as PathSegment;
  let node = root;
  for (const [depth, segment] of write.path.slice(0, -1).entries()) {
    const existing = childAt(node, segment);
    if (isContainer(existing)) {
      node = copied(node, segment, existing);
      continue;
    }
    if (write.action === 'remove') return undefined;
    const next: Container = typeof write.path[depth + 1] === 'string' ? {} : [];
    const fault = put(node, segment, next as Json, write.path);
    if (fault !== undefined) return fault;
    node = childAt(node, segment) as Container;
  }
  if (write.action === 'remove') return remove(node, last);
  if (write.action === 'set') return put(node, last, structuredClone(write.value) as Json, write.path);
  return isContainer(childAt(node, last)) ? undefined : put(node, last, {}, write.path);
}

/** Puts a shallow copy of the container in its place. */
function copied(node: Container, segment: PathSegment, existing: Container): Container {
  const copy = Array.isArray(existing) ? [...existing] : { ...existing };
  if (Array.isArray(node)) node[positionIn(node, segment) as number] = copy as Json;
  else node[segment as string] = copy as Json;
  return copy;
}

function isContainer(value: Json | undefined): value is Container & Json {
  return typeof value === 'object' && value !== null;
}

function childAt(node: Container, segment: PathSegment): Json | undefined {
  if (Array.isArray(node)) {
    const at = positionIn(node, segment);
    return at === undefined ? undefined : node[at];
  }
  return typeof segment === 'string' && Object.hasOwn(node, segment) ? node[segment] : undefined;
}

function put(node: Container, segment: PathSegment, value: Json, path: ConfigPath): string | undefined {
  if (Array.isArray(node)) {
    const at = typeof segment === 'number' ? segment : (positionIn(node, segment) ?? node.length);
    if (typeof segment === 'string' || at > node.length) {
      return `${formatPath(path)} cannot be set: the list before it has only ${node.length} item(s)`;
    }
    node[at] =
      typeof segment === 'object' ? ({ [segment.field]: segment.value, ...(value as JsonObject) } as Json) : value;
    return undefined;
  }
  if (typeof segment !== 'string') return `${formatPath(path)} cannot be set: there is no list in the base config`;
  node[segment] = value;
  return undefined;
}

function remove(node: Container, segment: PathSegment): undefined {
  if (!Array.isArray(node)) {
    if (typeof segment === 'string') delete node[segment];
    return;
  }
  const at = positionIn(node, segment);
  if (at !== undefined) node.splice(at, 1);
}
