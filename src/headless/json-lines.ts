import type { TunerEvent } from '../tuner/seams.ts';
import type { Print } from './lines.ts';

/** Every event as one JSON object per line, for programs. */
export function createJsonLines(print: Print): (event: TunerEvent) => void {
  return (event) => print(JSON.stringify(event));
}
