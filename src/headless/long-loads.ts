import { formatDuration } from '../base/format.ts';
import { MS_PER_S } from '../base/units.ts';
import type { TunerEvent } from '../tuner/seams.ts';
import type { Print } from './lines.ts';

const REPORT_MS = 10_000;
const WORDS: Partial<Record<TunerEvent['type'], string>> = {
  applying: 'loading',
  restoring: 'putting the original config back',
};

/**
 * Passes on every event, and writes a line every ten seconds of a load, so that a long one is not
 * taken for a run that hangs.
 */
export function reportLongLoads(print: Print, onEvent: (event: TunerEvent) => void): (event: TunerEvent) => void {
  let ticker: NodeJS.Timeout | undefined;
  return (event) => {
    onEvent(event);
    clearInterval(ticker);
    const words = WORDS[event.type];
    if (words === undefined) return;
    let elapsedMs = 0;
    ticker = setInterval(() => {
      elapsedMs += REPORT_MS;
      print(`    still ${words} after ${formatDuration(elapsedMs / MS_PER_S)}`);
    }, REPORT_MS);
    ticker.unref();
  };
}
