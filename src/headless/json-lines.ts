import { inertJson } from '#base/format.ts';
import type { Print } from './lines.ts';

/** Writes every event as one JSON object per line, for programs. `envelope` comes first in each. */
export function createJsonLines(
  print: Print,
  envelope: object = {},
): <E extends { readonly type: string }>(event: E) => void {
  return (event) => print(inertJson(JSON.stringify({ ...envelope, ...event })));
}
