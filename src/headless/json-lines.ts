import type { Print } from './lines.ts';

/** Every event as one JSON object per line, for programs. */
export function createJsonLines(print: Print): (event: Readonly<object & { type: string }>) => void {
  return (event) => print(JSON.stringify(event));
}
