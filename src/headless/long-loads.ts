import { formatDuration } from '#base/format.ts';
import { MS_PER_S } from '#base/units.ts';
import type { TunerEvent } from '#tuner/seams.ts';
import type { Print } from './lines.ts';

const REPORT_MS = 10_000;

/** Returns what the run does from this event to the next, if that may take minutes. */
function longWork(event: TunerEvent): string | undefined {
  switch (event.type) {
    case 'applying':
      return 'loading';
    case 'progress':
      return event.progress.phase === 'first-answers' ? 'waiting for the first answers' : undefined;
    case 'restoring':
      return 'putting the original config back';
    default:
      return undefined;
  }
}

/**
 * Passes on every event, and writes a line every ten seconds of a load, and of the wait for the
 * first answers after it, so that a long one is not taken for a run that hangs.
 */
export function reportLongLoads(print: Print, onEvent: (event: TunerEvent) => void): (event: TunerEvent) => void {
  let ticker: NodeJS.Timeout | undefined;
  return (event) => {
    onEvent(event);
    clearInterval(ticker);
    const words = longWork(event);
    if (words === undefined) return;
    let elapsedMs = 0;
    ticker = setInterval(() => {
      elapsedMs += REPORT_MS;
      print(`    still ${words} after ${formatDuration(elapsedMs / MS_PER_S)}`);
    }, REPORT_MS);
    ticker.unref();
  };
}
